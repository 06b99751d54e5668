// The trap: takes held calls, one after another, and answers each. A call that has to wait for the policy is parked, and the next
// is taken. Every way out of a function that has a call in hand answers it.
#define _GNU_SOURCE
#include "trap_internal.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

enum {
    // Sockets of one family that are kept ready.
    RESERVE = 32,
    // Processes whose pidfds are kept.
    PROCESSES = 64,
    // Destinations whose interface is kept.
    DESTINATIONS = 32,
    // Milliseconds that the first sockets wait for a policy that is just beginning.
    BEGINNING_PATIENCE = 1500,
    // Milliseconds that a connect waits for the policy where paths are prohibited: it may have to be started again.
    STRICT_PATIENCE = 2000,
    BIND_TO_INTERFACE = 62,  // SO_BINDTOIFINDEX
    // Of a process's descriptors, where a socket is looked for that was moved.
    DESCRIPTORS_SEARCHED = 256,
    // Milliseconds from one search to the next: a program that makes and closes thousands has moved none of them, as a rule.
    SEARCH_PAUSE = 2,
    // Milliseconds that a connect waits for more than its patience where its socket is being prepared: what is begun in time may end
    // later, and would disconnect a connection. Of a socket that does not block, and of one that does.
    GRACE = 100,
    BLOCKING_GRACE = 1000,
};

struct parked {
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

struct reserve {
    int count;
    int sockets[RESERVE];
    uint64_t cookies[RESERVE];
    int unprepared[RESERVE];
};

struct destination {
    uint16_t family;
    uint8_t address[16];
    uint32_t scope, interface, generation;
};

// One trap is one process, so its state is the process's.
static struct trap_run *run;
static struct trap_page *page;
static struct parked parked[TRAP_SLOTS];
static int parked_count;
static struct reserve reserves[2];
static struct {
    pid_t thread;
    int descriptor;
} processes[PROCESSES];
static struct destination destinations[DESTINATIONS];
// As /proc/self/ns/net reads; empty where that can't be read.
static char own_namespace[64];
static uid_t own_user;
static gid_t own_group;
static int64_t began;

static int64_t milliseconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

// MARK: Answers

static void answer(uint64_t id, int error, uint32_t flags) {
    struct trap_response response = {.id = id, .error = -error, .flags = flags};
    // ENOENT: the caller was killed meanwhile.
    while (ioctl(run->listener, TRAP_IOCTL_ANSWER, &response) != 0 && errno == EINTR) {}
}

// Has the kernel carry the call out as if there was no filter.
static void let_go(uint64_t id) { answer(id, 0, TRAP_ANSWER_CONTINUE); }

static int is_valid(uint64_t id) { return ioctl(run->listener, TRAP_IOCTL_IS_VALID, &id) == 0; }

// Whether the policy has missed something: it is told then that there is nothing in reserve.
static int has_missed;

static void tell(const struct trap_message *message) {
    if (trap_send(run->trap_end, message, -1) == 0) return;
    has_missed = 1;
    // Those that are about a call, each once: what says that a trap has begun is told until it is heard.
    int is_call = message->kind != TRAP_BEGAN && message->kind != TRAP_OVER && !(message->flags & TRAP_REPEATED);
    if (is_call) atomic_fetch_add(&page->missed, 1);
}

static void tell_plain(pid_t thread, uint16_t family, int reason) {
    struct trap_message message = {
        .kind = TRAP_SOCKET_PLAIN, .thread = thread, .family = family, .error = reason, .descriptor = -1};
    tell(&message);
}

// MARK: The calling process

static int name_process_file(char path[48], pid_t thread, const char *file) {
    return snprintf(path, 48, "/proc/%d%s", thread, file);
}

// Whether a socket of this process's would be one of the caller's network namespace. A caller that can't be looked at may be
// anywhere.
static int shares_network(pid_t thread) {
    char path[48], namespace[64];
    name_process_file(path, thread, "/ns/net");
    // A third of what stat(2) takes of it.
    ssize_t length = thread > 0 ? readlink(path, namespace, sizeof namespace) : -1;
    return length > 0 && (size_t)length == strlen(own_namespace) && memcmp(namespace, own_namespace, (size_t)length) == 0;
}

// A socket belongs to the user that made it, which firewalls and routing rules look at. Only root's children can be another's.
static void give_to_caller(int socket, pid_t thread) {
    if (own_user != 0) return;
    char path[48];
    struct stat caller;
    name_process_file(path, thread, "");
    if (stat(path, &caller) != 0) return;
    if (caller.st_uid != own_user || caller.st_gid != own_group) (void)!fchown(socket, caller.st_uid, caller.st_gid);
}

static int is_excluded(pid_t thread) {
    char *const *patterns = run->launch->tcp_programs;
    if (!patterns || !*patterns) return 0;
    char path[48], program[4096];
    name_process_file(path, thread, "/exe");
    ssize_t length = readlink(path, program, sizeof program - 1);
    if (length <= 0) return 0;
    program[length] = 0;
    const char *slash = strrchr(program, '/');
    for (; *patterns; patterns++) {
        // A pattern with a slash is about the whole path.
        const char *subject = strchr(*patterns, '/') || !slash ? program : slash + 1;
        if (fnmatch(*patterns, subject, 0) == 0) return 1;
    }
    return 0;
}

static pid_t process_of(pid_t thread) {
    char path[48], text[1024];
    name_process_file(path, thread, "/status");
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) return -1;
    ssize_t length = read(file, text, sizeof text - 1);
    close(file);
    if (length <= 0) return -1;
    text[length] = 0;
    const char *line = strstr(text, "\nTgid:");
    return line ? (pid_t)atoi(line + 6) : -1;
}

