// Between the files of this target.
#pragma once

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "include/program_trap.h"

// include/uapi/linux/seccomp.h of 6.18. Debian 12's header lacks some; the layouts stand here so that both ends of a build agree.
struct trap_call {
    int nr;
    uint32_t arch;
    uint64_t instruction_pointer;
    uint64_t args[6];
};
struct trap_notification {
    uint64_t id;
    uint32_t pid;
    uint32_t flags;
    struct trap_call call;
};
struct trap_response {
    uint64_t id;
    int64_t value;
    int32_t error;
    uint32_t flags;
};
struct trap_injection {
    uint64_t id;
    uint32_t flags;
    uint32_t source;
    uint32_t number;
    uint32_t number_flags;
};
_Static_assert(sizeof(struct trap_notification) == 80, "linux/seccomp.h");
_Static_assert(sizeof(struct trap_response) == 24, "linux/seccomp.h");
_Static_assert(sizeof(struct trap_injection) == 24, "linux/seccomp.h");

enum {
    TRAP_FILTER_KEEP_SPECULATION = 1 << 2,
    TRAP_FILTER_NEW_LISTENER = 1 << 3,
    TRAP_FILTER_WAIT_KILLABLE = 1 << 5,  // Linux 5.19
    TRAP_ANSWER_CONTINUE = 1,
    TRAP_INJECTION_ANSWERS = 1 << 1,  // Linux 5.14
    TRAP_SYNCHRONOUS_WAKE = 1,        // Linux 6.6
    TRAP_PIDFD_THREAD = 0x80,         // O_EXCL; Linux 6.9
    TRAP_PROTOCOL_MPTCP = 262,
};
#define TRAP_IOCTL_RECEIVE _IOWR('!', 0, struct trap_notification)
#define TRAP_IOCTL_ANSWER _IOWR('!', 1, struct trap_response)
#define TRAP_IOCTL_IS_VALID _IOW('!', 2, uint64_t)
#define TRAP_IOCTL_INJECT _IOW('!', 3, struct trap_injection)
#define TRAP_IOCTL_SET_FLAGS _IOW('!', 4, uint64_t)

enum { TRAP_SLOTS = 128, TRAP_CONNECTS_KEPT = 256, TRAP_BINDINGS_KEPT = 1024 };

// The interface that a trap has bound a socket to.
struct trap_binding {
    uint64_t cookie;
    uint32_t interface;
};

// In shared memory. It outlives each process that it is about, so all that a successor has to know is here.
struct trap_page {
    // The kernel writes here what the trap receives. So the call that a killed trap was about is known whenever it was killed:
    // one is in hand while its id is not 0.
    struct trap_notification in_hand;
    // Calls that wait for the policy, by the number of their slot; 0 for none.
    _Atomic uint64_t waiting[TRAP_SLOTS];
    // Whether it is a connect.
    _Atomic int waiting_connects[TRAP_SLOTS];
    _Atomic uint32_t generation;
    // Of the last question.
    _Atomic uint32_t sequence;
    // Whether the policy takes questions.
    _Atomic int policy_is_ready;
    // The program's own number, and how it ended.
    _Atomic pid_t program, trap, guard, policy;
    _Atomic int has_ended, status;
    // The signal that has stopped the program; 0 while it runs.
    _Atomic int stopped_by;
    _Atomic int report_is_written;
    // The last descendant has ended.
    _Atomic int is_over;
    // -1 until it is known.
    _Atomic int filter_failure;
    // The last connects, for a policy that takes over.
    struct trap_message connects[TRAP_CONNECTS_KEPT];
    _Atomic uint32_t connect_count;
    // Each in the place that its cookie names: the last of those that share one.
    struct trap_binding bindings[TRAP_BINDINGS_KEPT];
    // The same of sockets that were given unprepared, by their cookies.
    uint64_t unprepared[TRAP_BINDINGS_KEPT];
    // Messages that found no room.
    _Atomic uint32_t missed;
    // Whether a signal may end a call that is being answered: before Linux 5.19.
    int is_interruptible;
    // An eventfd that wakes the guard.
    int poke;
};

// A run, as each process knows it.
struct trap_run {
    const struct trap_launch *launch;
    struct trap_page *page;
    int listener;
    // The two ends of the channel. The guard keeps both, so that a successor of either process finds it as it was.
    int trap_end, policy_end;
};

// filter.c: loads the filter for this process and what it starts. Returns the listener, or -1 with errno. `is_interruptible` is set
// where a signal may end a call that is being answered.
int trap_install_filter(int traps_connect, int *is_interruptible);

// trap.c: serves until the last descendant has ended. Never returns.
_Noreturn void trap_serve(struct trap_run *run);

// guard.c
void trap_note_children(struct trap_run *run);
// Has the trap's own process start a guard, where the one before is gone.
int trap_start_guard(struct trap_run *run);
void trap_poke(struct trap_run *run);
void trap_kill_program(struct trap_run *run);
int trap_open_process(pid_t pid);
