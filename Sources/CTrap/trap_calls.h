// Between the files that serve calls: trap.c, held_calls.c, connect.c, caller.c.
#pragma once

#include "trap_internal.h"

struct trap_parked {
    // 0 for a slot that is free.
    uint64_t id;
    uint32_t sequence;
    int64_t deadline;
    // A duplicate of the program's socket, for a connect; -1 for socket(2).
    int socket;
    // Whether the question has been sent.
    int is_asked;
    struct trap_message question;
    // The flags of socket(2).
    int type;
};

// held_calls.c
extern struct trap_parked trap_parked[TRAP_SLOTS];
extern int trap_parked_count;
// Whether the policy has missed something: it is told then that there is nothing in reserve.
extern int trap_has_missed;
void trap_hold(struct trap_run *run);
int64_t trap_milliseconds(void);
void trap_answer(uint64_t id, int error, uint32_t flags);
void trap_let_go(uint64_t id);
int trap_is_valid(uint64_t id);
void trap_tell(const struct trap_message *message);
void trap_tell_plain(pid_t thread, uint16_t family, int reason, uint64_t cookie);
struct trap_parked *trap_park(uint64_t id, int patience);
struct trap_parked *trap_find_parked(uint32_t sequence);
void trap_unpark(struct trap_parked *call);
int trap_ask(struct trap_parked *call, uint32_t flags);
int trap_policy_patience(int usual);
// Where a socket stands that was given unprepared: the last of those that share the place.
uint64_t *trap_unprepared_place(uint64_t cookie);
int trap_option(int socket, int name);

// connect.c
void trap_take_connects(struct trap_run *run);
void trap_take_connect(const struct trap_notification *call);
void trap_settle_connect(struct trap_parked *call, const struct trap_message *verdict);
// The policy has not answered in time.
void trap_give_connect_up(struct trap_parked *call);
void trap_repeat_connects(void);
void trap_lend(const struct trap_message *request);

// caller.c
void trap_find_own_namespace(void);
int trap_shares_network(pid_t thread);
int trap_is_of_own_network(int socket, pid_t thread);
void trap_name_caller(pid_t thread, uint8_t name[16]);
void trap_give_to_caller(int socket, pid_t thread);
int trap_is_excluded(pid_t thread, char *const *patterns);
int trap_duplicate(pid_t thread, int number);
int trap_is_another_file(pid_t thread, int number, uint64_t inode);
int trap_find_moved(pid_t thread, uint64_t inode);
