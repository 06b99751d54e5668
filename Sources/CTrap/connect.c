// connect(2): where a call leads, the interface that its socket is bound to, and duplicates for the policy to look at.
#define _GNU_SOURCE
#include "trap_calls.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

enum {
    // Destinations whose interface is kept.
    DESTINATIONS = 32,
    // Milliseconds that a connect waits for the policy where paths are prohibited: it may have to be started again.
    STRICT_PATIENCE = 2000,
    BIND_TO_INTERFACE = 62,  // SO_BINDTOIFINDEX
    // Milliseconds that a connect waits for more than its patience where its socket is being prepared: what is begun in time may end
    // later, and would disconnect a connection. Of a socket that does not block, and of one that does.
    GRACE = 100,
    BLOCKING_GRACE = 1000,
};

struct destination {
    uint16_t family;
    uint8_t address[16];
    uint32_t scope, interface, generation;
};

static struct trap_run *run;
static struct trap_page *page;
static struct destination destinations[DESTINATIONS];

void trap_take_connects(struct trap_run *own_run) {
    run = own_run;
    page = run->page;
}

union destination_address {
    sa_family_t family;
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
    uint8_t bytes[128];
};

// Whether it is one on another machine.
static int read_destination(const union destination_address *address, size_t length, struct trap_message *message) {
    static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};
    if (address->family == AF_INET && length >= sizeof address->v4) {
        uint32_t number = ntohl(address->v4.sin_addr.s_addr);
        if (number >> 24 == 127 || number == 0) return 0;
        message->family = AF_INET;
        message->port = ntohs(address->v4.sin_port);
        memcpy(message->address, &address->v4.sin_addr, 4);
        return 1;
    }
    // SIN6_LEN_RFC2133: without the scope.
    if (address->family != AF_INET6 || length < 24) return 0;
    const struct in6_addr *ip = &address->v6.sin6_addr;
    if (IN6_IS_ADDR_LOOPBACK(ip) || IN6_IS_ADDR_UNSPECIFIED(ip)) return 0;
    if (memcmp(ip, mapped, sizeof mapped) == 0 && (ip->s6_addr[12] == 127 || ip->s6_addr[12] == 0)) return 0;
    message->family = AF_INET6;
    message->port = ntohs(address->v6.sin6_port);
    memcpy(message->address, ip, 16);
    if (length >= sizeof address->v6) message->scope = address->v6.sin6_scope_id;
    return 1;
}

static struct trap_binding *binding_of(uint64_t cookie) { return &page->bindings[cookie % TRAP_BINDINGS_KEPT]; }

// A socket that is neither connected nor connecting says that it has hung up.
static int is_closed(int socket) {
    struct pollfd state = {socket, 0, 0};
    return poll(&state, 1, 0) == 1 && state.revents & POLLHUP;
}

// Whether it may be prepared: nor does the program have the error of an earlier connect to fetch, which would be told of the
// connection that comes about then (AF_UNSPEC leaves sk_err).
static int is_fresh(int socket) {
    struct pollfd state = {socket, 0, 0};
    return poll(&state, 1, 0) == 1 && (state.revents & (POLLHUP | POLLERR)) == POLLHUP;
}

// Takes back what a trap has bound a socket to for a connection that has come to nothing: this one may lead elsewhere.
static void unbind(int socket, uint64_t cookie, int interface) {
    const struct trap_binding *known = binding_of(cookie);
    if (known->cookie != cookie || known->interface != (uint32_t)interface || !is_closed(socket)) return;
    setsockopt(socket, SOL_SOCKET, BIND_TO_INTERFACE, &(int){0}, sizeof(int));
}

static int has_mark(int socket) {
    uint32_t mark = 0;
    socklen_t length = sizeof mark;
    return getsockopt(socket, SOL_SOCKET, SO_MARK, &mark, &length) == 0 && mark != 0;
}

// Whether the program itself has chosen from where it connects, or is connecting already.
static int is_bound(int socket, uint64_t cookie, uint8_t address[16]) {
    union destination_address own;
    socklen_t length = sizeof own;
    memset(&own, 0, sizeof own);
    int interface = trap_option(socket, BIND_TO_INTERFACE);
    if (interface > 0) {
        unbind(socket, cookie, interface);
        if (trap_option(socket, BIND_TO_INTERFACE) > 0) return 1;
    }
    // A mark chooses among routing rules (wg-quick(8), VPNs): the interface is for them to say.
    if (has_mark(socket) && !run->launch->is_strict) return 1;
    if (getsockname(socket, (struct sockaddr *)&own, &length) != 0) return 1;
    if (own.family == AF_INET) {
        memcpy(address, &own.v4.sin_addr, 4);
        return own.v4.sin_addr.s_addr != 0;
    }
    memcpy(address, &own.v6.sin6_addr, 16);
    return !IN6_IS_ADDR_UNSPECIFIED(&own.v6.sin6_addr);
}

static struct destination *place_of(const struct trap_message *message) {
    uint32_t hash = message->scope + message->family;
    for (int byte = 0; byte < 16; byte++) hash = hash * 31 + message->address[byte];
    return &destinations[hash % DESTINATIONS];
}

