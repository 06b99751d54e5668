#include "changes.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

int changes_open(void) { return socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE); }

int64_t changes_now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

struct request {
    struct nlmsghdr header;
    struct rtmsg route;
    char attributes[64];
};

static void put(struct request *request, unsigned short type, uint32_t value) {
    struct rtattr *attribute = (struct rtattr *)((char *)request + request->header.nlmsg_len);
    attribute->rta_type = type;
    attribute->rta_len = RTA_LENGTH(sizeof value);
    memcpy(RTA_DATA(attribute), &value, sizeof value);
    request->header.nlmsg_len += RTA_SPACE(sizeof value);
}

int changes_default_route(int socket, int add, uint32_t gateway, int link, uint32_t metric, int64_t *sent) {
    struct request request;
    memset(&request, 0, sizeof request);
    request.header.nlmsg_len = NLMSG_LENGTH(sizeof request.route);
    request.header.nlmsg_type = add ? RTM_NEWROUTE : RTM_DELROUTE;
    request.header.nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK | (add ? NLM_F_CREATE : 0);
    request.route.rtm_family = AF_INET;
    request.route.rtm_table = RT_TABLE_MAIN;
    request.route.rtm_protocol = add ? RTPROT_BOOT : RTPROT_UNSPEC;
    request.route.rtm_scope = add ? RT_SCOPE_UNIVERSE : RT_SCOPE_NOWHERE;
    request.route.rtm_type = add ? RTN_UNICAST : RTN_UNSPEC;
    put(&request, RTA_GATEWAY, htonl(gateway));
    put(&request, RTA_OIF, (uint32_t)link);
    put(&request, RTA_PRIORITY, metric);
    *sent = changes_now();
    if (send(socket, &request, request.header.nlmsg_len, 0) < 0) return errno;
    char answer[4096];
    if (recv(socket, answer, sizeof answer, 0) < (ssize_t)NLMSG_LENGTH(sizeof(struct nlmsgerr))) return EPROTO;
    return -((struct nlmsgerr *)NLMSG_DATA((struct nlmsghdr *)answer))->error;
}
