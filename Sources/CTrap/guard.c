// Starts a run, guards its processes, and is what the shell sees of the program: see program_trap.h.
#define _GNU_SOURCE
#include "trap_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
    // Milliseconds that the report may take.
    REPORT_PATIENCE = 3000,
    // Milliseconds between two starts of one process, where it ends again and again.
    RESTART_PAUSE = 20,
    LONGEST_PAUSE = 2000,
    // A process that has lived for so long has not ended at its beginning.
    LONG_LIFE = 5000,
    // Within so many milliseconds one that signals several processes has come to the last.
    SIGNALS_PATIENCE = 5,
};

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

int trap_open_process(pid_t pid) { return pid > 0 ? (int)syscall(SYS_pidfd_open, pid, 0) : -1; }

void trap_poke(struct trap_run *run) { (void)!write(run->page->poke, &(uint64_t){1}, 8); }

static void send_to_nowhere(int stream) {
    int nowhere = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (nowhere < 0) return;
    dup2(nowhere, stream);
    if (nowhere > 2) close(nowhere);
}

void trap_release_error(void) { send_to_nowhere(2); }

static void close_range_of(unsigned first, unsigned last) {
    if (first > last || syscall(SYS_close_range, first, last, 0) == 0) return;
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur > 65536) limit.rlim_cur = 65536;
    for (unsigned number = first; number <= last && number < limit.rlim_cur; number++) close((int)number);
}

static int by_number(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }

// Closes all descriptors from 3 on but those of the run and some more.
static void keep_only(struct trap_run *run, const int *more, int count) {
    enum { OWN = 4, MOST = 8 };
    int kept[MOST] = {run->listener, run->trap_end, run->policy_end, run->page->poke};
    for (int place = 0; place < count && OWN + place < MOST; place++) kept[OWN + place] = more[place];
    count += OWN;
    qsort(kept, (size_t)count, sizeof *kept, by_number);
    unsigned next = 3;
    for (int place = 0; place < count; place++) {
        if (kept[place] < (int)next) continue;
        close_range_of(next, (unsigned)kept[place] - 1);
        next = (unsigned)kept[place] + 1;
    }
    close_range_of(next, ~0U);
}

// What asks a program to end is not about this process, which ends behind the last one that it serves: a service manager signals
// all of a service's processes.
static void ignore_requests(void) {
    static const int requests[] = {SIGPIPE, SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGALRM};
    for (unsigned place = 0; place < sizeof requests / sizeof *requests; place++) signal(requests[place], SIG_IGN);
}

// Leaves the terminal's session, so that none of its signals comes here, and what holds the program's streams open.
static void leave_session(struct trap_run *run, int keeps_error) {
    setsid();
    ignore_requests();
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    send_to_nowhere(0);
    send_to_nowhere(1);
    if (!keeps_error) send_to_nowhere(2);
    (void)!chdir("/");
    keep_only(run, NULL, 0);
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
    dprintf(2, "mprun: %s: %s\n", arguments[0], strerror(error));
    _exit(error == ENOENT ? 127 : 126);
}

// What became of the children: the program is this process's child, or that of the one that started it.
void trap_note_children(struct trap_run *run) {
    struct trap_page *page = run->page;
    pid_t program = atomic_load(&page->program);
    int changed = 0;
    for (;;) {
        siginfo_t child = {0};
        // First looked at, then reaped: a process that is killed in between leaves it to the next.
        if (waitid(P_ALL, 0, &child, WEXITED | WSTOPPED | WCONTINUED | WNOHANG | WNOWAIT) != 0 || child.si_pid == 0) break;
        int is_end = child.si_code == CLD_EXITED || child.si_code == CLD_KILLED || child.si_code == CLD_DUMPED;
        if (child.si_pid == program) {
            changed = 1;
            if (is_end) {
                int status = child.si_code == CLD_EXITED ? (child.si_status & 0xff) << 8 : child.si_status & 0x7f;
                atomic_store(&page->status, status);
                atomic_store(&page->has_ended, 1);
            } else {
                atomic_store(&page->stopped_by, child.si_code == CLD_STOPPED ? child.si_status : 0);
            }
            // The waiter has stopped with the program, and goes on with it.
            pid_t waiter = atomic_load(&page->guard);
            if (child.si_code != CLD_STOPPED && waiter > 0 && waiter != getpid()) kill(waiter, SIGCONT);
        }
        siginfo_t same;
        waitid(P_PID, (id_t)child.si_pid, &same, (is_end ? WEXITED : WSTOPPED | WCONTINUED) | WNOHANG);
    }
    if (changed) trap_poke(run);
}

// Its parent is this process, or it has been.
void trap_kill_program(struct trap_run *run) {
    pid_t program = atomic_load(&run->page->program);
    if (program > 0) kill(program, SIGKILL);
}