static int is_known(const struct destination *known, const struct trap_message *message) {
    return known->family == message->family && known->scope == message->scope
        && known->generation == atomic_load(&page->generation)
        && memcmp(known->address, message->address, sizeof known->address) == 0;
}

static void remember(const struct trap_message *message) {
    uint32_t place = atomic_fetch_add(&page->connect_count, 1) % TRAP_CONNECTS_KEPT;
    page->connects[place] = *message;
    page->connects[place].sequence = 0;
    page->connects[place].flags |= TRAP_REPEATED;
}

void trap_repeat_connects(void) {
    uint32_t count = atomic_load(&page->connect_count);
    for (uint32_t place = count > TRAP_CONNECTS_KEPT ? count - TRAP_CONNECTS_KEPT : 0; place < count; place++) {
        trap_tell(&page->connects[place % TRAP_CONNECTS_KEPT]);
    }
}

// Returns whether the socket is as it is to be.
static int bind_to(int socket, uint64_t cookie, uint32_t interface) {
    int index = (int)interface;
    if (interface == 0) return 1;
    if (setsockopt(socket, SOL_SOCKET, BIND_TO_INTERFACE, &index, sizeof index) != 0) return 0;
    *binding_of(cookie) = (struct trap_binding){cookie, interface};
    return 1;
}

static uint64_t inode_of(int socket) {
    struct stat file;
    return fstat(socket, &file) == 0 ? file.st_ino : 0;
}

// Has a socket that the program has not bound leave by the interface that is known for its destination, which the message says then.
//
// Returns whether the call may go on. Where paths are prohibited it may only by a known interface: what the policy has not judged
// leads anywhere, such as a socket that the program has bound, or one whose further paths the kernel chooses.
static int bind_as_known(int socket, struct trap_message *message) {
    const struct destination *known = place_of(message);
    if (run->launch->is_strict && message->flags & TRAP_UNPREPARED) return 0;
    if (message->flags & TRAP_IS_BOUND || !is_known(known, message)) return !run->launch->is_strict;
    message->interface = known->interface;
    return bind_to(socket, message->cookie, known->interface) || !run->launch->is_strict;
}

// Answers a call without the policy, and closes the duplicate.
static void leave_as_known(uint64_t id, int socket, struct trap_message *message) {
    int may_go_on = bind_as_known(socket, message);
    // First: this process is to hold the socket no longer than the call is held.
    close(socket);
    if (!may_go_on) return trap_answer(id, ENETUNREACH, 0);
    trap_let_go(id);
    // It has connected, and is not to be prepared any more.
    message->flags &= ~(uint32_t)TRAP_UNPREPARED;
    trap_tell(message);
}

// Where paths are prohibited a call that may lead anywhere is refused; where it can't come to anything the kernel says so.
static void leave_unexamined(uint64_t id, pid_t thread, int error) {
    if (run->launch->is_strict && error != EFAULT && error != ESRCH) {
        trap_answer(id, ENETUNREACH, 0);
    } else {
        trap_let_go(id);
    }
    struct trap_message message = {
        .kind = TRAP_UNEXAMINED, .thread = thread, .error = error, .descriptor = -1};
    trap_tell(&message);
}

