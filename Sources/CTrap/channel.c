// The channel between trap and policy, and the little that the policy asks of the page.
#define _GNU_SOURCE
#include "trap_internal.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

union passed_descriptor {
    char bytes[CMSG_SPACE(sizeof(int))];
    struct cmsghdr header;
};

int trap_send(int channel, const struct trap_message *message, int passed) {
    union passed_descriptor control;
    struct iovec part = {(void *)message, sizeof *message};
    struct msghdr header = {.msg_iov = &part, .msg_iovlen = 1};
    if (passed >= 0) {
        memset(&control, 0, sizeof control);
        header.msg_control = control.bytes;
        header.msg_controllen = sizeof control.bytes;
        control.header.cmsg_level = SOL_SOCKET;
        control.header.cmsg_type = SCM_RIGHTS;
        control.header.cmsg_len = CMSG_LEN(sizeof(int));
        memcpy(CMSG_DATA(&control.header), &passed, sizeof(int));
    }
    for (;;) {
        if (sendmsg(channel, &header, MSG_DONTWAIT | MSG_NOSIGNAL) >= 0) return 0;
        if (errno != EINTR) return errno;
    }
}

int trap_receive(int channel, struct trap_message *message, int *passed) {
    union passed_descriptor control;
    struct iovec part = {message, sizeof *message};
    struct msghdr header = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = control.bytes, .msg_controllen = sizeof control.bytes};
    ssize_t length;
    do {
        length = recvmsg(channel, &header, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    } while (length < 0 && errno == EINTR);
    *passed = -1;
    if (length < 0) return -1;
    struct cmsghdr *first = CMSG_FIRSTHDR(&header);
    if (first && first->cmsg_level == SOL_SOCKET && first->cmsg_type == SCM_RIGHTS) {
        memcpy(passed, CMSG_DATA(first), sizeof(int));
    }
    if (length == 0) return 0;
    if (length == sizeof *message) return 1;
    if (*passed >= 0) close(*passed);
    *passed = -1;
    return -2;
}

uint64_t trap_socket_cookie(int descriptor) {
    uint64_t cookie = 0;
    socklen_t length = sizeof cookie;
    return getsockopt(descriptor, SOL_SOCKET, SO_COOKIE, &cookie, &length) == 0 ? cookie : 0;
}

void trap_policy_is_ready(struct trap_page *page) { atomic_store(&page->policy_is_ready, 1); }

uint32_t trap_new_generation(struct trap_page *page) { return atomic_fetch_add(&page->generation, 1) + 1; }

void trap_report_is_written(struct trap_page *page) {
    atomic_store(&page->report_is_written, 1);
    (void)!write(page->poke, &(uint64_t){1}, 8);
}

uint32_t trap_missed_messages(const struct trap_page *page) {
    return atomic_load(&((struct trap_page *)page)->missed);
}

int trap_filter_failure(const struct trap_page *page) {
    return atomic_load(&((struct trap_page *)page)->filter_failure);
}
