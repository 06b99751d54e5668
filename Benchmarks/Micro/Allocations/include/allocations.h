#ifndef ALLOCATIONS_H
#define ALLOCATIONS_H

/// Allocations that this thread has made so far, by malloc, calloc, realloc and their aligned kin.
unsigned long long allocations_of_thread(void);

#endif
