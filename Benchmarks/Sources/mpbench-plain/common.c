#define _GNU_SOURCE
#include "plain.h"

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>

#ifndef IPPROTO_MPTCP
#define IPPROTO_MPTCP 262
#endif

void fail(const char *what) {
    perror(what);
    exit(1);
}

static double seconds_of(clockid_t clock) {
    struct timespec time;
    clock_gettime(clock, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

double seconds_now(void) { return seconds_of(CLOCK_MONOTONIC); }
double seconds_of_cpu(void) { return seconds_of(CLOCK_PROCESS_CPUTIME_ID); }

int make_socket(int is_mptcp, int flags) {
    int made = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | flags, is_mptcp ? IPPROTO_MPTCP : IPPROTO_TCP);
    if (made < 0) fail("socket");
    int on = 1;
    if (setsockopt(made, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on) != 0) fail("TCP_NODELAY");
    return made;
}

struct sockaddr_in parse_address(const char *host, const char *port) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(port))};
    if (inet_pton(AF_INET, host, &address.sin_addr) != 1) {
        fprintf(stderr, "%s is no IPv4 address\n", host);
        exit(2);
    }
    return address;
}

int connect_to(int is_mptcp, struct sockaddr_in address) {
    int made = make_socket(is_mptcp, 0);
    if (connect(made, (struct sockaddr *)&address, sizeof address) != 0) fail("connect");
    return made;
}
