// Connects and closes again and again, with so many connections on their way at once.
#define _GNU_SOURCE
#include "plain.h"

#include <errno.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

void connect_many(int is_mptcp, struct sockaddr_in address, int count, int at_once) {
    int poller = epoll_create1(EPOLL_CLOEXEC);
    if (poller < 0) fail("epoll_create1");
    double begun = seconds_now(), cpu = seconds_of_cpu();
    int started = 0, done = 0;
    struct epoll_event events[64];
    while (done < count) {
        while (started < count && started - done < at_once) {
            int made = make_socket(is_mptcp, SOCK_NONBLOCK);
            if (connect(made, (struct sockaddr *)&address, sizeof address) != 0 && errno != EINPROGRESS)
                fail("connect");
            struct epoll_event event = {.events = EPOLLOUT, .data.fd = made};
            if (epoll_ctl(poller, EPOLL_CTL_ADD, made, &event) != 0) fail("epoll_ctl");
            started++;
        }
        int ready = epoll_wait(poller, events, 64, 10000);
        if (ready <= 0) fail("epoll_wait");
        for (int each = 0; each < ready; each++) {
            int error = 0;
            socklen_t size = sizeof error;
            getsockopt(events[each].data.fd, SOL_SOCKET, SO_ERROR, &error, &size);
            if (error != 0) {
                errno = error;
                fail("connect");
            }
            close(events[each].data.fd);
            done++;
        }
    }
    printf("{\"connections\":%d,\"seconds\":%.6f,\"cpu\":%.6f}\n", done, seconds_now() - begun,
           seconds_of_cpu() - cpu);
}