static int open_thread(pid_t thread) {
    int descriptor = (int)syscall(SYS_pidfd_open, thread, TRAP_PIDFD_THREAD);
    if (descriptor >= 0 || errno != EINVAL) return descriptor;
    // Before Linux 6.9 only a process has one. Its threads share their descriptors, as a rule; the cookie tells.
    pid_t process = process_of(thread);
    return process > 0 ? (int)syscall(SYS_pidfd_open, process, 0) : -1;
}

// A duplicate of a descriptor of the caller's.
static int duplicate(pid_t thread, int number) {
    int place = thread % PROCESSES;
    for (int attempt = 0; attempt < 2; attempt++) {
        if (processes[place].thread != thread) {
            if (processes[place].thread > 0) close(processes[place].descriptor);
            processes[place].thread = 0;
            int descriptor = open_thread(thread);
            if (descriptor < 0) return -1;
            processes[place].thread = thread;
            processes[place].descriptor = descriptor;
        }
        int copy = (int)syscall(SYS_pidfd_getfd, processes[place].descriptor, number, 0);
        if (copy >= 0 || errno != ESRCH) return copy;
        // Of a thread that has ended; another one has its number by now, maybe.
        close(processes[place].descriptor);
        processes[place].thread = 0;
    }
    return -1;
}

// The number under which a process has a file now: dup2(2) and fcntl(2) move sockets, as shells do. -1 for none.
static int find_moved(pid_t thread, uint64_t inode) {
    static int64_t last;
    int64_t now = milliseconds();
    if (inode == 0 || now - last < SEARCH_PAUSE) return -1;
    last = now;
    char path[48];
    name_process_file(path, thread, "/fd");
    DIR *folder = opendir(path);
    if (!folder) return -1;
    int number = -1;
    // Calls are waiting meanwhile.
    for (int count = 0; number < 0 && count < DESCRIPTORS_SEARCHED; count++) {
        const struct dirent *entry = readdir(folder);
        if (!entry) break;
        struct stat file;
        if (fstatat(dirfd(folder), entry->d_name, &file, 0) != 0) continue;
        if (S_ISSOCK(file.st_mode) && file.st_ino == inode) number = atoi(entry->d_name);
    }
    closedir(folder);
    return number;
}

// MARK: Parked calls

