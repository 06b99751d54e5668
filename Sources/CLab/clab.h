// What the network lab needs and Swift can't import: macros with casts, unions, and calls between fork and exec.
#pragma once

#include <malloc.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/ethtool.h>
#include <linux/if_packet.h>
#include <linux/if_tun.h>
#include <linux/sched.h>
#include <linux/sockios.h>
#include <linux/veth.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MP_PACKET_IGNORE_OUTGOING = 23 };
static const unsigned long mp_tun_set_carrier = _IOW('T', 226, int);

// The headers declare these to _GNU_SOURCE only, which Swift's importer doesn't define.
static inline int mp_unshare(int flags) { return (int)syscall(SYS_unshare, flags); }
static inline int mp_setns(int descriptor, int kind) { return (int)syscall(SYS_setns, descriptor, kind); }
static inline int mp_pipe(int ends[2]) { return (int)syscall(SYS_pipe2, ends, O_CLOEXEC); }
struct mp_mmsghdr {
    struct msghdr header;
    unsigned int length;
};
static inline int mp_sendmmsg(int socket, struct mp_mmsghdr *messages, unsigned int count) {
    return (int)syscall(SYS_sendmmsg, socket, messages, count, 0);
}
extern char **environ;
static inline char **mp_environment(void) { return environ; }

// struct ifreq, which libc and the kernel's headers define differently.
struct mp_ifreq {
    char name[16];
    union {
        short flags;
        void *data;
        char space[24];
    } value;
};
_Static_assert(sizeof(struct mp_ifreq) == 40, "linux/if.h");

// Swift marks fork unavailable. Only a process with one thread may use this one.
static inline pid_t mp_fork(void) { return fork(); }

// The child of a lab's parent ends with it. `watch` is the reading end of a pipe that only the parent holds open:
// a parent that ended before the call is noticed too.
static inline int mp_end_with_parent(int watch) {
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0) return -1;
    struct pollfd state = {.fd = watch, .events = POLLIN};
    if (poll(&state, 1, 0) == 1) _exit(1);
    return 0;
}

// Makes capabilities ambient, so that programs started from here keep them although they aren't root's.
static inline int mp_keep_capabilities(const int *numbers, int count) {
    struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
    struct __user_cap_data_struct data[2];
    if (syscall(SYS_capget, &header, data) != 0) return -1;
    for (int i = 0; i < count; i++)
        data[numbers[i] / 32].inheritable |= data[numbers[i] / 32].permitted & (1u << (numbers[i] % 32));
    if (syscall(SYS_capset, &header, data) != 0) return -1;
    for (int i = 0; i < count; i++)
        if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, numbers[i], 0, 0) != 0) return -1;
    return 0;
}

// Whether this process may administer its namespaces: CAP_SYS_ADMIN and CAP_NET_ADMIN are effective.
static inline int mp_may_administer(void) {
    struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
    struct __user_cap_data_struct data[2];
    if (syscall(SYS_capget, &header, data) != 0) return 0;
    unsigned int needed = (1u << CAP_SYS_ADMIN) | (1u << CAP_NET_ADMIN);
    return (data[0].effective & needed) == needed;
}

static inline struct mp_ifreq mp_request_for(const char *name) {
    struct mp_ifreq request;
    memset(&request, 0, sizeof request);
    strncpy(request.name, name, sizeof request.name - 1);
    return request;
}

// One of ethtool's on-off settings.
static inline int mp_ethtool_set(int socket, const char *name, uint32_t command, uint32_t value) {
    struct ethtool_value setting = {command, value};
    struct mp_ifreq request = mp_request_for(name);
    request.value.data = &setting;
    return ioctl(socket, SIOCETHTOOL, &request);
}

static inline int mp_tap_attach(int tun, const char *name) {
    struct mp_ifreq request = mp_request_for(name);
    request.value.flags = IFF_TAP | IFF_NO_PI;
    return ioctl(tun, TUNSETIFF, &request);
}

static inline int mp_tap_set_carrier(int tun, int on) { return ioctl(tun, mp_tun_set_carrier, &on); }

// Packet sockets. The ring is one mapping of frames of one size (TPACKET_V2).
static inline int mp_packet_ring(int socket, unsigned int frame, unsigned int frames, unsigned int block) {
    struct tpacket_req request = {block, frame * frames / block, frame, frames};
    return setsockopt(socket, SOL_PACKET, PACKET_RX_RING, &request, sizeof request);
}

static inline int mp_packet_bind(int socket, unsigned int interface) {
    struct sockaddr_ll address = {
        .sll_family = AF_PACKET, .sll_protocol = 0x0300 /* htons(ETH_P_ALL) */, .sll_ifindex = (int)interface};
    return bind(socket, (struct sockaddr *)&address, sizeof address);
}

// Whether the kernel has filled a frame of the ring. Pairs with the kernel's write barrier.
static inline int mp_ring_is_filled(const void *frame) {
    return (__atomic_load_n(&((const struct tpacket2_hdr *)frame)->tp_status, __ATOMIC_ACQUIRE) & TP_STATUS_USER) != 0;
}

static inline void mp_ring_give_back(void *frame) {
    __atomic_store_n(&((struct tpacket2_hdr *)frame)->tp_status, TP_STATUS_KERNEL, __ATOMIC_RELEASE);
}

static inline int mp_set_timer_slack(unsigned long nanoseconds) { return prctl(PR_SET_TIMERSLACK, nanoseconds, 0, 0, 0); }

static inline int mp_exit_status(int status) { return WEXITSTATUS(status); }
static inline int mp_was_signalled(int status) { return WIFSIGNALED(status); }
static inline int mp_end_signal(int status) { return WTERMSIG(status); }
// siginfo_t is a union behind macros: whether a signal came from the kernel (a terminal's key, say).
static inline int mp_signal_is_from_kernel(const siginfo_t *information) { return information->si_code == SI_KERNEL; }

// Bytes that malloc has given out, large pieces included.
static inline size_t mp_heap_in_use(void) {
    struct mallinfo2 info = mallinfo2();
    return info.uordblks + info.hblkhd;
}
