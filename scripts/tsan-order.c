// What ThreadSanitizer is not told by the Swift runtime: two orders that are made inside libraries which are not built with it.
// Loaded before all others (`make sanitize`), these functions stand before the runtime's own and tell it.
//
//  - A continuation that is resumed before its task has come to wait: the task goes on at once, by an atomic of
//    libswift_Concurrency. (One that waits already is enqueued, which the runtime does tell.)
//  - A Mutex of the module Synchronization for which a thread had to wait: libswiftSynchronization takes it.
//
// In a program without ThreadSanitizer they do nothing but call on.

#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdbool.h>
#include <stdint.h>

__attribute__((weak)) void __tsan_acquire(void *address);
__attribute__((weak)) void __tsan_release(void *address);

static void acquire(void *address) {
    if (__tsan_acquire) __tsan_acquire(address);
}

static void release(void *address) {
    if (__tsan_release) __tsan_release(address);
}

// The next function of that name: the runtime's. Looked up once; two threads at a time find the same.
#define NEXT(type, symbol)                                                        \
    static type next;                                                             \
    type function = __atomic_load_n(&next, __ATOMIC_ACQUIRE);                     \
    if (!function) {                                                              \
        function = (type)dlsym(RTLD_NEXT, symbol);                                \
        __atomic_store_n(&next, function, __ATOMIC_RELEASE);                      \
    }

// MARK: Continuations

#define SWIFT __attribute__((swiftcall))
#define SWIFT_ASYNC __attribute__((swiftasynccall))
#define ASYNC_CONTEXT __attribute__((swift_async_context))
#define SELF __attribute__((swift_context))

typedef SWIFT void (*Resume)(void *task);
typedef SWIFT void (*ResumeWithError)(void *task, void *error);
typedef SWIFT void (*ResumeChecked)(void *value, void *type, SELF void *continuation);
typedef SWIFT_ASYNC void (*Await)(ASYNC_CONTEXT void *context, void *continuation);
typedef SWIFT void (*Deallocate)(void *memory);

// What an unsafe continuation is, is its task.
__attribute__((weak)) SWIFT void *swift_task_getCurrent(void);

static void acquireTask(void) {
    if (swift_task_getCurrent) acquire(swift_task_getCurrent());
}

SWIFT void swift_continuation_resume(void *task) {
    NEXT(Resume, "swift_continuation_resume")
    release(task);
    function(task);
}

SWIFT void swift_continuation_throwingResume(void *task) {
    NEXT(Resume, "swift_continuation_throwingResume")
    release(task);
    function(task);
}

SWIFT void swift_continuation_throwingResumeWithError(void *task, void *error) {
    NEXT(ResumeWithError, "swift_continuation_throwingResumeWithError")
    release(task);
    function(task, error);
}

SWIFT_ASYNC void swift_continuation_await(ASYNC_CONTEXT void *context, void *continuation) {
    NEXT(Await, "swift_continuation_await")
    acquireTask();
    __attribute__((musttail)) return function(context, continuation);
}

// The library waits for a checked one by itself. What a task does first when it goes on after that is to give back what the
// function took that waited.
SWIFT void swift_task_dealloc(void *memory) {
    NEXT(Deallocate, "swift_task_dealloc")
    acquireTask();
    function(memory);
}

// A checked one refers to an object, which has the unsafe one behind its header, and nothing once it was resumed.
static void releaseChecked(void *continuation) {
    void **object = *(void ***)continuation;
    void *task = __atomic_load_n(&object[2], __ATOMIC_RELAXED);
    if (task) release(task);
}

SWIFT void returning(void *value, void *type, SELF void *continuation) __asm__("$sScC6resume9returningyxn_tF");
SWIFT void returning(void *value, void *type, SELF void *continuation) {
    NEXT(ResumeChecked, "$sScC6resume9returningyxn_tF")
    releaseChecked(continuation);
    function(value, type, continuation);
}

SWIFT void throwing(void *error, void *type, SELF void *continuation) __asm__("$sScC6resume8throwingyq_n_tF");
SWIFT void throwing(void *error, void *type, SELF void *continuation) {
    NEXT(ResumeChecked, "$sScC6resume8throwingyq_n_tF")
    releaseChecked(continuation);
    function(error, type, continuation);
}

// MARK: Mutex

typedef SWIFT void (*LockSlow)(uint32_t state, SELF void *handle);
typedef SWIFT bool (*TryLockSlow)(SELF void *handle);
typedef SWIFT void (*UnlockSlow)(SELF void *handle);

SWIFT void lockSlow(uint32_t state, SELF void *handle) __asm__("$s15Synchronization12_MutexHandleV9_lockSlowyys6UInt32VF");
SWIFT void lockSlow(uint32_t state, SELF void *handle) {
    NEXT(LockSlow, "$s15Synchronization12_MutexHandleV9_lockSlowyys6UInt32VF")
    function(state, handle);
    acquire(handle);
}

SWIFT bool tryLockSlow(SELF void *handle) __asm__("$s15Synchronization12_MutexHandleV12_tryLockSlowSbyF");
SWIFT bool tryLockSlow(SELF void *handle) {
    NEXT(TryLockSlow, "$s15Synchronization12_MutexHandleV12_tryLockSlowSbyF")
    bool isTaken = function(handle);
    if (isTaken) acquire(handle);
    return isTaken;
}

SWIFT void unlockSlow(SELF void *handle) __asm__("$s15Synchronization12_MutexHandleV11_unlockSlowyyF");
SWIFT void unlockSlow(SELF void *handle) {
    NEXT(UnlockSlow, "$s15Synchronization12_MutexHandleV11_unlockSlowyyF")
    release(handle);
    function(handle);
}
