// Changes of the network namespace this thread is in, each by one netlink request.
#pragma once

#include <stdint.h>

// A socket for changes, or -1.
int changes_open(void);

// Adds (or, with `add` 0, removes) the IPv4 default route through a gateway, in host order, and a link.
// `sent` gets the monotonic time in nanoseconds right before the request is sent.
// Returns 0 or the error number, from the kernel's acknowledgement.
int changes_default_route(int socket, int add, uint32_t gateway, int link, uint32_t metric, int64_t *sent);

// The monotonic clock, in nanoseconds.
int64_t changes_now(void);
