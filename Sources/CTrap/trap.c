// The trap: takes held calls, one after another, and answers each. A call that has to wait for the policy is parked, and the next
// is taken. Every way out of a function that has a call in hand answers it.
#define _GNU_SOURCE
#include "trap_calls.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
    // Sockets of one family that are kept ready.
    RESERVE = 32,
};

struct reserve {
    int count;
    int sockets[RESERVE];
    uint64_t cookies[RESERVE];
    int unprepared[RESERVE];
};

// One trap is one process, so its state is the process's.
static struct trap_run *run;
static struct trap_page *page;
static struct reserve reserves[2];

// MARK: socket(2)

// Puts a socket into the caller, and answers its call with the number. It is closed here, whatever comes of it.
//
// Two steps, although the kernel has one for both (SECCOMP_ADDFD_FLAG_SEND): that one counts as answered before the caller has the
// socket, and where this process is killed in between the caller's call returns 0, which is no socket (kernel/seccomp.c,
// seccomp_notify_addfd, Linux 6.18). Here the caller has a socket more than it knows of then. Before Linux 5.19 a signal would do the
// same between the two steps, and each one of a storm: there it is one step.
static void inject(
    uint64_t id, pid_t thread, uint16_t family, int type, int socket, uint64_t cookie, int is_unprepared) {
    if (type & SOCK_NONBLOCK) fcntl(socket, F_SETFL, O_RDWR | O_NONBLOCK);
    trap_give_to_caller(socket, thread);
    if (is_unprepared) *trap_unprepared_place(cookie) = cookie;
    struct trap_injection injection = {
        .id = id, .source = (uint32_t)socket, .number_flags = type & SOCK_CLOEXEC ? O_CLOEXEC : 0};
    if (page->is_interruptible) injection.flags = TRAP_INJECTION_ANSWERS;
    int number = ioctl(run->listener, TRAP_IOCTL_INJECT, &injection);
    if (number >= 0) {
        struct trap_response response = {.id = id, .value = number};
        while (!injection.flags && ioctl(run->listener, TRAP_IOCTL_ANSWER, &response) != 0 && errno == EINTR) {}
    } else {
        // EMFILE is the caller's own limit, and its own call fails by it just so. ENOENT: the caller was killed.
        trap_let_go(id);
        close(socket);
        return trap_tell_plain(thread, family, TRAP_NOT_INJECTED, cookie);
    }
    close(socket);
    struct trap_message message = {
        .kind = TRAP_SOCKET_GIVEN, .thread = thread, .descriptor = number, .cookie = cookie, .family = family};
    trap_tell(&message);
}

// A socket as the kernel makes it for MPTCP.
static void inject_own(uint64_t id, pid_t thread, uint16_t family, int type) {
    if (run->launch->is_strict) {
        trap_let_go(id);
        return trap_tell_plain(thread, family, TRAP_UNSTEERED, 0);
    }
    int made = socket(family, SOCK_STREAM | SOCK_CLOEXEC, TRAP_PROTOCOL_MPTCP);
    if (made < 0) {
        trap_let_go(id);
        return trap_tell_plain(thread, family, TRAP_NO_MPTCP, 0);
    }
    inject(id, thread, family, type, made, trap_socket_cookie(made), 1);
}

static void take_socket(const struct trap_notification *call) {
    pid_t thread = (pid_t)call->pid;
    uint16_t family = (uint16_t)call->call.args[0];
    int type = (int)call->call.args[1];
    // The kernel's answer is EINVAL.
    if (type & ~(0xf | SOCK_CLOEXEC | SOCK_NONBLOCK)) return trap_let_go(call->id);
    int reason = trap_shares_network(thread) ? trap_is_excluded(thread, run->launch->tcp_programs) ? TRAP_EXCLUDED_PROGRAM : 0 : TRAP_OTHER_NAMESPACE;
    if (reason) {
        trap_let_go(call->id);
        return trap_tell_plain(thread, family, reason, 0);
    }
    struct reserve *reserve = &reserves[family == AF_INET6];
    if (reserve->count > 0) {
        int place = --reserve->count;
        return inject(
            call->id, thread, family, type, reserve->sockets[place], reserve->cookies[place], reserve->unprepared[place]);
    }
    int patience = trap_policy_patience(run->launch->patience);
    if (patience > 0) {
        struct trap_parked *waiting = trap_park(call->id, patience);
        if (waiting) {
            waiting->type = type;
            waiting->question = (struct trap_message){
                .kind = TRAP_SOCKET_WANTED, .sequence = waiting->sequence, .thread = thread, .family = family};
            waiting->is_asked = 1;
            if (trap_send(run->trap_end, &waiting->question, -1) == 0) return;
            trap_unpark(waiting);
        }
    }
    inject_own(call->id, thread, family, type);
}

