// An executable's malloc stands before glibc's for everything in the process, the Swift runtime too. Only this
// thread's are counted: the benchmark tool has threads of its own.
#include "allocations.h"

#include <errno.h>
#include <stddef.h>

extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *pointer, size_t size);
extern void *__libc_memalign(size_t alignment, size_t size);

static __thread unsigned long long made;

unsigned long long allocations_of_thread(void) { return made; }

void *malloc(size_t size) {
    made++;
    return __libc_malloc(size);
}

void *calloc(size_t count, size_t size) {
    made++;
    return __libc_calloc(count, size);
}

void *realloc(void *pointer, size_t size) {
    made++;
    return __libc_realloc(pointer, size);
}

void *memalign(size_t alignment, size_t size) {
    made++;
    return __libc_memalign(alignment, size);
}

void *aligned_alloc(size_t alignment, size_t size) { return memalign(alignment, size); }

int posix_memalign(void **result, size_t alignment, size_t size) {
    void *pointer = memalign(alignment, size);
    if (pointer == NULL) return ENOMEM;
    *result = pointer;
    return 0;
}
