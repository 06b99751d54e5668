// Kernel interfaces newer than the headers distributions ship, and macros that Swift can't import.
// The layouts are those of Linux 6.18; each is only ever read as far as the kernel says it wrote.
// Names carry an mp_ prefix, so that a newer header on the machine does not collide with them.
#pragma once

#include <errno.h>
#include <execinfo.h>
#include <linux/filter.h>
#include <linux/genetlink.h>
#include <linux/if_addr.h>
#include <linux/if_arp.h>
#include <linux/if_link.h>
#include <linux/inet_diag.h>
#include <linux/neighbour.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/fsuid.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

// include/uapi/linux/tcp.h: 280 bytes on 6.18; glibc 2.36 knows the first 104.
struct mp_tcp_info {
    uint8_t state, ca_state, retransmits, probes, backoff, options, wscale, flags;
    uint32_t rto, ato, snd_mss, rcv_mss;
    uint32_t unacked, sacked, lost, retrans, fackets;
    uint32_t last_data_sent, last_ack_sent, last_data_recv, last_ack_recv;
    uint32_t pmtu, rcv_ssthresh, rtt, rttvar, snd_ssthresh, snd_cwnd, advmss, reordering;
    uint32_t rcv_rtt, rcv_space, total_retrans;
    uint64_t pacing_rate, max_pacing_rate, bytes_acked, bytes_received;
    uint32_t segs_out, segs_in, notsent_bytes, min_rtt, data_segs_in, data_segs_out;
    uint64_t delivery_rate, busy_time, rwnd_limited, sndbuf_limited;
    uint32_t delivered, delivered_ce;
    uint64_t bytes_sent, bytes_retrans;
    uint32_t dsack_dups, reord_seen, rcv_ooopack, snd_wnd, rcv_wnd, rehash;
    uint16_t total_rto, total_rto_recoveries;
    uint32_t total_rto_time;
    uint32_t received_ce, delivered_e1_bytes, delivered_e0_bytes, delivered_ce_bytes;
    uint32_t received_e1_bytes, received_e0_bytes, received_ce_bytes;
    uint16_t accecn_fail_mode, accecn_opt_seen;
};
_Static_assert(offsetof(struct mp_tcp_info, bytes_acked) == 120, "linux/tcp.h");
_Static_assert(offsetof(struct mp_tcp_info, min_rtt) == 148, "linux/tcp.h");
_Static_assert(offsetof(struct mp_tcp_info, total_rto) == 240, "linux/tcp.h");
_Static_assert(sizeof(struct mp_tcp_info) == 280, "linux/tcp.h");

// include/uapi/linux/mptcp.h: 96 bytes on 6.18.
struct mp_mptcp_info {
    uint8_t subflows, add_addr_signal, add_addr_accepted, subflows_max;
    uint8_t add_addr_signal_max, add_addr_accepted_max;
    uint32_t flags, token;
    uint64_t write_seq, snd_una, rcv_nxt;
    uint8_t local_addr_used, local_addr_max, csum_enabled;
    uint32_t retransmits;
    uint64_t bytes_retrans, bytes_sent, bytes_received, bytes_acked;
    uint8_t subflows_total, endp_laminar_max, endp_fullmesh_max, reserved;
    uint32_t last_data_sent, last_data_recv, last_ack_recv;
};
_Static_assert(offsetof(struct mp_mptcp_info, bytes_retrans) == 48, "linux/mptcp.h");
_Static_assert(sizeof(struct mp_mptcp_info) == 96, "linux/mptcp.h");

struct mp_mptcp_subflow_info {
    uint32_t id;
    _Alignas(8) uint8_t local[128];
    uint8_t remote[128];
};
_Static_assert(sizeof(struct mp_mptcp_subflow_info) == 264, "linux/mptcp.h");

// Precedes the array of MPTCP_TCPINFO and MPTCP_SUBFLOW_ADDRS.
struct mp_mptcp_subflow_data {
    uint32_t size_subflow_data, num_subflows, size_kernel, size_user;
};

struct mp_mptcp_full_info {
    uint32_t size_tcpinfo_kernel, size_tcpinfo_user;
    uint32_t size_sfinfo_kernel, size_sfinfo_user;
    uint32_t num_subflows, size_arrays_user;
    uint64_t subflow_info, tcp_info;
    struct mp_mptcp_info mptcp_info;
};
_Static_assert(offsetof(struct mp_mptcp_full_info, mptcp_info) == 40, "linux/mptcp.h");