// MARK: Starts

static pid_t start_trap(struct trap_run *run) {
    pid_t child = fork();
    if (child != 0) {
        if (child > 0) atomic_store(&run->page->trap, child);
        return child;
    }
    atomic_store(&run->page->trap, getpid());
    leave_session(run, 0);
    prctl(PR_SET_NAME, "path-trap");
    trap_serve(run);
}

static pid_t start_policy(struct trap_run *run) {
    atomic_store(&run->page->policy_is_ready, 0);
    pid_t child = fork();
    if (child != 0) {
        if (child > 0) atomic_store(&run->page->policy, child);
        return child;
    }
    atomic_store(&run->page->policy, getpid());
    leave_session(run, run->launch->keeps_error);
    prctl(PR_SET_NAME, "path-policy");
    // The program's calls are the trap's alone.
    if (run->listener >= 0) close(run->listener);
    run->launch->policy(run->policy_end, run->page, run->launch->context);
    _exit(1);
}

// Answers what the trap had taken when it was killed.
static void answer_for_trap(struct trap_run *run) {
    struct trap_page *page = run->page;
    for (int slot = -1; slot < TRAP_SLOTS; slot++) {
        uint64_t id = slot < 0 ? page->in_hand.id : atomic_exchange(&page->waiting[slot], 0);
        if (id == 0) continue;
        int is_connect = slot < 0 ? page->in_hand.call.nr == __NR_connect : atomic_load(&page->waiting_connects[slot]);
        struct trap_response response = {.id = id, .flags = TRAP_ANSWER_CONTINUE};
        // It may lead over a path that is prohibited.
        if (is_connect && run->launch->is_strict) response = (struct trap_response){.id = id, .error = -ENETUNREACH};
        // ENOENT: it had been answered.
        while (ioctl(run->listener, TRAP_IOCTL_ANSWER, &response) != 0 && errno == EINTR) {}
    }
    page->in_hand.id = 0;
}

// MARK: The guard

static int64_t now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1000 + time.tv_nsec / 1000000;
}

struct watched {
    // -1 while there is none.
    int process;
    int64_t started, pause;
};

// Starts a process that has ended: at once the first time, and ever later where it ends again and again.
static void start_again(struct trap_run *run, struct watched *one, pid_t (*start)(struct trap_run *)) {
    int64_t age = now() - one->started;
    if (age < one->pause) return;
    one->pause = age > LONG_LIFE ? RESTART_PAUSE : one->pause * 2 > LONGEST_PAUSE ? LONGEST_PAUSE : one->pause * 2;
    one->started = now();
    one->process = trap_open_process(start(run));
}

static struct watched watch(pid_t pid) { return (struct watched){trap_open_process(pid), 0, RESTART_PAUSE}; }

// Looks whether trap and policy are there, and starts another where one is not.
static void mend(struct trap_run *run, struct watched *trap, struct watched *policy, struct pollfd events[2]) {
    struct watched *all[] = {trap, policy};
    for (int place = 0; place < 2; place++) {
        if (all[place]->process < 0 || !events[place].revents) continue;
        close(all[place]->process);
        all[place]->process = -1;
    }
    if (atomic_load(&run->page->is_over)) return;
    if (trap->process < 0 && run->listener >= 0) {
        answer_for_trap(run);
        start_again(run, trap, start_trap);
    }
    if (policy->process < 0) start_again(run, policy, start_policy);
}

// Until when the guard may wait.
static int patience_of(struct trap_run *run, const struct watched *trap, const struct watched *policy) {
    if (atomic_load(&run->page->is_over)) return -1;
    return trap->process < 0 || policy->process < 0 ? RESTART_PAUSE : -1;
}

static void end_policy(struct trap_run *run) {
    pid_t policy = atomic_load(&run->page->policy);
    int process = trap_open_process(policy);
    if (process >= 0) {
        struct pollfd event = {process, POLLIN, 0};
        // It ends by itself when it has heard that all is over.
        if (poll(&event, 1, REPORT_PATIENCE) == 0) syscall(SYS_pidfd_send_signal, process, SIGKILL, NULL, 0);
        close(process);
    }
}

// Guards a run whose waiter is gone.
static _Noreturn void guard_alone(struct trap_run *run) {
    prctl(PR_SET_NAME, "path-guard");
    struct watched trap = watch(atomic_load(&run->page->trap)), policy = watch(atomic_load(&run->page->policy));
    sigset_t children;
    sigemptyset(&children);
    sigaddset(&children, SIGCHLD);
    sigprocmask(SIG_BLOCK, &children, NULL);
    int signals = signalfd(-1, &children, SFD_CLOEXEC | SFD_NONBLOCK);
    while (!atomic_load(&run->page->is_over)) {
        struct pollfd events[] = {
            {trap.process, POLLIN, 0}, {policy.process, POLLIN, 0}, {signals, POLLIN, 0},
            {run->page->poke, POLLIN, 0}};
        if (poll(events, 4, patience_of(run, &trap, &policy)) < 0) continue;
        struct signalfd_siginfo information;
        while (read(signals, &information, sizeof information) == sizeof information) {}
        uint64_t pokes;
        if (events[3].revents) (void)!read(run->page->poke, &pokes, 8);
        trap_note_children(run);
        mend(run, &trap, &policy, events);
    }
    end_policy(run);
    _exit(0);
}

