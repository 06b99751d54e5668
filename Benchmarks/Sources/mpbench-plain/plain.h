// What the parts of mpbench-plain share.
#ifndef PLAIN_H
#define PLAIN_H

#include <netinet/in.h>
#include <stddef.h>
#include <stdint.h>

enum {
    PORT_ECHO = 7,
    /// Counts what comes; at its end answers with 8 bytes.
    PORT_SINK = 9,
    /// A line with a number asks for as many bytes.
    PORT_SOURCE = 19,
    /// What is read or written at once.
    BLOCK = 128 * 1024,
};

/// Ends the program with what failed, and the kernel's words for it.
_Noreturn void fail(const char *what);

/// Of the monotonic clock.
double seconds_now(void);
/// This process's time on a CPU so far.
double seconds_of_cpu(void);

/// A stream socket, of MPTCP or TCP.
int make_socket(int is_mptcp, int flags);
struct sockaddr_in parse_address(const char *host, const char *port);
int connect_to(int is_mptcp, struct sockaddr_in address);

/// Serves all three ports until it is killed.
void serve(void);

void bulk_up(int socket, uint64_t bytes);
void bulk_down(int socket, uint64_t bytes);
void connect_many(int is_mptcp, struct sockaddr_in address, int count, int at_once);
/// Standard input to the socket, and the socket to standard output, to the end of both.
void pipe_through(int socket);
void ask_and_answer(int socket, int count);

#endif