// The policy has not answered in time.
static void give_up(struct trap_parked *call) {
    if (call->socket >= 0) return trap_give_connect_up(call);
    inject_own(call->id, call->question.thread, call->question.family, call->type);
    trap_unpark(call);
}

// MARK: setsockopt(2)

// MPTCP sockets lack some of TCP's options. Most of those that are trapped wish for more or less of something, and no program can
// tell whether it gets it: so where the kernel would refuse one the call succeeds, without an effect, for a program that takes the
// refusal for a failure. Of the others something would be missing. The kernel refuses them, and it is told.
static int is_refused(int level, int name) {
    return level == SOL_SOCKET ? name == SO_ZEROCOPY || name == SO_OOBINLINE : name == TCP_REPAIR || name == TCP_ULP;
}

// Whether the kernel refuses a socket an option because it is of MPTCP. Once it has fallen back to TCP it has most of TCP's.
static int is_lacking(int socket, int level, int name) {
    int value = 0;
    socklen_t length = sizeof value;
    if (trap_option(socket, SO_PROTOCOL) != TRAP_PROTOCOL_MPTCP) return 0;
    // No socket takes a value of no length: one that has the option refuses it with EINVAL, and changes nothing. So do MPTCP's
    // sockets with those of TCP's options that are taken as set: these can't be read either.
    int result = level == SOL_SOCKET || is_refused(level, name) ? setsockopt(socket, level, name, &value, 0)
        : getsockopt(socket, level, name, &value, &length);
    return result != 0 && (errno == EOPNOTSUPP || errno == ENOPROTOOPT);
}

static void take_option(const struct trap_notification *call) {
    pid_t thread = (pid_t)call->pid;
    int level = (int)call->call.args[1], name = (int)call->call.args[2];
    // TCP_ULP has a name for its value.
    int least = level == IPPROTO_TCP && name == TCP_ULP ? 1 : (int)sizeof(int);
    // What the kernel would refuse of any socket is left to it.
    if (call->call.args[3] == 0 || (int)call->call.args[4] < least) return trap_let_go(call->id);
    int socket = trap_duplicate(thread, (int)call->call.args[0]);
    if (socket < 0) return trap_let_go(call->id);
    int lacks = is_lacking(socket, level, name);
    uint64_t cookie = lacks ? trap_socket_cookie(socket) : 0;
    close(socket);
    struct trap_message message = {
        .kind = TRAP_OPTION, .thread = thread, .descriptor = (int)call->call.args[0], .cookie = cookie,
        .family = (uint16_t)level, .port = (uint16_t)name};
    // It may end before the policy asks.
    if (lacks) trap_name_caller(thread, message.address);
    if (!lacks || !trap_is_valid(call->id)) return trap_let_go(call->id);
    if (is_refused(level, name)) {
        trap_let_go(call->id);
    } else {
        trap_answer(call->id, 0, 0);
    }
    trap_tell(&message);
}

// MARK: The policy's messages

static void close_reserve(void) {
    for (int family = 0; family < 2; family++) {
        while (reserves[family].count > 0) close(reserves[family].sockets[--reserves[family].count]);
    }
}

static void ask_again(int all);

static void take_message(const struct trap_message *message, int passed) {
    struct trap_parked *call = message->sequence ? trap_find_parked(message->sequence) : NULL;
    switch (message->kind) {
    case TRAP_RESERVE: {
        struct reserve *reserve = &reserves[message->family == AF_INET6];
        int place = reserve->count;
        for (int other = 0; message->replaced != 0 && other < reserve->count; other++) {
            if (reserve->cookies[other] == message->replaced) place = other;
        }
        if (passed < 0 || place == RESERVE) break;
        if (place < reserve->count) {
            close(reserve->sockets[place]);
        } else {
            reserve->count++;
        }
        reserve->cookies[place] = message->cookie;
        reserve->sockets[place] = passed;
        reserve->unprepared[place] = message->flags & TRAP_UNPREPARED;
        return;
    }
    case TRAP_GIVE:
        if (!call || call->socket >= 0) break;
        if (passed >= 0) {
            inject(
                call->id, call->question.thread, call->question.family, call->type, passed, message->cookie,
                message->flags & TRAP_UNPREPARED);
            return trap_unpark(call);
        }
        if (message->error) {
            trap_let_go(call->id);
            trap_tell_plain(call->question.thread, call->question.family, message->error, 0);
            return trap_unpark(call);
        }
        return give_up(call);
    case TRAP_VERDICT:
        if (call && call->socket >= 0) trap_settle_connect(call, message);
        break;
    case TRAP_BORROW: trap_lend(message); break;
    case TRAP_POLICY_BEGAN:
        trap_repeat_connects();
        // One before may have taken the questions with it.
        ask_again(1);
        break;
    default: break;
    }
    if (passed >= 0) close(passed);
}

