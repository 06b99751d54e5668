// Between the files that start processes and look after them: start.c, guard.c, waiter.c.
#pragma once

#include <poll.h>

#include "trap_internal.h"

struct trap_watched {
    // -1 while there is none.
    int process;
    int64_t started, pause;
};

// guard.c
int64_t trap_now(void);
void trap_send_to_nowhere(int stream);
void trap_close_range(unsigned first, unsigned last);
// Closes all descriptors from 3 on but those of the run and some more.
void trap_keep_only(struct trap_run *run, const int *more, int count);
void trap_leave_session(struct trap_run *run, int keeps_error);
pid_t trap_start_policy(struct trap_run *run);
struct trap_watched trap_watch(pid_t pid);
// Looks whether trap and policy are there, and starts another where one is not.
void trap_mend(
    struct trap_run *run, struct trap_watched *trap, struct trap_watched *policy, struct pollfd events[2]);
// Until when the guard may wait.
int trap_patience_of(struct trap_run *run, const struct trap_watched *trap, const struct trap_watched *policy);

// waiter.c
extern int trap_witness_process;
void trap_start_witness(void);
int trap_wait_for_program(
    struct trap_run *run, int signals, struct trap_watched *trap, struct trap_watched *policy);
void trap_end_report(struct trap_run *run);
int trap_end_as_program(int status);