// Constants that are macros with casts or newer than Debian 12's headers.
enum {
    MP_IPPROTO_MPTCP = 262,
    MP_SOL_MPTCP = 284,
    MP_MPTCP_INFO = 1,
    MP_MPTCP_TCPINFO = 2,
    MP_MPTCP_SUBFLOW_ADDRS = 3,
    MP_MPTCP_FULL_INFO = 4,
    MP_SO_BINDTOIFINDEX = 62,
    MP_SO_NETNS_COOKIE = 71,
    MP_SO_PEERPIDFD = 77,
    MP_INET_DIAG_REQ_PROTOCOL = 3,
    MP_MPTCP_INFO_FLAG_FALLBACK = 1,
    MP_NETLINK_GET_STRICT_CHK = 12,
    MP_NETLINK_EXT_ACK = 11,
    MP_F_SETPIPE_SZ = 1031,
};

// A descriptor of a process, which no thread but a process's first one has (Linux 5.3).
static inline int mp_open_process(int32_t thread) { return (int)syscall(SYS_pidfd_open, thread, 0); }

// How often this thread has given its processor up, for a lock as well: other than by being preempted.
static inline long mp_voluntary_pauses(void) {
    struct rusage usage;
    return getrusage(1 /* RUSAGE_THREAD, declared to _GNU_SOURCE only */, &usage) == 0 ? usage.ru_nvcsw : 0;
}

static inline int mp_epoll_wait(int epoll, struct epoll_event *events, int count, int64_t nanoseconds) {
    struct timespec timeout = {nanoseconds / 1000000000, nanoseconds % 1000000000};
    int result = epoll_pwait2(epoll, events, count, nanoseconds < 0 ? 0 : &timeout, 0);
    // Before Linux 5.11, and in sandboxes that do not know the call: milliseconds, rounded up.
    if (result < 0 && (errno == ENOSYS || errno == EPERM)) {
        int64_t milliseconds = (nanoseconds + 999999) / 1000000;
        if (milliseconds > INT32_MAX) milliseconds = INT32_MAX;
        result = epoll_wait(epoll, events, count, nanoseconds < 0 ? -1 : (int)milliseconds);
    }
    return result;
}

// The sigaction union members are not reachable from Swift.
static inline int mp_ignore_signal(int number) {
    struct sigaction action = {.sa_handler = SIG_IGN};
    return sigaction(number, &action, 0);
}

// For debug builds: has a thread print its stack on standard error when it gets SIGURG.
static inline void mp_print_stack(int number) {
    (void)number;
    void *frames[48];
    backtrace_symbols_fd(frames, backtrace(frames, 48), 2);
}
static inline int mp_print_stacks(void) {
    // The first call loads a library, which a signal handler may not.
    void *frame;
    backtrace(&frame, 1);
    struct sigaction action = {.sa_handler = mp_print_stack, .sa_flags = SA_RESTART};
    return sigaction(SIGURG, &action, 0);
}

// Has this thread take that signal, whatever the thread blocks that made it.
static inline void mp_take_stack_signal(void) {
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGURG);
    pthread_sigmask(SIG_UNBLOCK, &signals, 0);
}

// RUSAGE_THREAD is declared to _GNU_SOURCE only.
static inline int mp_usage_of_thread(struct rusage *usage) { return getrusage(1, usage); }

// Leaves a signal alone that the program was started to ignore.
static inline void mp_handle_signal(int number, void (*handler)(int)) {
    struct sigaction old, action = {.sa_handler = handler, .sa_flags = SA_RESTART};
    if (sigaction(number, 0, &old) == 0 && old.sa_handler != SIG_IGN) sigaction(number, &action, 0);
}

// In Swift flock is the structure.
static inline int mp_lock_exclusively(int descriptor) { return flock(descriptor, LOCK_EX); }
static inline int mp_try_lock(int descriptor) { return flock(descriptor, LOCK_EX | LOCK_NB); }
static inline int mp_try_shared_lock(int descriptor) { return flock(descriptor, LOCK_SH | LOCK_NB); }
static inline int mp_unlock(int descriptor) { return flock(descriptor, LOCK_UN); }

// Whether the program was started with more rights than its user has: set-user-ID, or capabilities of its file. What a
// service manager or a parent passes on (ambient capabilities) is the user's own.
static inline int mp_is_elevated(void) { return getauxval(AT_SECURE) != 0; }

// To AF_UNSPEC: a socket that is not connected is as it was made, but for its options and what it is bound to.
static inline int mp_disconnect(int socket) {
    struct sockaddr address = {.sa_family = AF_UNSPEC};
    return connect(socket, &address, sizeof address);
}

// Declared to _GNU_SOURCE only. Nothing for a program that runs with more rights than its user.
extern char *secure_getenv(const char *name);
static inline const char *mp_trusted_environment(const char *name) { return secure_getenv(name); }

