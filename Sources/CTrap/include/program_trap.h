// The part of `mprun` that is C: it starts a program whose calls of socket(2) and connect(2) the kernel holds until another
// process has answered (seccomp user notification, seccomp_unotify(2)), and answers them. What the answers are is decided by
// the policy, in Swift.
//
//     waiter ──── starts ────► trap ──── starts ────► program and all its descendants
//        │                      │ ▲                        │
//        └── starts ► policy ◄──┘ └── held calls ◄─────────┘
//
// - The waiter is what the shell has started. It passes signals on, stops and ends as the program does, and guards the trap and
//   the policy: it holds the listener, too, so that no call fails when the trap is killed, and starts another.
// - The trap is a loop that never waits for the policy beyond a bound. Whatever goes wrong, it has the kernel carry the call out
//   as if there was no filter.
// - Trap and policy live until the last descendant of the program has ended. Where the waiter has gone before, the trap starts
//   another guard.
#pragma once

#include <stdint.h>
#include <sys/types.h>

// What trap and policy say to each other, over a socket of sequenced packets.
enum trap_kind {
    // The trap's. Where a sequence is named the trap waits for the answer that bears it.
    TRAP_BEGAN = 1,      // A trap serves from now on. What an earlier one had in reserve is closed.
    TRAP_SOCKET_GIVEN,   // thread, descriptor, cookie, family: the program has that socket.
    TRAP_SOCKET_PLAIN,   // thread, family, error: a socket is the kernel's own, and why. See `trap_reason`. cookie: of one kept for it, or 0.
    TRAP_SOCKET_WANTED,  // sequence, thread, family: there is none in reserve.
    TRAP_CONNECTS,       // thread, descriptor, cookie, inode, destination, flags; sequence, or 0 where the interface is known.
    TRAP_UNEXAMINED,     // thread, error: a connect that could not be looked at.
    TRAP_LENT,           // sequence, error: the socket comes with the packet, where there is no error. descriptor: its number now.
    TRAP_OPTION,         // thread, descriptor, cookie, level and option: one that MPTCP lacks. address: the program's name.
    TRAP_PROGRAM_ENDED,  // status: the program itself has ended. The waiter's.
    TRAP_OVER,           // The last descendant has ended.
    // The policy's.
    TRAP_RESERVE = 64,  // family, cookie, replaced, flags, and a socket: one for later.
    TRAP_GIVE,          // sequence, cookie, and a socket; without a socket the trap makes one itself, or none where `error` says so.
    TRAP_VERDICT,       // sequence, interface (0: leave it as it is), error (the call's), flags.
    TRAP_BORROW,        // sequence, thread, process, descriptor, cookie, inode: a duplicate is wanted for an instant.
    TRAP_POLICY_BEGAN,  // What one before was told of connects is to be told again.
};

// Why a socket is not MPTCP.
enum trap_reason {
    TRAP_NO_MPTCP = 1,        // The kernel has none; `error` is above.
    TRAP_OTHER_NAMESPACE,     // The caller is in another network namespace, or not to be seen.
    TRAP_EXCLUDED_PROGRAM,    // --tcp-for names it.
    TRAP_NOT_INJECTED,        // The kernel did not take the answer.
    TRAP_UNSTEERED,           // Paths are prohibited, and the kernel alone would choose those of an MPTCP connection.
};

enum trap_flag {
    TRAP_NONBLOCKING = 1,  // The program's socket does not wait.
    TRAP_IS_MPTCP = 2,     // It was opened for MPTCP.
    TRAP_IS_BOUND = 4,     // The program has bound it to an address or an interface.
    TRAP_MAY_KEEP = 8,     // In a verdict: it holds for this destination until `generation` changes.
    TRAP_REPEATED = 32,    // Of a connect: it has been told before, maybe to another policy.
    TRAP_UNPREPARED = 64,  // Of a socket: it is the kernel's own MPTCP, and could be prepared before it is connected. Of a connect: the
                           // same, and the socket comes with the message, where a sequence is named.
    TRAP_PREPARED = 128,   // In a verdict: now it is.
};

