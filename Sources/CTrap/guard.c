// Guards a run: starts its processes, and another of each that has ended.
#define _GNU_SOURCE
#include "trap_processes.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
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
};

int trap_open_process(pid_t pid) { return pid > 0 ? (int)syscall(SYS_pidfd_open, pid, 0) : -1; }

void trap_poke(struct trap_run *run) { (void)!write(run->page->poke, &(uint64_t){1}, 8); }

void trap_send_to_nowhere(int stream) {
    int nowhere = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (nowhere < 0) return;
    dup2(nowhere, stream);
    if (nowhere > 2) close(nowhere);
}

void trap_release_error(void) { trap_send_to_nowhere(2); }

void trap_close_range(unsigned first, unsigned last) {
    if (first > last || syscall(SYS_close_range, first, last, 0) == 0) return;
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur > 65536) limit.rlim_cur = 65536;
    for (unsigned number = first; number <= last && number < limit.rlim_cur; number++) close((int)number);
}

static int by_number(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }

// Closes all descriptors from 3 on but those of the run and some more.
void trap_keep_only(struct trap_run *run, const int *more, int count) {
    enum { OWN = 4, MOST = 8 };
    int kept[MOST] = {run->listener, run->trap_end, run->policy_end, run->page->poke};
    for (int place = 0; place < count && OWN + place < MOST; place++) kept[OWN + place] = more[place];
    count += OWN;
    qsort(kept, (size_t)count, sizeof *kept, by_number);
    unsigned next = 3;
    for (int place = 0; place < count; place++) {
        if (kept[place] < (int)next) continue;
        trap_close_range(next, (unsigned)kept[place] - 1);
        next = (unsigned)kept[place] + 1;
    }
    trap_close_range(next, ~0U);
}

// What asks a program to end is not about this process, which ends behind the last one that it serves: a service manager signals
// all of a service's processes.
static void ignore_requests(void) {
    static const int requests[] = {SIGPIPE, SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGALRM};
    for (unsigned place = 0; place < sizeof requests / sizeof *requests; place++) signal(requests[place], SIG_IGN);
}

// Leaves the terminal's session, so that none of its signals comes here, and what holds the program's streams open.
void trap_leave_session(struct trap_run *run, int keeps_error) {
    setsid();
    ignore_requests();
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    trap_send_to_nowhere(0);
    trap_send_to_nowhere(1);
    if (!keeps_error) trap_send_to_nowhere(2);
    (void)!chdir("/");
    trap_keep_only(run, NULL, 0);
}

// MARK: The program

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
    trap_leave_session(run, 0);
    prctl(PR_SET_NAME, "path-trap");
    trap_serve(run);
}

pid_t trap_start_policy(struct trap_run *run) {
    atomic_store(&run->page->policy_is_ready, 0);
    pid_t child = fork();
    if (child != 0) {
        if (child > 0) atomic_store(&run->page->policy, child);
        return child;
    }
    atomic_store(&run->page->policy, getpid());
    trap_leave_session(run, run->launch->keeps_error);
    prctl(PR_SET_NAME, "path-policy");
    // The program's calls are the trap's alone, and where all that hold the trap's end have ended this one hears of it.
    if (run->listener >= 0) close(run->listener);
    close(run->trap_end);
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

int64_t trap_now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1000 + time.tv_nsec / 1000000;
}

// Starts a process that has ended: at once the first time, and ever later where it ends again and again.
static void start_again(struct trap_run *run, struct trap_watched *one, pid_t (*start)(struct trap_run *)) {
    int64_t age = trap_now() - one->started;
    if (age < one->pause) return;
    one->pause = age > LONG_LIFE ? RESTART_PAUSE : one->pause * 2 > LONGEST_PAUSE ? LONGEST_PAUSE : one->pause * 2;
    one->started = trap_now();
    one->process = trap_open_process(start(run));
}

struct trap_watched trap_watch(pid_t pid) { return (struct trap_watched){trap_open_process(pid), 0, RESTART_PAUSE}; }

// Looks whether trap and policy are there, and starts another where one is not.
void trap_mend(struct trap_run *run, struct trap_watched *trap, struct trap_watched *policy, struct pollfd events[2]) {
    struct trap_watched *all[] = {trap, policy};
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
    if (policy->process < 0) start_again(run, policy, trap_start_policy);
}

// Until when the guard may wait.
int trap_patience_of(struct trap_run *run, const struct trap_watched *trap, const struct trap_watched *policy) {
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
    struct trap_watched trap = trap_watch(atomic_load(&run->page->trap)), policy = trap_watch(atomic_load(&run->page->policy));
    sigset_t children;
    sigemptyset(&children);
    sigaddset(&children, SIGCHLD);
    sigprocmask(SIG_BLOCK, &children, NULL);
    int signals = signalfd(-1, &children, SFD_CLOEXEC | SFD_NONBLOCK);
    while (!atomic_load(&run->page->is_over)) {
        struct pollfd events[] = {
            {trap.process, POLLIN, 0}, {policy.process, POLLIN, 0}, {signals, POLLIN, 0},
            {run->page->poke, POLLIN, 0}};
        if (poll(events, 4, trap_patience_of(run, &trap, &policy)) < 0) continue;
        struct signalfd_siginfo information;
        while (read(signals, &information, sizeof information) == sizeof information) {}
        uint64_t pokes;
        if (events[3].revents) (void)!read(run->page->poke, &pokes, 8);
        trap_note_children(run);
        trap_mend(run, &trap, &policy, events);
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
    trap_keep_only(run, NULL, 0);
    // What became of the policy before this one began is seen by its process.
    guard_alone(run);
}
