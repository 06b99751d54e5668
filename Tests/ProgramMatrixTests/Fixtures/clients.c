// Programs that use sockets in every way that programs do: clients WAY ADDRESS. Each asks the server at port 8000 for /file and
// prints what it says, without the head.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/io_uring.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static struct sockaddr_storage address;
static socklen_t length;

static void fail(const char *what) {
    perror(what);
    exit(9);
}

static int make(int flags) {
    int s = socket(address.ss_family, SOCK_STREAM | flags, 0);
    if (s < 0) fail("socket");
    return s;
}

static void check(int result, const char *what) {
    if (result < 0 && errno != EINPROGRESS) fail(what);
}

// Asks on a connected socket, waiting for it where it does not block.
static size_t ask(int s, char *body, size_t room) {
    static const char request[] = "GET /file HTTP/1.0\r\n\r\n";
    struct pollfd p = {s, POLLOUT, 0};
    poll(&p, 1, 10000);
    if (write(s, request, sizeof request - 1) != sizeof request - 1) fail("write");
    size_t count = 0;
    for (;;) {
        p.events = POLLIN;
        if (poll(&p, 1, 10000) != 1) fail("poll");
        ssize_t n = read(s, body + count, room - count);
        if (n < 0 && errno == EAGAIN) continue;
        if (n < 0) fail("read");
        if (n == 0) break;
        count += n;
    }
    char *start = memmem(body, count, "\r\n\r\n", 4);
    if (!start) fail("no head");
    count -= start + 4 - body;
    memmove(body, start + 4, count);
    return count;
}

static void print(int s) {
    static char body[1 << 20];
    fwrite(body, 1, ask(s, body, sizeof body), stdout);
    close(s);
}

static void blocking(void) {
    int s = make(0);
    check(connect(s, (void *)&address, length), "connect");
    print(s);
}

static void nonblocking(void) {
    int s = make(SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (!(fcntl(s, F_GETFL) & O_NONBLOCK) || !(fcntl(s, F_GETFD) & FD_CLOEXEC)) fail("flags");
    check(connect(s, (void *)&address, length), "connect");
    struct pollfd p = {s, POLLOUT, 0};
    poll(&p, 1, 10000);
    int error = 0;
    socklen_t size = sizeof error;
    getsockopt(s, SOL_SOCKET, SO_ERROR, &error, &size);
    if (error) fail("SO_ERROR");
    print(s);
}

// As Boost.Asio does.
static void epoll_first(void) {
    int e = epoll_create1(0), s = make(SOCK_NONBLOCK);
    struct epoll_event event = {EPOLLOUT | EPOLLET, {.fd = s}};
    epoll_ctl(e, EPOLL_CTL_ADD, s, &event);
    epoll_wait(e, &event, 1, 0);
    check(connect(s, (void *)&address, length), "connect");
    if (epoll_wait(e, &event, 1, 10000) != 1) fail("epoll is not told");
    print(s);
}

static void duplicate(void) {
    int s = make(0), d = dup(s), f = fcntl(s, F_DUPFD_CLOEXEC, 100);
    check(connect(d, (void *)&address, length), "connect");
    close(d);
    struct sockaddr_storage peer;
    socklen_t size = sizeof peer;
    if (getpeername(f, (void *)&peer, &size)) fail("the duplicate is not connected");
    close(f);
    print(s);
}

static void *one(void *unused) {
    char *body = malloc(1 << 16);
    for (int i = 0; i < 4; i++) {
        int s = make(SOCK_CLOEXEC);
        check(connect(s, (void *)&address, length), "connect");
        if (ask(s, body, 1 << 16) < 1000) fail("short");
        close(s);
    }
    free(body);
    return unused;
}

static void threads(void) {
    pthread_t all[32];
    for (int i = 0; i < 32; i++) pthread_create(&all[i], 0, one, 0);
    for (int i = 0; i < 32; i++) pthread_join(all[i], 0);
    blocking();
}

// The socket is passed to a child that execs nothing, and the parent closes it first.
static void child(void) {
    int s = make(0);
    check(connect(s, (void *)&address, length), "connect");
    pid_t p = fork();
    if (p == 0) {
        print(s);
        fflush(stdout);
        _exit(0);
    }
    close(s);
    int status;
    waitpid(p, &status, 0);
    if (status) exit(8);
}

static int ring_call(unsigned char opcode, int fd, unsigned long addr, unsigned long off, unsigned len) {
    struct io_uring_params p = {0};
    int r = syscall(SYS_io_uring_setup, 4, &p);
    if (r < 0) fail("io_uring_setup");
    char *sq = mmap(0, p.sq_off.array + p.sq_entries * 4, 3, MAP_SHARED, r, IORING_OFF_SQ_RING);
    char *cq = mmap(0, p.cq_off.cqes + p.cq_entries * sizeof(struct io_uring_cqe), 3, MAP_SHARED, r, IORING_OFF_CQ_RING);
    struct io_uring_sqe *e = mmap(0, p.sq_entries * sizeof *e, 3, MAP_SHARED, r, IORING_OFF_SQES);
    if (sq == MAP_FAILED || cq == MAP_FAILED || e == MAP_FAILED) fail("mmap");
    memset(e, 0, sizeof *e);
    e->opcode = opcode, e->fd = fd, e->addr = addr, e->off = off, e->len = len;
    ((unsigned *)(sq + p.sq_off.array))[0] = 0;
    (*(unsigned *)(sq + p.sq_off.tail))++;
    if (syscall(SYS_io_uring_enter, r, 1, 1, IORING_ENTER_GETEVENTS, 0, 0) < 0) fail("io_uring_enter");
    int result = ((struct io_uring_cqe *)(cq + p.cq_off.cqes))[0].res;
    close(r);
    return result;
}

// A socket of socket(2), connected by a ring (IORING_OP_CONNECT): no call that a filter sees.
static void uring(void) {
    int s = make(0), result = ring_call(IORING_OP_CONNECT, s, (unsigned long)&address, length, 0);
    if (result < 0) {
        errno = -result;
        fail("connect by io_uring");
    }
    print(s);
}

// One that a ring has made (IORING_OP_SOCKET, Linux 5.19).
static void uring_socket(void) {
    int s = ring_call(45, address.ss_family, 0, SOCK_STREAM, 0);
    if (s < 0) {
        errno = -s;
        fail("socket by io_uring");
    }
    check(connect(s, (void *)&address, length), "connect");
    print(s);
}

int main(int count, char **arguments) {
    static const struct { const char *name; void (*run)(void); } ways[] = {
        {"blocking", blocking}, {"nonblocking", nonblocking}, {"epoll-first", epoll_first}, {"dup", duplicate},
        {"threads", threads}, {"child", child}, {"uring", uring}, {"uring-socket", uring_socket},
    };
    if (count != 3) return 2;
    struct sockaddr_in *four = (void *)&address;
    struct sockaddr_in6 *six = (void *)&address;
    if (inet_pton(AF_INET, arguments[2], &four->sin_addr) == 1) {
        four->sin_family = AF_INET, four->sin_port = htons(8000), length = sizeof *four;
    } else if (inet_pton(AF_INET6, arguments[2], &six->sin6_addr) == 1) {
        six->sin6_family = AF_INET6, six->sin6_port = htons(8000), length = sizeof *six;
    }
    for (unsigned i = 0; i < sizeof ways / sizeof *ways; i++)
        if (!strcmp(ways[i].name, arguments[1])) {
            ways[i].run();
            return 0;
        }
    return 2;
}
