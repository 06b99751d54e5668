// The process whose call is held: where it is, whose it is, and duplicates of its descriptors.
#define _GNU_SOURCE
#include "trap_calls.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
    // Processes whose pidfds are kept.
    PROCESSES = 64,
    // Of a process's descriptors, where a socket is looked for that was moved.
    DESCRIPTORS_SEARCHED = 256,
    // Milliseconds from one search to the next: a program that makes and closes thousands has moved none of them, as a rule.
    SEARCH_PAUSE = 2,
    NETNS_COOKIE = 71,  // SO_NETNS_COOKIE
};

// One trap is one process, so its state is the process's.
static struct {
    pid_t thread;
    int descriptor;
} processes[PROCESSES];
// As /proc/self/ns/net reads; empty where that can't be read.
static char own_namespace[64];
// As SO_NETNS_COOKIE says; 0 where the kernel does not (before Linux 5.14).
static uint64_t own_network;
static uid_t own_user;
static gid_t own_group;

static uint64_t network_of(int socket) {
    uint64_t cookie = 0;
    socklen_t length = sizeof cookie;
    return getsockopt(socket, SOL_SOCKET, NETNS_COOKIE, &cookie, &length) == 0 ? cookie : 0;
}

void trap_find_own_namespace(void) {
    int own = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    own_network = own < 0 ? 0 : network_of(own);
    if (own >= 0) close(own);
    ssize_t length = readlink("/proc/self/ns/net", own_namespace, sizeof own_namespace - 1);
    own_namespace[length < 0 ? 0 : length] = 0;
    own_user = geteuid();
    own_group = getegid();
}

static int name_process_file(char path[48], pid_t thread, const char *file) {
    return snprintf(path, 48, "/proc/%d%s", thread, file);
}

// Whether a socket of this process's would be one of the caller's network namespace. A caller that can't be looked at may be
// anywhere.
int trap_shares_network(pid_t thread) {
    char path[48], namespace[64];
    name_process_file(path, thread, "/ns/net");
    // A third of what stat(2) takes of it.
    ssize_t length = thread > 0 ? readlink(path, namespace, sizeof namespace) : -1;
    return length > 0 && (size_t)length == strlen(own_namespace) && memcmp(namespace, own_namespace, (size_t)length) == 0;
}

// Whether a socket of the caller's is one of this process's network namespace: the caller may have made it before it went to another.
int trap_is_of_own_network(int socket, pid_t thread) {
    uint64_t network = own_network ? network_of(socket) : 0;
    return network ? network == own_network : trap_shares_network(thread);
}

// A socket belongs to the user that made it, which firewalls and routing rules look at. Only root's children can be another's.
void trap_give_to_caller(int socket, pid_t thread) {
    if (own_user != 0) return;
    char path[48];
    struct stat caller;
    name_process_file(path, thread, "");
    if (stat(path, &caller) != 0) return;
    if (caller.st_uid != own_user || caller.st_gid != own_group) (void)!fchown(socket, caller.st_uid, caller.st_gid);
}

int trap_is_excluded(pid_t thread, char *const *patterns) {
    if (!patterns || !*patterns) return 0;
    char path[48], program[4096];
    name_process_file(path, thread, "/exe");
    ssize_t length = readlink(path, program, sizeof program - 1);
    if (length <= 0) return 0;
    program[length] = 0;
    const char *slash = strrchr(program, '/');
    for (; *patterns; patterns++) {
        // A pattern with a slash is about the whole path.
        const char *subject = strchr(*patterns, '/') || !slash ? program : slash + 1;
        if (fnmatch(*patterns, subject, 0) == 0) return 1;
    }
    return 0;
}

void trap_name_caller(pid_t thread, uint8_t name[16]) {
    char path[48];
    name_process_file(path, thread, "/comm");
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) return;
    // With a line feed behind it.
    ssize_t length = read(file, name, 16);
    close(file);
    if (length > 0) name[length - 1] = 0;
}

static pid_t process_of(pid_t thread) {
    char path[48], text[1024];
    name_process_file(path, thread, "/status");
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) return -1;
    ssize_t length = read(file, text, sizeof text - 1);
    close(file);
    if (length <= 0) return -1;
    text[length] = 0;
    const char *line = strstr(text, "\nTgid:");
    return line ? (pid_t)atoi(line + 6) : -1;
}

// Before Linux 6.9 only a process has a pidfd. Its threads share their descriptors, as a rule; the cookie tells. It is kept for no
// other call: the thread may end before its process does, and another process's have its number then.
static int duplicate_of_process(pid_t thread, int number) {
    pid_t process = process_of(thread);
    int descriptor = process > 0 ? (int)syscall(SYS_pidfd_open, process, 0) : -1;
    if (descriptor < 0) return -1;
    int copy = (int)syscall(SYS_pidfd_getfd, descriptor, number, 0);
    int error = errno;
    close(descriptor);
    errno = error;
    return copy;
}

// A duplicate of a descriptor of the caller's.
int trap_duplicate(pid_t thread, int number) {
    int place = thread % PROCESSES;
    for (int attempt = 0; attempt < 2; attempt++) {
        if (processes[place].thread != thread) {
            if (processes[place].thread > 0) close(processes[place].descriptor);
            processes[place].thread = 0;
            int descriptor = (int)syscall(SYS_pidfd_open, thread, TRAP_PIDFD_THREAD);
            if (descriptor < 0) return errno == EINVAL ? duplicate_of_process(thread, number) : -1;
            processes[place].thread = thread;
            processes[place].descriptor = descriptor;
        }
        int copy = (int)syscall(SYS_pidfd_getfd, processes[place].descriptor, number, 0);
        if (copy >= 0 || errno != ESRCH) return copy;
        // Of a thread that has ended; another one has its number by now, maybe.
        close(processes[place].descriptor);
        processes[place].thread = 0;
    }
    return -1;
}

// Whether what a link of /proc/…/fd names is a socket's file; -1 where it can't be read. No file is touched for that: of another
// the file system may be one that answers late, or never.
static int names_socket(int folder, const char *path, uint64_t inode) {
    char name[64], wanted[64];
    ssize_t length = readlinkat(folder, path, name, sizeof name);
    if (length < 0) return -1;
    int expected = snprintf(wanted, sizeof wanted, "socket:[%" PRIu64 "]", inode);
    return length == expected && memcmp(name, wanted, (size_t)length) == 0;
}

// Whether a descriptor of the caller's is another file than a socket's.
int trap_is_another_file(pid_t thread, int number, uint64_t inode) {
    char path[48], end[24];
    snprintf(end, sizeof end, "/fd/%d", number);
    name_process_file(path, thread, end);
    return names_socket(AT_FDCWD, path, inode) == 0;
}

// The number under which a process has a file now: dup2(2) and fcntl(2) move sockets, as shells do. -1 for none.
int trap_find_moved(pid_t thread, uint64_t inode) {
    static int64_t last;
    int64_t now = trap_milliseconds();
    if (inode == 0 || now - last < SEARCH_PAUSE) return -1;
    last = now;
    char path[48];
    name_process_file(path, thread, "/fd");
    DIR *folder = opendir(path);
    if (!folder) return -1;
    int number = -1;
    // Calls are waiting meanwhile.
    for (int count = 0; number < 0 && count < DESCRIPTORS_SEARCHED; count++) {
        const struct dirent *entry = readdir(folder);
        if (!entry) break;
        if (names_socket(dirfd(folder), entry->d_name, inode) > 0) number = atoi(entry->d_name);
    }
    closedir(folder);
    return number;
}