// Declared to _GNU_SOURCE only, which Swift's importer doesn't define.
static inline int mp_accept(int socket) {
    return (int)syscall(SYS_accept4, socket, 0, 0, SOCK_CLOEXEC | SOCK_NONBLOCK);
}

static inline int mp_accept_waiting(int socket) {
    return (int)syscall(SYS_accept4, socket, 0, 0, SOCK_CLOEXEC);
}

// An abstract Unix address: it has no file, belongs to a network namespace and ends with its socket.
static inline socklen_t mp_abstract_address(struct sockaddr_un *address, const char *name) {
    memset(address, 0, sizeof *address);
    address->sun_family = AF_UNIX;
    size_t length = strlen(name);
    if (length > sizeof address->sun_path - 1) length = sizeof address->sun_path - 1;
    memcpy(address->sun_path + 1, name, length);
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + length);
}

static inline void mp_name_this_thread(const char *name) { prctl(PR_SET_NAME, name); }

// Sequenced packets between processes of one machine. The macros of control messages are not reachable from Swift.

// The kernel passes up to 253 descriptors in one packet (SCM_MAX_FD, include/net/scm.h). What finds no room here it closes in
// the receiver's name, which may take as long as the sender likes (SO_LINGER): so only a thread that may wait receives.
enum { MP_MOST_PASSED = 2 };

// Whether others may pass descriptors to a socket (SO_PASSRIGHTS, Linux 6.16; include/uapi/asm-generic/socket.h).
enum { MP_SO_PASSRIGHTS = 83, MP_SCM_PIDFD = 4 };

static inline ssize_t mp_send_packet(int socket, const void *bytes, size_t length, int passed) {
    union {
        char bytes[CMSG_SPACE(sizeof(int))];
        struct cmsghdr header;
    } control;
    struct iovec part = {(void *)bytes, length};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
    if (passed >= 0) {
        memset(&control, 0, sizeof control);
        message.msg_control = control.bytes;
        message.msg_controllen = sizeof control.bytes;
        control.header.cmsg_level = SOL_SOCKET;
        control.header.cmsg_type = SCM_RIGHTS;
        control.header.cmsg_len = CMSG_LEN(sizeof(int));
        memcpy(CMSG_DATA(&control.header), &passed, sizeof(int));
    }
    return sendmsg(socket, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
}

// How much memory the packets take that the other end has not read, the kernel's own around them included (SIOCOUTQ).
static inline int mp_unread_bytes(int socket) {
    int count = 0;
    return ioctl(socket, TIOCOUTQ, &count) == 0 ? count : 0;
}

// Receives one packet: its length, or -1. `flags` are those of recvmsg's answer, MSG_TRUNC and MSG_CTRUNC among them.
static inline ssize_t mp_receive_packet(
    int socket, void *bytes, size_t length, int *passed, int *count, int *flags, int how) {
    union {
        char bytes[CMSG_SPACE(sizeof(int) * MP_MOST_PASSED)];
        struct cmsghdr header;
    } control;
    struct iovec part = {bytes, length};
    struct msghdr message = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = control.bytes, .msg_controllen = sizeof control.bytes};
    ssize_t got = recvmsg(socket, &message, how | MSG_CMSG_CLOEXEC);
    *count = 0;
    if (got < 0) return got;
    *flags = message.msg_flags;
    for (struct cmsghdr *header = CMSG_FIRSTHDR(&message); header; header = CMSG_NXTHDR(&message, header)) {
        if (header->cmsg_level != SOL_SOCKET) continue;
        // Whoever shares the socket can have each packet bring its sender's pidfd (SO_PASSPIDFD, net/core/scm.c).
        if (header->cmsg_type == MP_SCM_PIDFD && header->cmsg_len >= CMSG_LEN(sizeof(int))) {
            int process;
            memcpy(&process, CMSG_DATA(header), sizeof(int));
            if (process >= 0) close(process);
        }
        if (header->cmsg_type != SCM_RIGHTS) continue;
        int added = (int)((header->cmsg_len - CMSG_LEN(0)) / sizeof(int));
        for (int place = 0; place < added && *count < MP_MOST_PASSED; place++)
            memcpy(&passed[(*count)++], CMSG_DATA(header) + place * sizeof(int), sizeof(int));
    }
    return got;
}

// struct ucred is declared to _GNU_SOURCE only.
static inline int mp_peer_credentials(int socket, uint32_t *user, int *process) {
    struct {
        int pid;
        uint32_t uid, gid;
    } credentials;
    socklen_t length = sizeof credentials;
    int result = getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &credentials, &length);
    if (result == 0) *user = credentials.uid, *process = credentials.pid;
    return result;
}
