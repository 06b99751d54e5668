// Bytes one way, and questions with answers, by read and write.
#define _GNU_SOURCE
#include "plain.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

static char block[BLOCK];

static void print_bulk(uint64_t bytes, double begun, double cpu) {
    printf("{\"bytes\":%llu,\"seconds\":%.6f,\"cpu\":%.6f}\n", (unsigned long long)bytes, seconds_now() - begun,
           seconds_of_cpu() - cpu);
}

static void write_all(int socket, const void *bytes, size_t count) {
    for (size_t done = 0; done < count;) {
        ssize_t now = write(socket, (const char *)bytes + done, count - done);
        if (now < 0) fail("write");
        done += (size_t)now;
    }
}

static void read_all(int socket, void *bytes, size_t count) {
    for (size_t done = 0; done < count;) {
        ssize_t now = read(socket, (char *)bytes + done, count - done);
        if (now < 0) fail("read");
        if (now == 0) {
            fprintf(stderr, "the peer closed after %zu of %zu bytes\n", done, count);
            exit(1);
        }
        done += (size_t)now;
    }
}

void bulk_up(int socket, uint64_t bytes) {
    double begun = seconds_now(), cpu = seconds_of_cpu();
    for (uint64_t left = bytes; left > 0;) {
        size_t size = left < sizeof block ? (size_t)left : sizeof block;
        write_all(socket, block, size);
        left -= size;
    }
    if (shutdown(socket, SHUT_WR) != 0) fail("shutdown");
    uint64_t taken = 0;
    read_all(socket, &taken, sizeof taken);
    if (taken != bytes) {
        fprintf(stderr, "%llu bytes arrived\n", (unsigned long long)taken);
        exit(1);
    }
    print_bulk(bytes, begun, cpu);
}

void bulk_down(int socket, uint64_t bytes) {
    double begun = seconds_now(), cpu = seconds_of_cpu();
    char line[32];
    write_all(socket, line, (size_t)snprintf(line, sizeof line, "%llu\n", (unsigned long long)bytes));
    for (uint64_t left = bytes; left > 0;) {
        ssize_t now = read(socket, block, sizeof block);
        if (now <= 0) fail("read");
        left -= (uint64_t)now;
    }
    print_bulk(bytes, begun, cpu);
}

static void copy(int from, int to) {
    ssize_t count;
    while ((count = read(from, block, sizeof block)) > 0) write_all(to, block, (size_t)count);
    if (count < 0) fail("read");
}

void pipe_through(int socket) {
    pid_t other = fork();
    if (other < 0) fail("fork");
    if (other == 0) {
        copy(STDIN_FILENO, socket);
        if (shutdown(socket, SHUT_WR) != 0) fail("shutdown");
        _exit(0);
    }
    copy(socket, STDOUT_FILENO);
    int status = 0;
    waitpid(other, &status, 0);
    if (status != 0) exit(1);
}

static int compare(const void *left, const void *right) {
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

void ask_and_answer(int socket, int count) {
    enum { SIZE = 200 };
    char question[SIZE];
    memset(question, 'r', SIZE);
    double *took = malloc((size_t)count * sizeof *took);
    double cpu = 0;
    // The first tenth warms up.
    for (int each = -count / 10; each < count; each++) {
        if (each == 0) cpu = seconds_of_cpu();
        double begun = seconds_now();
        write_all(socket, question, SIZE);
        read_all(socket, question, SIZE);
        if (each >= 0) took[each] = seconds_now() - begun;
    }
    cpu = seconds_of_cpu() - cpu;
    qsort(took, (size_t)count, sizeof *took, compare);
    printf("{\"requests\":%d,\"p50\":%.3f,\"p99\":%.3f,\"cpu\":%.6f}\n", count, 1e6 * took[count / 2],
           1e6 * took[(int)(0.99 * count)], cpu);
}
