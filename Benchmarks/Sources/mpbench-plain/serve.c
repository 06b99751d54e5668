// One thread and epoll: the same server for every contender, and quick enough not to be what is measured.
#define _GNU_SOURCE
#include "plain.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

struct peer {
    int socket;
    /// 0 for one that accepts.
    int service;
    int listens_for;
    /// Bytes taken by the sink, or left to send by the source.
    uint64_t count;
    char line[24];
    size_t length;
};

static char block[BLOCK];
static int poller;

static void watch(struct peer *peer, uint32_t events, int operation) {
    struct epoll_event event = {.events = events, .data.ptr = peer};
    if (epoll_ctl(poller, operation, peer->socket, &event) != 0) fail("epoll_ctl");
}

static void end(struct peer *peer) {
    close(peer->socket);
    free(peer);
}

static void listen_on(int service) {
    struct peer *peer = calloc(1, sizeof *peer);
    // A peer that asks for plain TCP gets it from the same socket.
    *peer = (struct peer){.socket = make_socket(1, SOCK_NONBLOCK), .listens_for = service};
    int on = 1;
    setsockopt(peer->socket, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)service)};
    if (bind(peer->socket, (struct sockaddr *)&address, sizeof address) != 0) fail("bind");
    if (listen(peer->socket, 4096) != 0) fail("listen");
    watch(peer, EPOLLIN, EPOLL_CTL_ADD);
}

static void take_in(struct peer *listener) {
    int accepted;
    while ((accepted = accept4(listener->socket, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0) {
        struct peer *peer = calloc(1, sizeof *peer);
        *peer = (struct peer){.socket = accepted, .service = listener->listens_for};
        watch(peer, EPOLLIN, EPOLL_CTL_ADD);
    }
    if (errno != EAGAIN && errno != ECONNABORTED) fail("accept");
}

/// Returns 0 when the connection is over; so do the other two.
static int echo(struct peer *peer) {
    ssize_t count = read(peer->socket, block, sizeof block);
    if (count < 0) return errno == EAGAIN;
    // Questions are small, and there is always room for their answers.
    return count > 0 && write(peer->socket, block, (size_t)count) == count;
}

static int sink(struct peer *peer) {
    ssize_t count = read(peer->socket, block, sizeof block);
    if (count < 0) return errno == EAGAIN;
    peer->count += (uint64_t)count;
    if (count > 0) return 1;
    if (write(peer->socket, &peer->count, sizeof peer->count) < 0) return 0;
    return 0;
}

static int source(struct peer *peer, uint32_t events) {
    if ((events & EPOLLIN) && peer->count == 0) {
        ssize_t count = read(peer->socket, peer->line + peer->length, sizeof peer->line - 1 - peer->length);
        if (count < 0) return errno == EAGAIN;
        if (count == 0) return 0;
        peer->length += (size_t)count;
        if (memchr(peer->line, '\n', peer->length) == NULL) return peer->length < sizeof peer->line - 1;
        peer->count = strtoull(peer->line, NULL, 10);
        watch(peer, EPOLLOUT, EPOLL_CTL_MOD);
    }
    while (peer->count > 0) {
        size_t size = peer->count < sizeof block ? (size_t)peer->count : sizeof block;
        ssize_t count = write(peer->socket, block, size);
        if (count < 0) return errno == EAGAIN;
        peer->count -= (uint64_t)count;
    }
    return 0;
}

void serve(void) {
    struct rlimit limit;
    getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
    poller = epoll_create1(EPOLL_CLOEXEC);
    if (poller < 0) fail("epoll_create1");
    listen_on(PORT_ECHO);
    listen_on(PORT_SINK);
    listen_on(PORT_SOURCE);
    struct epoll_event events[256];
    for (;;) {
        int ready = epoll_wait(poller, events, 256, -1);
        if (ready < 0 && errno != EINTR) fail("epoll_wait");
        for (int each = 0; each < ready; each++) {
            struct peer *peer = events[each].data.ptr;
            int goes_on = 1;
            switch (peer->service) {
            case PORT_ECHO: goes_on = echo(peer); break;
            case PORT_SINK: goes_on = sink(peer); break;
            case PORT_SOURCE: goes_on = source(peer, events[each].events); break;
            default: take_in(peer);
            }
            if (!goes_on) end(peer);
        }
    }
}
