// The calls that are held: their answers, and those that wait for the policy.
#define _GNU_SOURCE
#include "trap_calls.h"

#include <errno.h>
#include <stddef.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum {
    // Milliseconds that the first sockets wait for a policy that is just beginning.
    BEGINNING_PATIENCE = 1500,
};

// One trap is one process, so its state is the process's.
static struct trap_run *run;
static struct trap_page *page;
static int64_t began;
struct trap_parked trap_parked[TRAP_SLOTS];
int trap_parked_count;
int trap_has_missed;

void trap_hold(struct trap_run *own_run) {
    run = own_run;
    page = run->page;
    began = trap_milliseconds();
}

int64_t trap_milliseconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

// MARK: Answers

void trap_answer(uint64_t id, int error, uint32_t flags) {
    struct trap_response response = {.id = id, .error = -error, .flags = flags};
    // ENOENT: the caller was killed meanwhile.
    while (ioctl(run->listener, TRAP_IOCTL_ANSWER, &response) != 0 && errno == EINTR) {}
}

// Has the kernel carry the call out as if there was no filter.
void trap_let_go(uint64_t id) { trap_answer(id, 0, TRAP_ANSWER_CONTINUE); }

int trap_is_valid(uint64_t id) { return ioctl(run->listener, TRAP_IOCTL_IS_VALID, &id) == 0; }

void trap_tell(const struct trap_message *message) {
    if (trap_send(run->trap_end, message, -1) == 0) return;
    trap_has_missed = 1;
    // Those that are about a call, each once: what says that a trap has begun is told until it is heard.
    int is_call = message->kind != TRAP_BEGAN && message->kind != TRAP_OVER && !(message->flags & TRAP_REPEATED);
    if (is_call) atomic_fetch_add(&page->missed, 1);
}

// - cookie: that of a socket which it was to get; 0 for none.
void trap_tell_plain(pid_t thread, uint16_t family, int reason, uint64_t cookie) {
    struct trap_message message = {
        .kind = TRAP_SOCKET_PLAIN, .thread = thread, .family = family, .error = reason, .cookie = cookie,
        .descriptor = -1};
    trap_tell(&message);
}

// MARK: Parked calls

struct trap_parked *trap_park(uint64_t id, int patience) {
    if (trap_parked_count == TRAP_SLOTS) return NULL;
    for (int slot = 0; slot < TRAP_SLOTS; slot++) {
        if (trap_parked[slot].id != 0) continue;
        trap_parked_count++;
        // The lower bits name the slot, and no answer to a question of long ago, or of a trap before, has the rest.
        uint32_t sequence = atomic_fetch_add(&page->sequence, TRAP_SLOTS) + TRAP_SLOTS;
        if (sequence == 0) sequence = atomic_fetch_add(&page->sequence, TRAP_SLOTS) + TRAP_SLOTS;
        trap_parked[slot] = (struct trap_parked){
            .id = id, .sequence = sequence | (uint32_t)slot, .deadline = trap_milliseconds() + patience, .socket = -1};
        atomic_store(&page->waiting_connects[slot], page->in_hand.call.nr == __NR_connect);
        atomic_store(&page->waiting[slot], id);
        return &trap_parked[slot];
    }
    return NULL;
}

struct trap_parked *trap_find_parked(uint32_t sequence) {
    struct trap_parked *call = &trap_parked[sequence % TRAP_SLOTS];
    return call->id != 0 && call->sequence == sequence ? call : NULL;
}

// Its call has been answered.
void trap_unpark(struct trap_parked *call) {
    if (call->socket >= 0) close(call->socket);
    call->id = 0;
    atomic_store(&page->waiting[call - trap_parked], 0);
    trap_parked_count--;
}

// Sends a parked call's question: 0, or an errno. A socket that is to be prepared goes with it.
int trap_ask(struct trap_parked *call, uint32_t flags) {
    struct trap_message question = call->question;
    question.flags |= flags;
    // The policy before may have had it prepared, and it connects by now.
    if (call->is_asked) question.flags &= ~(uint32_t)TRAP_UNPREPARED;
    return trap_send(run->trap_end, &question, question.flags & TRAP_UNPREPARED ? call->socket : -1);
}

// How long a call may wait for the policy, in milliseconds: where it is just beginning, until it is ready; not at all where it is
// gone.
int trap_policy_patience(int usual) {
    if (atomic_load(&page->policy_is_ready)) return usual;
    int64_t since = trap_milliseconds() - began;
    return since < BEGINNING_PATIENCE ? (int)(BEGINNING_PATIENCE - since) : 0;
}

uint64_t *trap_unprepared_place(uint64_t cookie) { return &page->unprepared[cookie % TRAP_BINDINGS_KEPT]; }

int trap_option(int socket, int name) {
    int value = 0;
    socklen_t length = sizeof value;
    return getsockopt(socket, SOL_SOCKET, name, &value, &length) == 0 ? value : -1;
}