void trap_take_connect(const struct trap_notification *call) {
    pid_t thread = (pid_t)call->pid;
    union destination_address address;
    size_t length = call->call.args[2] < sizeof address ? (size_t)call->call.args[2] : sizeof address;
    memset(&address, 0, sizeof address);
    struct iovec to = {&address, length}, from = {(void *)(uintptr_t)call->call.args[1], length};
    if (length < sizeof(sa_family_t) || thread <= 0) return trap_let_go(call->id);
    // The address may be another by the time the kernel reads it: that is why nothing here grants the program anything.
    if (process_vm_readv(thread, &to, 1, &from, 1, 0) < (ssize_t)sizeof(sa_family_t)) {
        return leave_unexamined(call->id, thread, errno);
    }
    struct trap_message message = {.kind = TRAP_CONNECTS, .thread = thread, .descriptor = (int)call->call.args[0]};
    if (!read_destination(&address, length, &message)) return trap_let_go(call->id);
    int socket = trap_duplicate(thread, message.descriptor);
    if (socket < 0) {
        if (errno == EBADF) return trap_let_go(call->id);
        return leave_unexamined(call->id, thread, errno);
    }
    int protocol = trap_option(socket, SO_PROTOCOL);
    // A raw socket may have TCP's number, too.
    if (protocol == IPPROTO_TCP && trap_option(socket, SO_TYPE) != SOCK_STREAM) protocol = -1;
    // The thread that called may be gone, and what was read another's.
    if ((protocol != IPPROTO_TCP && protocol != TRAP_PROTOCOL_MPTCP) || !trap_is_valid(call->id)) {
        close(socket);
        return trap_let_go(call->id);
    }
    // Interfaces have other numbers there, and other paths.
    if (!trap_is_of_own_network(socket, thread)) {
        close(socket);
        return leave_unexamined(call->id, thread, EXDEV);
    }
    message.cookie = trap_socket_cookie(socket);
    message.inode = inode_of(socket);
    if (protocol == TRAP_PROTOCOL_MPTCP) message.flags |= TRAP_IS_MPTCP;
    int is_unprepared = protocol == TRAP_PROTOCOL_MPTCP && *trap_unprepared_place(message.cookie) == message.cookie
        && is_fresh(socket) && atomic_load(&page->policy_is_ready);
    if (is_bound(socket, message.cookie, message.own)) message.flags |= TRAP_IS_BOUND;
    remember(&message);
    int is_decided = message.flags & TRAP_IS_BOUND ? !run->launch->is_strict : is_known(place_of(&message), &message);
    if (is_decided && !is_unprepared) return leave_as_known(call->id, socket, &message);
    if (fcntl(socket, F_GETFL) & O_NONBLOCK) message.flags |= TRAP_NONBLOCKING;
    int patience = run->launch->is_strict ? STRICT_PATIENCE
        : trap_policy_patience(
            message.flags & TRAP_NONBLOCKING ? run->launch->patience : run->launch->blocking_patience);
    if (is_unprepared) {
        message.flags |= TRAP_UNPREPARED;
        message.deadline = (uint64_t)(trap_milliseconds() + patience) * 1000000;
        patience += message.flags & TRAP_NONBLOCKING ? GRACE : BLOCKING_GRACE;
    }
    struct trap_parked *waiting = patience > 0 ? trap_park(call->id, patience) : NULL;
    if (waiting) {
        message.sequence = waiting->sequence;
        if (message.flags & TRAP_IS_BOUND) message.interface = (uint32_t)trap_option(socket, BIND_TO_INTERFACE);
        waiting->socket = socket;
        waiting->question = message;
        waiting->is_asked = trap_ask(waiting, 0) == 0;
        if (waiting->is_asked || run->launch->is_strict) return;
        message.sequence = 0;
        // `leave_as_known` closes it.
        waiting->socket = -1;
        trap_unpark(waiting);
    }
    leave_as_known(call->id, socket, &message);
}

// Answers a parked call, whose socket is as it is to be where there is no error.
static void finish(struct trap_parked *call, int error) {
    uint64_t id = call->id;
    // First: this process is to hold the socket no longer than the call is held.
    close(call->socket);
    call->socket = -1;
    if (error) {
        trap_answer(id, error, 0);
    } else {
        trap_let_go(id);
    }
    trap_unpark(call);
}

void trap_settle_connect(struct trap_parked *call, const struct trap_message *verdict) {
    int error = verdict->error;
    uint64_t *unprepared = trap_unprepared_place(call->question.cookie);
    // Another may have come to stand there.
    if (verdict->flags & TRAP_PREPARED && *unprepared == call->question.cookie) *unprepared = 0;
    if (!error && !(call->question.flags & TRAP_IS_BOUND)) {
        int is_done = bind_to(call->socket, call->question.cookie, verdict->interface);
        if (!is_done && run->launch->is_strict) error = ENETUNREACH;
        if (verdict->flags & TRAP_MAY_KEEP) {
            struct destination *known = place_of(&call->question);
            known->family = call->question.family;
            known->scope = call->question.scope;
            known->interface = verdict->interface;
            known->generation = verdict->generation;
            memcpy(known->address, call->question.address, sizeof known->address);
        }
    }
    finish(call, error);
}

void trap_give_connect_up(struct trap_parked *call) {
    finish(call, bind_as_known(call->socket, &call->question) ? 0 : ENETUNREACH);
}

// A duplicate of a descriptor of the caller's, where it is that socket still; -1 with errno.
static int duplicate_of(pid_t thread, int number, const struct trap_message *request) {
    uint64_t cookie = request->cookie;
    if (request->inode != 0 && trap_is_another_file(thread, number, request->inode)) {
        errno = EBADF;
        return -1;
    }
    int socket = trap_duplicate(thread, number);
    if (socket < 0 || trap_socket_cookie(socket) == cookie) return socket;
    close(socket);
    errno = EBADF;
    return -1;
}

void trap_lend(const struct trap_message *request) {
    struct trap_message message = {
        .kind = TRAP_LENT, .sequence = request->sequence, .cookie = request->cookie, .descriptor = request->descriptor};
    pid_t owner = request->thread;
    int socket = duplicate_of(owner, message.descriptor, request);
    // Of a thread that has ended its process has the descriptors, as a rule.
    if (socket < 0 && errno != EBADF && request->process != 0 && (pid_t)request->process != owner) {
        owner = (pid_t)request->process;
        socket = duplicate_of(owner, message.descriptor, request);
    }
    if (socket < 0 && errno == EBADF) {
        message.descriptor = trap_find_moved(owner, request->inode);
        socket = message.descriptor < 0 ? -1 : duplicate_of(owner, message.descriptor, request);
        errno = EBADF;
    }
    if (socket < 0) message.error = errno;
    // The loans that a policy waits for it forgets when it hears that something was missed.
    if (trap_send(run->trap_end, &message, socket) != 0) trap_has_missed = 1;
    if (socket >= 0) close(socket);
}
