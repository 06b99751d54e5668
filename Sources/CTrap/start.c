// Starts a run: see program_trap.h.
#define _GNU_SOURCE
#include "trap_processes.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

// What this process was started with, and the program is to be started with.
static struct sigaction pipe_action, child_action;
static sigset_t first_mask;
static int closed_streams;

__attribute__((constructor(101))) static void note_beginning(void) {
    sigaction(SIGPIPE, NULL, &pipe_action);
    sigaction(SIGCHLD, NULL, &child_action);
    sigprocmask(SIG_SETMASK, NULL, &first_mask);
    for (int number = 0; number < 3; number++) {
        if (fcntl(number, F_GETFD) < 0) closed_streams |= 1 << number;
    }
}

// MARK: The program

// Where a variable names the process that the program was to be (sd_listen_fds(3), sd_watchdog_enabled(3)) it names this one.
static int take_name(const char *variable, pid_t waiter) {
    const char *value = getenv(variable);
    char number[16];
    if (!value || atoi(value) != waiter) return 0;
    snprintf(number, sizeof number, "%d", getpid());
    setenv(variable, number, 1);
    return 1;
}

static _Noreturn void become_program(struct trap_run *run, int handover, int start) {
    // The same once more, by a number of the pidfd's that is the waiter's: sd_listen_fds(3) does without.
    if (take_name("LISTEN_PID", atomic_load(&run->page->guard))) unsetenv("LISTEN_PIDFDID");
    take_name("WATCHDOG_PID", atomic_load(&run->page->guard));

    int listener = trap_install_filter(run->launch->traps_connect, &run->page->is_interruptible);
    int32_t failure = listener < 0 ? errno : 0;
    struct trap_message message = {.kind = TRAP_BEGAN, .error = failure};
    trap_send(handover, &message, listener);
    // From here to execve nothing is called that the filter holds, but for what is answered already.
    if (listener >= 0) close(listener);
    char go;
    ssize_t is_told;
    while ((is_told = read(start, &go, 1)) < 0 && errno == EINTR) {}
    if (is_told != 1) _exit(1);
    sigaction(SIGPIPE, &pipe_action, NULL);
    sigaction(SIGCHLD, &child_action, NULL);
    for (int number = 0; number < 3; number++) {
        if (closed_streams & 1 << number) close(number);
    }
    sigprocmask(SIG_SETMASK, &first_mask, NULL);
    char *const *arguments = run->launch->arguments;
    execvp(arguments[0], arguments);
    int error = errno;
    // As a shell says it.
    dprintf(2, "mprun: %s: %s\n", run->launch->shown, strerror(error));
    _exit(error == ENOENT ? 127 : 126);
}

// MARK: The start

static int make_signals(void) {
    sigset_t all;
    sigfillset(&all);
    // A fault of this process's own is to end it.
    static const int own[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS};
    for (unsigned place = 0; place < sizeof own / sizeof *own; place++) sigdelset(&all, own[place]);
    sigprocmask(SIG_SETMASK, &all, NULL);
    return signalfd(-1, &all, SFD_CLOEXEC | SFD_NONBLOCK);
}

// Yama (Documentation/admin-guide/LSM/Yama.rst): at 1 and above a process may look at its descendants only.
static int only_ancestors_may_look(void) {
    char scope = '0';
    int file = open("/proc/sys/kernel/yama/ptrace_scope", O_RDONLY | O_CLOEXEC);
    if (file < 0) return 0;
    (void)!read(file, &scope, 1);
    close(file);
    return scope != '0';
}