static struct parked *park(uint64_t id, int patience) {
    if (parked_count == TRAP_SLOTS) return NULL;
    for (int slot = 0; slot < TRAP_SLOTS; slot++) {
        if (parked[slot].id != 0) continue;
        parked_count++;
        // The lower bits name the slot, and no answer to a question of long ago, or of a trap before, has the rest.
        uint32_t sequence = atomic_fetch_add(&page->sequence, TRAP_SLOTS) + TRAP_SLOTS;
        if (sequence == 0) sequence = atomic_fetch_add(&page->sequence, TRAP_SLOTS) + TRAP_SLOTS;
        parked[slot] = (struct parked){
            .id = id, .sequence = sequence | (uint32_t)slot, .deadline = milliseconds() + patience, .socket = -1};
        atomic_store(&page->waiting_connects[slot], page->in_hand.call.nr == __NR_connect);
        atomic_store(&page->waiting[slot], id);
        return &parked[slot];
    }
    return NULL;
}

static struct parked *find_parked(uint32_t sequence) {
    struct parked *call = &parked[sequence % TRAP_SLOTS];
    return call->id != 0 && call->sequence == sequence ? call : NULL;
}

// Its call has been answered.
static void unpark(struct parked *call) {
    if (call->socket >= 0) close(call->socket);
    call->id = 0;
    atomic_store(&page->waiting[call - parked], 0);
    parked_count--;
}

// MARK: socket(2)

static uint64_t *unprepared_place(uint64_t cookie) { return &page->unprepared[cookie % TRAP_BINDINGS_KEPT]; }

// Puts a socket into the caller, and answers its call with the number. It is closed here, whatever comes of it.
//
// Two steps, although the kernel has one for both (SECCOMP_ADDFD_FLAG_SEND): that one counts as answered before the caller has the
// socket, and where this process is killed in between the caller's call returns 0, which is no socket (kernel/seccomp.c,
// seccomp_notify_addfd, Linux 6.18). Here the caller has a socket more than it knows of then. Before Linux 5.19 a signal would do the
// same between the two steps, and each one of a storm: there it is one step.
static void inject(
    uint64_t id, pid_t thread, uint16_t family, int type, int socket, uint64_t cookie, int is_unprepared) {
    if (type & SOCK_NONBLOCK) fcntl(socket, F_SETFL, O_RDWR | O_NONBLOCK);
    give_to_caller(socket, thread);
    if (is_unprepared) *unprepared_place(cookie) = cookie;
    struct trap_injection injection = {
        .id = id, .source = (uint32_t)socket, .number_flags = type & SOCK_CLOEXEC ? O_CLOEXEC : 0};
    if (page->is_interruptible) injection.flags = TRAP_INJECTION_ANSWERS;
    int number = ioctl(run->listener, TRAP_IOCTL_INJECT, &injection);
    if (number >= 0) {
        struct trap_response response = {.id = id, .value = number};
        while (!injection.flags && ioctl(run->listener, TRAP_IOCTL_ANSWER, &response) != 0 && errno == EINTR) {}
    } else {
        // EMFILE is the caller's own limit, and its own call fails by it just so. ENOENT: the caller was killed.
        let_go(id);
        close(socket);
        return tell_plain(thread, family, TRAP_NOT_INJECTED);
    }
    close(socket);
    struct trap_message message = {
        .kind = TRAP_SOCKET_GIVEN, .thread = thread, .descriptor = number, .cookie = cookie, .family = family};
    tell(&message);
}

// A socket as the kernel makes it for MPTCP.
static void inject_own(uint64_t id, pid_t thread, uint16_t family, int type) {
    if (run->launch->is_strict) {
        let_go(id);
        return tell_plain(thread, family, TRAP_UNSTEERED);
    }
    int made = socket(family, SOCK_STREAM | SOCK_CLOEXEC, TRAP_PROTOCOL_MPTCP);
    if (made < 0) {
        let_go(id);
        return tell_plain(thread, family, TRAP_NO_MPTCP);
    }
    inject(id, thread, family, type, made, trap_socket_cookie(made), 1);
}

