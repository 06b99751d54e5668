// Calls on files that glibc declares to _GNU_SOURCE only, which Swift's importer doesn't define.
#pragma once

#include <fcntl.h>
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
    MPS_READ_FOLDER = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC,
    MPS_READ_FILE = O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY,
    MPS_MAKE_FILE = O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
    MPS_LOCK_FILE = O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC,
};

static inline int mps_rename(int from, const char *name, int to, const char *other, unsigned flags) {
    return (int)syscall(SYS_renameat2, from, name, to, other, flags);
}

// In Swift flock is the structure.
static inline int mps_try_lock(int descriptor) { return flock(descriptor, LOCK_EX | LOCK_NB); }

static inline int mps_is_folder(unsigned mode) { return S_ISDIR(mode); }
static inline int mps_is_file(unsigned mode) { return S_ISREG(mode); }
static inline int mps_is_link(unsigned mode) { return S_ISLNK(mode); }