static void take_messages(void) {
    // So many at once, for calls are waiting as well.
    for (int count = 0; count < 16; count++) {
        struct trap_message message;
        int passed = -1;
        int result = trap_receive(run->trap_end, &message, &passed);
        if (result == -2) continue;
        if (result != 1) return;
        take_message(&message, passed);
    }
}

// MARK: The loop

static void take_call(void) {
    struct trap_notification *call = &page->in_hand;
    memset(call, 0, sizeof *call);
    // ENOENT: the caller was killed before it was looked at.
    if (ioctl(run->listener, TRAP_IOCTL_RECEIVE, call) != 0) return;
    if (call->call.nr == __NR_socket) {
        take_socket(call);
    } else if (call->call.nr == __NR_connect) {
        trap_take_connect(call);
    } else if (call->call.nr == __NR_setsockopt) {
        take_option(call);
    } else {
        trap_let_go(call->id);
    }
    // What is parked is in the list of those that wait.
    *(volatile uint64_t *)&call->id = 0;
}

static int next_timeout(void) {
    if (trap_parked_count == 0) return -1;
    int64_t first = INT64_MAX;
    for (int slot = 0; slot < TRAP_SLOTS; slot++) {
        if (trap_parked[slot].id != 0 && trap_parked[slot].deadline < first) first = trap_parked[slot].deadline;
    }
    int64_t left = first - trap_milliseconds();
    // A question that found no room is asked again soon.
    return left < 0 ? 0 : left > 20 ? 20 : (int)left;
}

static void ask_again(int all) {
    for (int slot = 0; slot < TRAP_SLOTS; slot++) {
        struct trap_parked *call = &trap_parked[slot];
        if (call->id == 0 || (call->is_asked && !all)) continue;
        call->is_asked = trap_ask(call, all ? TRAP_REPEATED : 0) == 0;
    }
}

static void give_up_late_ones(void) {
    int64_t now = trap_milliseconds();
    for (int slot = 0; slot < TRAP_SLOTS; slot++) {
        if (trap_parked[slot].id != 0 && trap_parked[slot].deadline <= now) give_up(&trap_parked[slot]);
    }
}

_Noreturn void trap_serve(struct trap_run *own_run) {
    run = own_run;
    page = run->page;
    trap_hold(run);
    trap_take_connects(run);
    trap_find_own_namespace();
    // One descriptor for each call that waits, and each process.
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
        limit.rlim_cur = limit.rlim_max;
        setrlimit(RLIMIT_NOFILE, &limit);
    }
    uint64_t flags = TRAP_SYNCHRONOUS_WAKE;
    ioctl(run->listener, TRAP_IOCTL_SET_FLAGS, flags);
    sigset_t children;
    sigemptyset(&children);
    sigaddset(&children, SIGCHLD);
    sigprocmask(SIG_BLOCK, &children, NULL);
    int signals = signalfd(-1, &children, SFD_CLOEXEC | SFD_NONBLOCK);
    int guard = trap_open_process(atomic_load(&page->guard));
    struct trap_message message = {.kind = TRAP_BEGAN};
    trap_tell(&message);
    trap_note_children(run);
    for (;;) {
        struct pollfd events[] = {
            {trap_parked_count == TRAP_SLOTS ? -1 : run->listener, POLLIN, 0}, {run->trap_end, POLLIN, 0}, {signals, POLLIN, 0}, {guard, POLLIN, 0}};
        if (poll(events, 4, next_timeout()) < 0) continue;
        if (events[0].revents & POLLIN) {
            take_call();
        } else if (events[0].revents) {
            // No process has the filter any more.
            break;
        }
        if (events[1].revents & POLLIN) take_messages();
        if (trap_has_missed) {
            struct trap_message again = {.kind = TRAP_BEGAN};
            trap_has_missed = 0;
            close_reserve();
            trap_tell(&again);
        }
        if (trap_parked_count > 0) {
            ask_again(0);
            give_up_late_ones();
        }
        if (events[2].revents) {
            struct signalfd_siginfo information;
            while (read(signals, &information, sizeof information) == sizeof information) {}
            trap_note_children(run);
        }
        if (guard >= 0 && events[3].revents) {
            close(guard);
            // Who kills mprun means the program. Its other descendants are served on.
            if (!atomic_load(&page->has_ended)) trap_kill_program(run);
            pid_t successor = trap_start_guard(run);
            guard = successor > 0 ? trap_open_process(successor) : -1;
        }
    }
    trap_note_children(run);
    close_reserve();
    atomic_store(&page->is_over, 1);
    message = (struct trap_message){.kind = TRAP_OVER};
    trap_tell(&message);
    trap_poke(run);
    _exit(0);
}
