// The peer of the measurements of data, and the least that a program can do: sockets, read and write, no library.
//
//   mpbench-plain serve                      echo on port 7, a sink on 9, a source on 19, by MPTCP and TCP
//   mpbench-plain mptcp|tcp up|down HOST BYTES
//   mpbench-plain mptcp|tcp pipe HOST PORT         standard input to the port, and the port to standard output
//   mpbench-plain mptcp|tcp rr HOST COUNT
//   mpbench-plain mptcp|tcp connect HOST COUNT AT-ONCE
//
// Each but pipe prints a line of JSON: seconds, and seconds on a CPU; of rr, microseconds.
#include "plain.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int count, char **words) {
    signal(SIGPIPE, SIG_IGN);
    if (count == 2 && strcmp(words[1], "serve") == 0) serve();
    if (count < 5) {
        fprintf(stderr, "usage: mpbench-plain serve | mptcp|tcp up|down|pipe|rr|connect HOST NUMBER [AT-ONCE]\n");
        return 2;
    }
    int is_mptcp = strcmp(words[1], "mptcp") == 0;
    const char *load = words[2], *host = words[3];
    uint64_t number = strtoull(words[4], NULL, 10);
    if (strcmp(load, "up") == 0) bulk_up(connect_to(is_mptcp, parse_address(host, "9")), number);
    else if (strcmp(load, "down") == 0) bulk_down(connect_to(is_mptcp, parse_address(host, "19")), number);
    else if (strcmp(load, "pipe") == 0) pipe_through(connect_to(is_mptcp, parse_address(host, words[4])));
    else if (strcmp(load, "rr") == 0) ask_and_answer(connect_to(is_mptcp, parse_address(host, "7")), (int)number);
    else if (strcmp(load, "connect") == 0)
        connect_many(is_mptcp, parse_address(host, "7"), (int)number, count > 5 ? atoi(words[5]) : 1);
    else return 2;
    return 0;
}