// How long a call may wait for the policy, in milliseconds: where it is just beginning, until it is ready; not at all where it is
// gone.
static int policy_patience(int usual) {
    if (atomic_load(&page->policy_is_ready)) return usual;
    int64_t since = milliseconds() - began;
    return since < BEGINNING_PATIENCE ? (int)(BEGINNING_PATIENCE - since) : 0;
}

static void take_socket(const struct trap_notification *call) {
    pid_t thread = (pid_t)call->pid;
    uint16_t family = (uint16_t)call->call.args[0];
    int type = (int)call->call.args[1];
    int reason = shares_network(thread) ? is_excluded(thread) ? TRAP_EXCLUDED_PROGRAM : 0 : TRAP_OTHER_NAMESPACE;
    if (reason) {
        let_go(call->id);
        return tell_plain(thread, family, reason);
    }
    struct reserve *reserve = &reserves[family == AF_INET6];
    if (reserve->count > 0) {
        int place = --reserve->count;
        return inject(
            call->id, thread, family, type, reserve->sockets[place], reserve->cookies[place], reserve->unprepared[place]);
    }
    int patience = policy_patience(run->launch->patience);
    if (patience > 0) {
        struct parked *waiting = park(call->id, patience);
        if (waiting) {
            waiting->type = type;
            waiting->question = (struct trap_message){
                .kind = TRAP_SOCKET_WANTED, .sequence = waiting->sequence, .thread = thread, .family = family};
            waiting->is_asked = 1;
            if (trap_send(run->trap_end, &waiting->question, -1) == 0) return;
            unpark(waiting);
        }
    }
    inject_own(call->id, thread, family, type);
}

// MARK: connect(2)

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

static int option(int socket, int name) {
    int value = 0;
    socklen_t length = sizeof value;
    return getsockopt(socket, SOL_SOCKET, name, &value, &length) == 0 ? value : -1;
}

static struct trap_binding *binding_of(uint64_t cookie) { return &page->bindings[cookie % TRAP_BINDINGS_KEPT]; }

// A socket that is neither connected nor connecting says that it has hung up.
static int is_closed(int socket) {
    struct pollfd state = {socket, 0, 0};
    return poll(&state, 1, 0) == 1 && state.revents & POLLHUP;
}

// Takes back what a trap has bound a socket to for a connection that has come to nothing: this one may lead elsewhere.
static void unbind(int socket, uint64_t cookie, int interface) {
    const struct trap_binding *known = binding_of(cookie);
    if (known->cookie != cookie || known->interface != (uint32_t)interface || !is_closed(socket)) return;
    setsockopt(socket, SOL_SOCKET, BIND_TO_INTERFACE, &(int){0}, sizeof(int));
}