int trap_start_guard(struct trap_run *run) {
    pid_t child = fork();
    if (child != 0) return child;
    atomic_store(&run->page->guard, getpid());
    setsid();
    ignore_requests();
    keep_only(run, NULL, 0);
    // What became of the policy before this one began is seen by its process.
    guard_alone(run);
}

// MARK: The waiter

// A process that does nothing: in the waiter's process group, session and control group, with all signals blocked. What is pending
// for it was sent to all of them, the program among them, and not to the waiter alone.
//
// It is known by a pidfd: one that was killed has no number any more, and the number may be another process's.
static pid_t witness = -1;
static int witness_process = -1;

static void start_witness(void) {
    pid_t waiter = getpid();
    witness = fork();
    if (witness != 0) {
        witness_process = trap_open_process(witness);
        return;
    }
    prctl(PR_SET_NAME, "path-witness");
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    sigset_t all;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, NULL);
    close_range_of(0, ~0U);
    while (getppid() == waiter) pause();
    _exit(0);
}

// Signals that were sent to the witness as well, a bit each, and that this process has not got yet or looks for still.
static uint64_t shared;
// Those of the witness's that are counted already: they came while there were two.
static uint64_t counted;

static uint64_t pending_for_witness(void) {
    char path[48], text[2048];
    snprintf(path, sizeof path, "/proc/%d/status", witness);
    int file = witness > 0 ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    if (file < 0) return 0;
    ssize_t length = read(file, text, sizeof text - 1);
    close(file);
    text[length < 0 ? 0 : length] = 0;
    // After the file was read: the number was its own then.
    struct pollfd end = {witness_process, POLLIN, 0};
    if (witness_process < 0 || poll(&end, 1, 0) != 0) return 0;
    const char *line = strstr(text, "\nShdPnd:");
    return line ? strtoull(line + 8, NULL, 16) : 0;
}

// Another witness, that has none pending. It is there before the one before goes, so that no signal comes in between.
static void replace_witness(void) {
    pid_t last = witness;
    int last_process = witness_process;
    start_witness();
    pid_t next = witness;
    int next_process = witness_process;
    witness = last;
    witness_process = last_process;
    uint64_t both = pending_for_witness();
    shared |= both & ~counted;
    if (last_process >= 0) {
        syscall(SYS_pidfd_send_signal, last_process, SIGKILL, NULL, 0);
        close(last_process);
    }
    witness = next;
    witness_process = next_process;
    counted = both & pending_for_witness();
}

static void look_at_witness(void) {
    struct pollfd end = {witness_process, POLLIN, 0};
    uint64_t pending = pending_for_witness() & ~counted;
    shared |= pending;
    if (pending != 0 || (witness_process >= 0 && poll(&end, 1, 0) != 0)) replace_witness();
}

// Signals that this process has got and not passed on yet, and when to.
static unsigned unpassed[65];
static int64_t passing_time;

// What was sent to several processes the program has got, too: what a terminal sends to all of a foreground's, and what the program
// sends to its group, among it.
static void note_signal(struct trap_run *run, const struct signalfd_siginfo *information) {
    unsigned number = information->ssi_signo;
    if (number == SIGCHLD || number == 0 || number > 64) return;
    if (passing_time == 0) passing_time = now() + SIGNALS_PATIENCE;
    look_at_witness();
    uint64_t bit = 1ULL << (number - 1);
    // The kernel's own, of a terminal that hangs up, go to the session's leader alone.
    if ((information->ssi_code == SI_KERNEL && witness <= 0) || (pid_t)information->ssi_pid == atomic_load(&run->page->program) || shared & bit) {
        shared &= ~bit;
        return;
    }
    // As the kernel does: what stops and what continues takes the other back.
    if (number == SIGCONT) unpassed[SIGTSTP] = unpassed[SIGTTIN] = unpassed[SIGTTOU] = 0;
    if (number == SIGTSTP || number == SIGTTIN || number == SIGTTOU) unpassed[SIGCONT] = 0;
    unpassed[number]++;
}

