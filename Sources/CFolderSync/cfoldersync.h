// Calls on files that glibc declares to _GNU_SOURCE only, which Swift's importer doesn't define.
#pragma once

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
    // include/uapi/linux/fs.h
    MPS_NOREPLACE = 1,
    MPS_EXCHANGE = 2,
    // include/uapi/asm-generic/fcntl.h, include/uapi/linux/fcntl.h: F_SETSIG, F_SETLEASE
    MPS_SET_SIGNAL = 10,
    MPS_SET_LEASE = 1024,
    // include/uapi/linux/fs.h: SYNC_FILE_RANGE_WRITE
    MPS_RANGE_WRITE = 2,
    MPS_READ_FOLDER = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC,
    MPS_READ_FILE = O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY,
    MPS_MAKE_FILE = O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
    MPS_LOCK_FILE = O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC,
};

static inline int mps_rename(int from, const char *name, int to, const char *other, unsigned flags) {
    return (int)syscall(SYS_renameat2, from, name, to, other, flags);
}

// Whether some process has the file open for writing: no read lease is given then (fcntl(2), F_SETLEASE). Where the kernel gives
// none for another reason (another user's file, a file system over a network) the answer is no.
static inline int mps_is_open_for_writing(int descriptor) {
    // A process that opens it in this moment breaks the lease; SIGIO would end this one.
    if (fcntl(descriptor, MPS_SET_SIGNAL, SIGURG) != 0) return 0;
    if (fcntl(descriptor, MPS_SET_LEASE, F_RDLCK) != 0) return errno == EAGAIN;
    fcntl(descriptor, MPS_SET_LEASE, F_UNLCK);
    return 0;
}

// Has the kernel begin to write to the disk, and waits for nothing: what fsync waits for later is on its way then.
static inline void mps_begin_writing(int descriptor, long long offset, long long count) {
    syscall(SYS_sync_file_range, descriptor, offset, count, MPS_RANGE_WRITE);
}

// In Swift flock is the structure.
static inline int mps_try_lock(int descriptor) { return flock(descriptor, LOCK_EX | LOCK_NB); }

static inline int mps_is_folder(unsigned mode) { return S_ISDIR(mode); }
static inline int mps_is_file(unsigned mode) { return S_ISREG(mode); }
static inline int mps_is_link(unsigned mode) { return S_ISLNK(mode); }