// Whether the program itself has chosen from where it connects, or is connecting already.
static int is_bound(int socket, uint64_t cookie, uint8_t address[16]) {
    union destination_address own;
    socklen_t length = sizeof own;
    memset(&own, 0, sizeof own);
    int interface = option(socket, BIND_TO_INTERFACE);
    if (interface > 0) {
        unbind(socket, cookie, interface);
        if (option(socket, BIND_TO_INTERFACE) > 0) return 1;
    }
    // A mark chooses among routing rules (wg-quick(8), VPNs): the interface is for them to say.
    if (option(socket, SO_MARK) > 0 && !run->launch->is_strict) return 1;
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

static void repeat_connects(void) {
    uint32_t count = atomic_load(&page->connect_count);
    for (uint32_t place = count > TRAP_CONNECTS_KEPT ? count - TRAP_CONNECTS_KEPT : 0; place < count; place++) {
        tell(&page->connects[place % TRAP_CONNECTS_KEPT]);
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

// Where paths are prohibited a call that may lead anywhere is refused; where it can't come to anything the kernel says so.
static void leave_unexamined(uint64_t id, pid_t thread, int error) {
    if (run->launch->is_strict && error != EFAULT && error != ESRCH) {
        answer(id, ENETUNREACH, 0);
    } else {
        let_go(id);
    }
    struct trap_message message = {
        .kind = TRAP_UNEXAMINED, .thread = thread, .error = error, .descriptor = -1};
    tell(&message);
}

// Sends a parked call's question: 0, or an errno. A socket that is to be prepared goes with it.
static int ask(struct parked *call, uint32_t flags) {
    struct trap_message question = call->question;
    question.flags |= flags;
    return trap_send(run->trap_end, &question, question.flags & TRAP_UNPREPARED ? call->socket : -1);
}

static void take_connect(const struct trap_notification *call) {
    pid_t thread = (pid_t)call->pid;
    union destination_address address;
    size_t length = call->call.args[2] < sizeof address ? (size_t)call->call.args[2] : sizeof address;
    memset(&address, 0, sizeof address);
    struct iovec to = {&address, length}, from = {(void *)(uintptr_t)call->call.args[1], length};
    if (length < sizeof(sa_family_t) || thread <= 0) return let_go(call->id);
    // The address may be another by the time the kernel reads it: that is why nothing here grants the program anything.
    if (process_vm_readv(thread, &to, 1, &from, 1, 0) < (ssize_t)sizeof(sa_family_t)) {
        return leave_unexamined(call->id, thread, errno);
    }
    struct trap_message message = {.kind = TRAP_CONNECTS, .thread = thread, .descriptor = (int)call->call.args[0]};
    if (!read_destination(&address, length, &message)) return let_go(call->id);
    int socket = duplicate(thread, message.descriptor);
    if (socket < 0) {
        if (errno == EBADF) return let_go(call->id);
        return leave_unexamined(call->id, thread, errno);
    }
    int protocol = option(socket, SO_PROTOCOL);
    // A raw socket may have TCP's number, too.
    if (protocol == IPPROTO_TCP && option(socket, SO_TYPE) != SOCK_STREAM) protocol = -1;
    // The thread that called may be gone, and what was read another's.
    if ((protocol != IPPROTO_TCP && protocol != TRAP_PROTOCOL_MPTCP) || !is_valid(call->id)) {
        close(socket);
        return let_go(call->id);
    }
    message.cookie = trap_socket_cookie(socket);
    message.inode = inode_of(socket);
    if (protocol == TRAP_PROTOCOL_MPTCP) message.flags |= TRAP_IS_MPTCP;
    int is_unprepared = protocol == TRAP_PROTOCOL_MPTCP && *unprepared_place(message.cookie) == message.cookie
        && is_closed(socket) && atomic_load(&page->policy_is_ready);
    if (is_bound(socket, message.cookie, message.own)) message.flags |= TRAP_IS_BOUND;
    const struct destination *known = place_of(&message);
    remember(&message);
    int is_decided = message.flags & TRAP_IS_BOUND ? !run->launch->is_strict : is_known(known, &message);
    if (is_decided && !is_unprepared) {
        if (!(message.flags & TRAP_IS_BOUND)) {
            message.interface = known->interface;
            if (!bind_to(socket, message.cookie, known->interface) && run->launch->is_strict) {
                close(socket);
                return answer(call->id, ENETUNREACH, 0);
            }
        }
    } else {
        if (fcntl(socket, F_GETFL) & O_NONBLOCK) message.flags |= TRAP_NONBLOCKING;
        int patience = run->launch->is_strict ? STRICT_PATIENCE
            : policy_patience(
                message.flags & TRAP_NONBLOCKING ? run->launch->patience : run->launch->blocking_patience);
        if (is_unprepared) {
            message.flags |= TRAP_UNPREPARED;
            message.deadline = (uint64_t)(milliseconds() + patience) * 1000000;
            patience += message.flags & TRAP_NONBLOCKING ? GRACE : BLOCKING_GRACE;
        }
        struct parked *waiting = patience > 0 ? park(call->id, patience) : NULL;
        if (waiting) {
            message.sequence = waiting->sequence;
            if (message.flags & TRAP_IS_BOUND) message.interface = (uint32_t)option(socket, BIND_TO_INTERFACE);
            waiting->socket = socket;
            waiting->question = message;
            waiting->is_asked = ask(waiting, 0) == 0;
            if (waiting->is_asked || run->launch->is_strict) return;
            message.sequence = 0;
            message.flags &= ~(uint32_t)TRAP_UNPREPARED;
            // `unpark` closes the duplicate.
            unpark(waiting);
            let_go(call->id);
            return tell(&message);
        }
        if (run->launch->is_strict) {
            close(socket);
            return answer(call->id, ENETUNREACH, 0);
        }
    }
    close(socket);
    let_go(call->id);
    tell(&message);
}

static void settle_connect(struct parked *call, const struct trap_message *verdict) {
    uint64_t id = call->id;
    int error = verdict->error;
    if (verdict->flags & TRAP_PREPARED) *unprepared_place(call->question.cookie) = 0;
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
    // First: this process is to hold the socket no longer than the call is held.
    close(call->socket);
    call->socket = -1;
    if (error) {
        answer(id, error, 0);
    } else {
        let_go(id);
    }
    unpark(call);
}

// The policy has not answered in time.
static void give_up(struct parked *call) {
    if (call->socket >= 0) {
        struct trap_message verdict = {.error = run->launch->is_strict ? ENETUNREACH : 0};
        return settle_connect(call, &verdict);
    }
    inject_own(call->id, call->question.thread, call->question.family, call->type);
    unpark(call);
}

// A duplicate of a descriptor of the caller's, where it is that socket still; -1 with errno.
static int duplicate_of(pid_t thread, int number, uint64_t cookie) {
    int socket = duplicate(thread, number);
    if (socket < 0 || trap_socket_cookie(socket) == cookie) return socket;
    close(socket);
    errno = EBADF;
    return -1;
}

static void lend(const struct trap_message *request) {
    struct trap_message message = {
        .kind = TRAP_LENT, .sequence = request->sequence, .cookie = request->cookie, .descriptor = request->descriptor};
    pid_t owner = request->thread;
    int socket = duplicate_of(owner, message.descriptor, request->cookie);
    // Of a thread that has ended its process has the descriptors, as a rule.
    if (socket < 0 && errno != EBADF && request->process != 0 && (pid_t)request->process != owner) {
        owner = (pid_t)request->process;
        socket = duplicate_of(owner, message.descriptor, request->cookie);
    }
    if (socket < 0 && errno == EBADF) {
        message.descriptor = find_moved(owner, request->inode);
        socket = message.descriptor < 0 ? -1 : duplicate_of(owner, message.descriptor, request->cookie);
        errno = EBADF;
    }
    if (socket < 0) message.error = errno;
    // The loans that a policy waits for it forgets when it hears that something was missed.
    if (trap_send(run->trap_end, &message, socket) != 0) has_missed = 1;
    if (socket >= 0) close(socket);
}

// MARK: setsockopt(2)

// MPTCP sockets lack some of TCP's options. Those that are trapped wish for more or less of something, and no program can tell
// whether it gets it: so where the kernel would refuse one the call succeeds, without an effect, for a program that takes the
// refusal for a failure. All others are refused as they are.
static void take_option(const struct trap_notification *call) {
    pid_t thread = (pid_t)call->pid;
    int level = (int)call->call.args[1], name = (int)call->call.args[2];
    // What the kernel would refuse of any socket is left to it.
    if (call->call.args[3] == 0 || (int)call->call.args[4] < (int)sizeof(int)) return let_go(call->id);
    int socket = duplicate(thread, (int)call->call.args[0]);
    if (socket < 0) return let_go(call->id);
    int value = 0;
    socklen_t length = sizeof value;
    // One that has fallen back to TCP has them all.
    int is_lacking = option(socket, SO_PROTOCOL) == TRAP_PROTOCOL_MPTCP
        && (name == SO_MAX_PACING_RATE && level == SOL_SOCKET
                ? setsockopt(socket, level, name, &(int){-1}, sizeof(int)) != 0
                : getsockopt(socket, level, name, &value, &length) != 0)
        && (errno == EOPNOTSUPP || errno == ENOPROTOOPT);
    uint64_t cookie = is_lacking ? trap_socket_cookie(socket) : 0;
    close(socket);
    if (!is_lacking || !is_valid(call->id)) return let_go(call->id);
    answer(call->id, 0, 0);
    struct trap_message message = {
        .kind = TRAP_OPTION, .thread = thread, .descriptor = (int)call->call.args[0], .cookie = cookie,
        .flags = TRAP_TAKEN, .family = (uint16_t)level, .port = (uint16_t)name};
    tell(&message);
}

// MARK: The policy's messages

static void close_reserve(void) {
    for (int family = 0; family < 2; family++) {
        while (reserves[family].count > 0) close(reserves[family].sockets[--reserves[family].count]);
    }
}

static void ask_again(int all);

static void take_message(const struct trap_message *message, int passed) {
    struct parked *call = message->sequence ? find_parked(message->sequence) : NULL;
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
            return unpark(call);
        }
        if (message->error) {
            let_go(call->id);
            tell_plain(call->question.thread, call->question.family, message->error);
            return unpark(call);
        }
        return give_up(call);
    case TRAP_VERDICT:
        if (call && call->socket >= 0) settle_connect(call, message);
        break;
    case TRAP_BORROW: lend(message); break;
    case TRAP_POLICY_BEGAN:
        repeat_connects();
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
        take_connect(call);
    } else if (call->call.nr == __NR_setsockopt) {
        take_option(call);
    } else {
        let_go(call->id);
    }
    // What is parked is in the list of those that wait.
    *(volatile uint64_t *)&call->id = 0;
}

static int next_timeout(void) {
    if (parked_count == 0) return -1;
    int64_t first = INT64_MAX;
    for (int slot = 0; slot < TRAP_SLOTS; slot++) {
        if (parked[slot].id != 0 && parked[slot].deadline < first) first = parked[slot].deadline;
    }
    int64_t left = first - milliseconds();
    // A question that found no room is asked again soon.
    return left < 0 ? 0 : left > 20 ? 20 : (int)left;
}

static void ask_again(int all) {
    for (int slot = 0; slot < TRAP_SLOTS; slot++) {
        struct parked *call = &parked[slot];
        if (call->id == 0 || (call->is_asked && !all)) continue;
        call->is_asked = ask(call, all ? TRAP_REPEATED : 0) == 0;
    }
}

static void give_up_late_ones(void) {
    int64_t now = milliseconds();
    for (int slot = 0; slot < TRAP_SLOTS; slot++) {
        if (parked[slot].id != 0 && parked[slot].deadline <= now) give_up(&parked[slot]);
    }
}

static void find_own_namespace(void) {
    ssize_t length = readlink("/proc/self/ns/net", own_namespace, sizeof own_namespace - 1);
    own_namespace[length < 0 ? 0 : length] = 0;
    own_user = geteuid();
    own_group = getegid();
}

_Noreturn void trap_serve(struct trap_run *own_run) {
    run = own_run;
    page = run->page;
    began = milliseconds();
    find_own_namespace();
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
    tell(&message);
    trap_note_children(run);
    for (;;) {
        struct pollfd events[] = {
            {parked_count == TRAP_SLOTS ? -1 : run->listener, POLLIN, 0}, {run->trap_end, POLLIN, 0}, {signals, POLLIN, 0}, {guard, POLLIN, 0}};
        if (poll(events, 4, next_timeout()) < 0) continue;
        if (events[0].revents & POLLIN) {
            take_call();
        } else if (events[0].revents) {
            // No process has the filter any more.
            break;
        }
        if (events[1].revents & POLLIN) take_messages();
        if (has_missed) {
            struct trap_message again = {.kind = TRAP_BEGAN};
            has_missed = 0;
            close_reserve();
            tell(&again);
        }
        if (parked_count > 0) {
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
    tell(&message);
    trap_poke(run);
    _exit(0);
}