// Passes on what was sent to this process alone.
static void pass_signals_on(struct trap_run *run) {
    if (passing_time == 0 || now() < passing_time) return;
    passing_time = 0;
    look_at_witness();
    pid_t program = atomic_load(&run->page->program);
    for (int number = 1; number <= 64; number++) {
        // Only those of real time are counted.
        unsigned count = number < SIGRTMIN && unpassed[number] ? 1 : unpassed[number];
        unpassed[number] = 0;
        if (shared >> (number - 1) & 1 || program <= 0 || atomic_load(&run->page->has_ended)) continue;
        while (count-- > 0) kill(program, number);
    }
    shared = 0;
    // What is counted hides what comes.
    if (counted != 0) {
        replace_witness();
        shared = 0;
    }
}

static int is_stopped(struct trap_run *run) {
    char path[48], text[256];
    snprintf(path, sizeof path, "/proc/%d/stat", atomic_load(&run->page->program));
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) return 0;
    ssize_t length = read(file, text, sizeof text - 1);
    close(file);
    text[length < 0 ? 0 : length] = 0;
    // The name stands in parentheses, and may hold any.
    const char *end = strrchr(text, ')');
    return end && end[1] == ' ' && end[2] == 'T';
}

// The program has stopped: so does this process, for the shell to see.
static void stop_as_program(struct trap_run *run) {
    if (atomic_exchange(&run->page->stopped_by, 0) == 0 || !is_stopped(run)) return;
    kill(getpid(), SIGSTOP);
    // Here it goes on. A shell continues the whole group; another process may have continued this one alone.
    if (is_stopped(run)) kill(atomic_load(&run->page->program), SIGCONT);
}

static int wait_for_program(struct trap_run *run, int signals, struct watched *trap, struct watched *policy) {
    struct trap_page *page = run->page;
    while (!atomic_load(&page->has_ended)) {
        struct pollfd events[] = {
            {trap->process, POLLIN, 0}, {policy->process, POLLIN, 0}, {signals, POLLIN, 0}, {page->poke, POLLIN, 0}};
        int patience = patience_of(run, trap, policy);
        if (passing_time != 0 && (patience < 0 || patience > SIGNALS_PATIENCE)) patience = SIGNALS_PATIENCE;
        if (poll(events, 4, patience) < 0) continue;
        struct signalfd_siginfo information;
        while (read(signals, &information, sizeof information) == sizeof information) note_signal(run, &information);
        pass_signals_on(run);
        uint64_t pokes;
        if (events[3].revents) (void)!read(page->poke, &pokes, 8);
        trap_note_children(run);
        mend(run, trap, policy, events);
        stop_as_program(run);
    }
    return atomic_load(&page->status);
}

// The policy lets go of standard error then.
static void end_report(struct trap_run *run) {
    struct trap_message message = {.kind = TRAP_PROGRAM_ENDED, .error = atomic_load(&run->page->status)};
    if (trap_send(run->trap_end, &message, -1) != 0 || !run->launch->awaits_report) return;
    int64_t deadline = now() + REPORT_PATIENCE;
    int process = trap_open_process(atomic_load(&run->page->policy));
    while (!atomic_load(&run->page->report_is_written)) {
        int64_t left = deadline - now();
        struct pollfd events[] = {{run->page->poke, POLLIN, 0}, {process, POLLIN, 0}};
        if (left <= 0 || poll(events, 2, (int)left) < 0) break;
        uint64_t pokes;
        if (events[0].revents) (void)!read(run->page->poke, &pokes, 8);
        if (events[1].revents) break;
    }
}

static int end_as_program(int status) {
    if (!WIFSIGNALED(status)) return WEXITSTATUS(status);
    int number = WTERMSIG(status);
    // The program's core, where there is one, is enough.
    struct rlimit none = {0, 0};
    setrlimit(RLIMIT_CORE, &none);
    // Where cores go to a program the limit does not count.
    prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
    signal(number, SIG_DFL);
    sigset_t only;
    sigemptyset(&only);
    sigaddset(&only, number);
    kill(getpid(), number);
    sigprocmask(SIG_UNBLOCK, &only, NULL);
    return 128 + number;
}

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
    leave_session(run, 0);
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
    struct watched policy = watch(start_policy(&run));
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
    struct watched trap = watch(child);
    struct trap_message message = {0};
    struct pollfd events[] = {{handover[0], POLLIN, 0}, {trap.process, POLLIN, 0}};
    while (poll(events, 2, -1) < 0 && errno == EINTR) {}
    if (trap_receive(handover[0], &message, &run.listener) != 1) message.error = EIO;
    close(handover[0]);
    atomic_store(&run.page->filter_failure, message.error);
    send_to_nowhere(0);
    send_to_nowhere(1);
    start_witness();
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
    keep_only(&run, (int[]){signals, trap.process, policy.process, witness_process}, 4);
    if (!launch->keeps_error) send_to_nowhere(2);
    int status = wait_for_program(&run, signals, &trap, &policy);
    if (launch->keeps_error && message.error == 0) end_report(&run);
    return end_as_program(status);
}