// The trap, which starts the program first: it is to be an ancestor of all that it looks at, which some systems ask for (Yama).
static _Noreturn void begin_as_trap(struct trap_run *run, int handover, int start, int own_end) {
    struct trap_page *page = run->page;
    pid_t program = fork();
    if (program == 0) {
        close(run->trap_end);
        close(run->policy_end);
        become_program(run, handover, start);
    }
    atomic_store(&page->program, program > 0 ? program : -1);
    struct trap_message message = {.kind = TRAP_BEGAN};
    if (program < 0) {
        dprintf(2, "mprun: can't start a process: %s\n", strerror(errno));
        atomic_store(&page->status, 126 << 8);
        atomic_store(&page->has_ended, 1);
        message.error = EAGAIN;
        trap_send(own_end, &message, -1);
        trap_poke(run);
        _exit(0);
    }
    int listener = -1;
    struct pollfd events[] = {{own_end, POLLIN, 0}, {trap_open_process(program), POLLIN, 0}};
    close(handover);
    // Where only an ancestor may look at a process, those whose parents have ended are to stay descendants.
    if (only_ancestors_may_look()) prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
    while (program > 0 && poll(events, 2, -1) < 0 && errno == EINTR) {}
    if (program <= 0 || trap_receive(own_end, &message, &listener) != 1) message.error = EIO;
    run->listener = listener;
    // The guard gets it before the program goes on.
    trap_send(own_end, &message, listener);
    trap_leave_session(run, 0);
    prctl(PR_SET_NAME, "path-trap");
    if (listener >= 0) trap_serve(run);
    // Without a filter there is nothing to serve: only how the program ends is to be told.
    while (!atomic_load(&page->has_ended)) {
        siginfo_t child;
        if (waitid(P_PID, (id_t)program, &child, WEXITED | WSTOPPED | WNOWAIT) != 0 && errno != EINTR) break;
        trap_note_children(run);
    }
    _exit(0);
}

static const char *words(int error) {
    switch (error) {
    case EBUSY: return "another process answers its calls already (mprun, or a container's supervisor)";
    case EINVAL:
    case ENOSYS: return "this kernel, or a sandbox around, has no seccomp user notification";
    default: return strerror(error);
    }
}

int trap_run(const struct trap_launch *launch, int *failure) {
    struct trap_run run = {.launch = launch, .listener = -1};
    int handover[2], channel[2], start[2];
    *failure = 0;
    // Where it is ignored the kernel reaps children by itself.
    signal(SIGCHLD, SIG_DFL);
    run.page = mmap(NULL, sizeof *run.page, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (run.page == MAP_FAILED || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, handover) != 0
        || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, channel) != 0 || pipe2(start, O_CLOEXEC) != 0
        || (run.page->poke = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) < 0) {
        *failure = errno;
        return -1;
    }
    run.trap_end = channel[0];
    run.policy_end = channel[1];
    atomic_store(&run.page->filter_failure, -1);
    atomic_store(&run.page->guard, getpid());
    // What the trap leaves behind when it is killed is to come here: the program's end.
    prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
    int signals = make_signals();
    struct trap_watched policy = trap_watch(trap_start_policy(&run));
    pid_t child = fork();
    if (child == 0) {
        close(start[1]);
        close(signals);
        begin_as_trap(&run, handover[0], start[0], handover[1]);
    }
    if (child < 0) {
        *failure = errno;
        return -1;
    }
    atomic_store(&run.page->trap, child);
    close(handover[1]);
    close(start[0]);
    struct trap_watched trap = trap_watch(child);
    struct trap_message message = {0};
    struct pollfd events[] = {{handover[0], POLLIN, 0}, {trap.process, POLLIN, 0}};
    while (poll(events, 2, -1) < 0 && errno == EINTR) {}
    if (trap_receive(handover[0], &message, &run.listener) != 1) message.error = EIO;
    close(handover[0]);
    atomic_store(&run.page->filter_failure, message.error);
    trap_send_to_nowhere(0);
    trap_send_to_nowhere(1);
    trap_start_witness();
    if (message.error != 0 && launch->is_strict) {
        dprintf(2, "mprun: paths are prohibited, and the program's connections can't be looked at: %s; it is not started\n",
            words(message.error));
    } else {
        if (message.error != 0 && launch->keeps_error) {
            dprintf(2, "mprun: connections are what the program makes them: %s\n", words(message.error));
        }
        (void)!write(start[1], "", 1);
    }
    close(start[1]);
    if (message.error != 0) {
        // There is nothing to decide, and the policy's process is to end.
        atomic_store(&run.page->is_over, 1);
        struct trap_message over = {.kind = TRAP_OVER};
        trap_send(run.trap_end, &over, -1);
    }
    trap_keep_only(&run, (int[]){signals, trap.process, policy.process, trap_witness_process}, 4);
    if (!launch->keeps_error) trap_send_to_nowhere(2);
    int status = trap_wait_for_program(&run, signals, &trap, &policy);
    if (launch->keeps_error && message.error == 0) trap_end_report(&run);
    return trap_end_as_program(status);
}
