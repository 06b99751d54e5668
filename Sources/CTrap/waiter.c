// The waiter: is what the shell sees of the program. It passes signals on, and stops and ends as the program does.
#define _GNU_SOURCE
#include "trap_processes.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    // Milliseconds that the report may take.
    REPORT_PATIENCE = 3000,
    // Within so many milliseconds one that signals several processes has come to the last.
    SIGNALS_PATIENCE = 5,
};

// A process that does nothing: in the waiter's process group, session and control group, with all signals blocked. What is pending
// for it was sent to all of them, the program among them, and not to the waiter alone.
//
// It is known by a pidfd: one that was killed has no number any more, and the number may be another process's.
static pid_t witness = -1;
int trap_witness_process = -1;

void trap_start_witness(void) {
    pid_t waiter = getpid();
    witness = fork();
    if (witness != 0) {
        trap_witness_process = trap_open_process(witness);
        return;
    }
    prctl(PR_SET_NAME, "path-witness");
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    sigset_t all;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, NULL);
    trap_close_range(0, ~0U);
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
    struct pollfd end = {trap_witness_process, POLLIN, 0};
    if (trap_witness_process < 0 || poll(&end, 1, 0) != 0) return 0;
    const char *line = strstr(text, "\nShdPnd:");
    return line ? strtoull(line + 8, NULL, 16) : 0;
}

// Another witness, that has none pending. It is there before the one before goes, so that no signal comes in between.
static void replace_witness(void) {
    pid_t last = witness;
    int last_process = trap_witness_process;
    trap_start_witness();
    pid_t next = witness;
    int next_process = trap_witness_process;
    witness = last;
    trap_witness_process = last_process;
    uint64_t both = pending_for_witness();
    shared |= both & ~counted;
    if (last_process >= 0) {
        syscall(SYS_pidfd_send_signal, last_process, SIGKILL, NULL, 0);
        close(last_process);
    }
    witness = next;
    trap_witness_process = next_process;
    counted = both & pending_for_witness();
}

static void look_at_witness(void) {
    struct pollfd end = {trap_witness_process, POLLIN, 0};
    uint64_t pending = pending_for_witness() & ~counted;
    shared |= pending;
    if (pending != 0 || (trap_witness_process >= 0 && poll(&end, 1, 0) != 0)) replace_witness();
}

// Signals that this process has got and not passed on yet, and when to.
static unsigned unpassed[65];
static int64_t passing_time;

// What was sent to several processes the program has got, too: what a terminal sends to all of a foreground's, and what the program
// sends to its group, among it.
static void note_signal(struct trap_run *run, const struct signalfd_siginfo *information) {
    unsigned number = information->ssi_signo;
    if (number == SIGCHLD || number == 0 || number > 64) return;
    // The trap's word that the program goes on: passed on, it would undo a stop that has come since.
    if (number == SIGCONT && (pid_t)information->ssi_pid == atomic_load(&run->page->trap)) return;
    if (passing_time == 0) passing_time = trap_now() + SIGNALS_PATIENCE;
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
    if (passing_time == 0 || trap_now() < passing_time) return;
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

static void read_signals(struct trap_run *run, int signals) {
    struct signalfd_siginfo information;
    while (read(signals, &information, sizeof information) == sizeof information) note_signal(run, &information);
}

// The program has stopped: so does this process, for the shell to see.
static void stop_as_program(struct trap_run *run, int signals) {
    if (atomic_exchange(&run->page->stopped_by, 0) == 0 || !is_stopped(run)) return;
    kill(getpid(), SIGSTOP);
    // Here it goes on. A shell continues the whole group; another process may have continued this one alone.
    if (!is_stopped(run)) return;
    kill(atomic_load(&run->page->program), SIGCONT);
    // With that it is passed on; once more it might undo a stop that comes next.
    read_signals(run, signals);
    unpassed[SIGCONT] = 0;
}

int trap_wait_for_program(struct trap_run *run, int signals, struct trap_watched *trap, struct trap_watched *policy) {
    struct trap_page *page = run->page;
    while (!atomic_load(&page->has_ended)) {
        struct pollfd events[] = {
            {trap->process, POLLIN, 0}, {policy->process, POLLIN, 0}, {signals, POLLIN, 0}, {page->poke, POLLIN, 0}};
        int patience = trap_patience_of(run, trap, policy);
        if (passing_time != 0 && (patience < 0 || patience > SIGNALS_PATIENCE)) patience = SIGNALS_PATIENCE;
        if (poll(events, 4, patience) < 0) continue;
        read_signals(run, signals);
        pass_signals_on(run);
        uint64_t pokes;
        if (events[3].revents) (void)!read(page->poke, &pokes, 8);
        trap_note_children(run);
        trap_mend(run, trap, policy, events);
        stop_as_program(run, signals);
    }
    return atomic_load(&page->status);
}

// The policy lets go of standard error then.
void trap_end_report(struct trap_run *run) {
    struct trap_message message = {.kind = TRAP_PROGRAM_ENDED, .error = atomic_load(&run->page->status)};
    if (trap_send(run->trap_end, &message, -1) != 0 || !run->launch->awaits_report) return;
    int64_t deadline = trap_now() + REPORT_PATIENCE;
    int process = trap_open_process(atomic_load(&run->page->policy));
    while (!atomic_load(&run->page->report_is_written)) {
        int64_t left = deadline - trap_now();
        struct pollfd events[] = {{run->page->poke, POLLIN, 0}, {process, POLLIN, 0}};
        if (left <= 0 || poll(events, 2, (int)left) < 0) break;
        uint64_t pokes;
        if (events[0].revents) (void)!read(run->page->poke, &pokes, 8);
        if (events[1].revents) break;
    }
}

int trap_end_as_program(int status) {
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
