#define _GNU_SOURCE
#include "trap_internal.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined(__x86_64__)
#define OWN_ARCHITECTURE AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define OWN_ARCHITECTURE AUDIT_ARCH_AARCH64
#elif defined(__riscv) && __riscv_xlen == 64
#define OWN_ARCHITECTURE AUDIT_ARCH_RISCV64
#endif

enum { ALLOW = 0x7fff0000, NOTIFY = 0x7fc00000 };

#ifdef OWN_ARCHITECTURE

#define LOAD(field) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct trap_call, field))
#define RETURN(value) BPF_STMT(BPF_RET | BPF_K, value)
// Goes on with the next instruction where it is equal, and skips so many where it is not.
#define UNLESS_EQUAL_SKIP(value, count) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, 0, count)
#define IF_EQUAL_SKIP(value, count) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, count, 0)

// The arguments are ints: the upper half of a register means nothing to the call, and is not looked at.
static const struct sock_filter filter[] = {
    // Calls of another architecture (a 32-bit program) have other numbers. Those of x32 have a bit that no number here has.
    LOAD(arch),
    IF_EQUAL_SKIP(OWN_ARCHITECTURE, 1),
    RETURN(ALLOW),
    LOAD(nr),
    IF_EQUAL_SKIP(__NR_socket, 5),
    UNLESS_EQUAL_SKIP(__NR_connect, 1),
    RETURN(NOTIFY),
    // 7: where the number is another still
    IF_EQUAL_SKIP(__NR_setsockopt, 15),
    RETURN(ALLOW),
    RETURN(ALLOW),
    // 10: socket(AF_INET or AF_INET6, SOCK_STREAM with or without its flags, 0 or IPPROTO_TCP)
    LOAD(args[0]),
    IF_EQUAL_SKIP(AF_INET, 2),
    IF_EQUAL_SKIP(AF_INET6, 1),
    RETURN(ALLOW),
    LOAD(args[1]),
    BPF_STMT(BPF_ALU | BPF_AND | BPF_K, 0xf),
    IF_EQUAL_SKIP(SOCK_STREAM, 1),
    RETURN(ALLOW),
    LOAD(args[2]),
    IF_EQUAL_SKIP(0, 2),
    IF_EQUAL_SKIP(IPPROTO_TCP, 1),
    RETURN(ALLOW),
    RETURN(NOTIFY),
    // 23: setsockopt(…, IPPROTO_TCP, …) of what MPTCP sockets lack: see trap.c
    LOAD(args[1]),
    UNLESS_EQUAL_SKIP(IPPROTO_TCP, 12),
    LOAD(args[2]),
    IF_EQUAL_SKIP(TCP_SYNCNT, 9),
    IF_EQUAL_SKIP(TCP_LINGER2, 8),
    IF_EQUAL_SKIP(TCP_WINDOW_CLAMP, 7),
    IF_EQUAL_SKIP(TCP_QUICKACK, 6),
    IF_EQUAL_SKIP(TCP_THIN_LINEAR_TIMEOUTS, 5),
    IF_EQUAL_SKIP(TCP_THIN_DUPACK, 4),
    IF_EQUAL_SKIP(TCP_USER_TIMEOUT, 3),
    IF_EQUAL_SKIP(TCP_REPAIR, 2),
    IF_EQUAL_SKIP(TCP_ULP, 1),
    RETURN(ALLOW),
    RETURN(NOTIFY),
    // 37: setsockopt(…, SOL_SOCKET, …) of the same kind
    UNLESS_EQUAL_SKIP(SOL_SOCKET, 5),
    LOAD(args[2]),
    IF_EQUAL_SKIP(SO_ZEROCOPY, 2),
    IF_EQUAL_SKIP(SO_OOBINLINE, 1),
    UNLESS_EQUAL_SKIP(SO_MAX_PACING_RATE, 1),
    RETURN(NOTIFY),
    RETURN(ALLOW),
};
// The instruction that has connect(2) notified, and what stands there where it is not to be.
enum { CONNECT_PLACE = 6 };

static int load(int count, struct sock_filter *instructions, int *is_interruptible) {
    struct sock_fprog program = {(unsigned short)count, instructions};
    // A signal that a call is interrupted by while it is held would have the trap's answer go nowhere, and a storm of them would
    // keep the call from ever ending. Older kernels don't know the flag. The program is no sandbox's: it keeps its speculation
    // (kernels before 5.16 take it away from each process with a filter).
    static const unsigned long flags[] = {
        TRAP_FILTER_NEW_LISTENER | TRAP_FILTER_KEEP_SPECULATION | TRAP_FILTER_WAIT_KILLABLE,
        TRAP_FILTER_NEW_LISTENER | TRAP_FILTER_KEEP_SPECULATION};
    for (int place = 0; place < 2; place++) {
        int listener = (int)syscall(__NR_seccomp, 1 /* SECCOMP_SET_MODE_FILTER */, flags[place], &program);
        *is_interruptible = place;
        if (listener >= 0 || errno != EINVAL) return listener;
    }
    return -1;
}

int trap_install_filter(int traps_connect, int *is_interruptible) {
    struct sock_filter instructions[sizeof filter / sizeof *filter];
    __builtin_memcpy(instructions, filter, sizeof filter);
    if (!traps_connect) instructions[CONNECT_PLACE].k = ALLOW;
    int count = sizeof filter / sizeof *filter;
    int listener = load(count, instructions, is_interruptible);
    if (listener >= 0 || errno != EACCES) return listener;
    // Without CAP_SYS_ADMIN only a process that can gain no rights may have a filter.
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return -1;
    return load(count, instructions, is_interruptible);
}

#else

int trap_install_filter(int traps_connect, int *is_interruptible) {
    (void)traps_connect;
    (void)is_interruptible;
    errno = ENOSYS;
    return -1;
}

#endif