// The kernel's numbers that Swift needs.
enum trap_number {
    TRAP_IPV4 = 2,           // AF_INET
    TRAP_IPV6 = 10,          // AF_INET6
    TRAP_UNREACHABLE = 101,  // ENETUNREACH
};

struct trap_message {
    uint32_t kind;
    uint32_t sequence;
    uint64_t cookie;
    // As the trap's pid namespace numbers it.
    int32_t thread;
    // The program's number for the socket.
    int32_t descriptor;
    uint32_t flags;
    uint32_t interface;
    // An errno, a `trap_reason`, or a wait status.
    int32_t error;
    // AF_INET or AF_INET6; of an option its level.
    uint16_t family;
    // In host order; of an option its number.
    uint16_t port;
    // Where a connect leads; of an option the program's name, with zeros behind it.
    uint8_t address[16];
    uint32_t scope;
    uint32_t generation;
    // The address that the program has bound the socket to; zeros for none.
    uint8_t own[16];
    // The socket's file, by which it is found where the program has moved it to another number; 0 where it is not known.
    uint64_t inode;
    union {
        // Of a connect of an unprepared socket: until when it may be prepared, in nanoseconds of CLOCK_MONOTONIC.
        uint64_t deadline;
        // Of a socket for later: the cookie of the one whose place it takes, where that is still there; 0 for none.
        uint64_t replaced;
        // Of a loan: the thread's process, for a thread that has ended; 0 where it is not known.
        uint64_t process;
    };
};
_Static_assert(sizeof(struct trap_message) == 96, "one size for both ends");

// What all processes of a run share.
struct trap_page;

// How a program is run.
struct trap_launch {
    // As execvp wants it.
    char *const *arguments;
    // The program's name, safe for a terminal.
    const char *shown;
    // Names of programs whose sockets stay TCP, as fnmatch(3) patterns; NULL at the end.
    char *const *tcp_programs;
    // Whether connect(2) is trapped.
    int traps_connect;
    // Whether a connect that the policy does not answer in time fails with ENETUNREACH: where paths are prohibited.
    int is_strict;
    // Whether the policy writes to standard error.
    int keeps_error;
    // Whether the waiter waits at the end until the policy has written its report.
    int awaits_report;
    // Milliseconds that a call waits for the policy: of a socket that does not block, and of one that does.
    int patience, blocking_patience;
    // Runs the policy in a process of its own, and never returns.
    void (*policy)(int channel, struct trap_page *page, void *context);
    void *context;
};

// Starts the program and waits for its end. Only a process with one thread may call it.
//
// Returns the exit status, or does not return where the program was ended by a signal: this process then ends by the same.
// `failure` is set where nothing could be started, to an errno.
int trap_run(const struct trap_launch *launch, int *failure);

// For the policy.

// It takes questions from now on.
void trap_policy_is_ready(struct trap_page *page);
// Verdicts that were kept hold no more.
uint32_t trap_new_generation(struct trap_page *page);
// The report is written.
void trap_report_is_written(struct trap_page *page);
// How many of the trap's messages the policy has not got: it was behind, or there was none.
uint32_t trap_missed_messages(const struct trap_page *page);
// Whether the program ran without a filter, and why: an errno. 0 for with one; -1 for not known yet.
int trap_filter_failure(const struct trap_page *page);
// Sends a message at once or not at all: 0, or an errno. `passed` is a descriptor or -1.
int trap_send(int channel, const struct trap_message *message, int passed);
// Receives a message without waiting: 1, 0 at the end, -1 for none, -2 for one that is not understood.
int trap_receive(int channel, struct trap_message *message, int *passed);
// A number that no socket has twice (SO_COOKIE); 0 where there is none.
uint64_t trap_socket_cookie(int descriptor);
// Sends what is written to standard error nowhere from now on.
void trap_release_error(void);
