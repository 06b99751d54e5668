// Every raw netlink constant, with one Swift type each. The headers give them four different types.

import CLinux
import Glibc

/// A netlink protocol.
package struct NetlinkBus: Sendable, Hashable {
    let rawValue: CInt
    /// Links, addresses, routes.
    package static let route = NetlinkBus(rawValue: NETLINK_ROUTE)
    static let generic = NetlinkBus(rawValue: NETLINK_GENERIC)
    /// Questions about sockets.
    static let sockets = NetlinkBus(rawValue: NETLINK_SOCK_DIAG)
}

package enum RouteMessageType {
    package static let done = UInt16(NLMSG_DONE)
    package static let error = UInt16(NLMSG_ERROR)
    package static let newLink = UInt16(RTM_NEWLINK)
    package static let deleteLink = UInt16(RTM_DELLINK)
    package static let getLink = UInt16(RTM_GETLINK)
    package static let newAddress = UInt16(RTM_NEWADDR)
    package static let deleteAddress = UInt16(RTM_DELADDR)
    package static let getAddress = UInt16(RTM_GETADDR)
    package static let newRoute = UInt16(RTM_NEWROUTE)
    package static let deleteRoute = UInt16(RTM_DELROUTE)
    package static let newRule = UInt16(RTM_NEWRULE)
    package static let deleteRule = UInt16(RTM_DELRULE)
    package static let newNexthop = UInt16(RTM_NEWNEXTHOP)
    package static let deleteNexthop = UInt16(RTM_DELNEXTHOP)
    package static let getRoute = UInt16(RTM_GETROUTE)
    package static let getNexthop = UInt16(RTM_GETNEXTHOP)
}

package enum MessageFlags {
    package static let request = UInt16(NLM_F_REQUEST)
    package static let dump = UInt16(NLM_F_DUMP)
    package static let acknowledge = UInt16(NLM_F_ACK)
    package static let create = UInt16(NLM_F_CREATE)
    package static let replace = UInt16(NLM_F_REPLACE)
    package static let exclusive = UInt16(NLM_F_EXCL)
    package static let dumpInterrupted = UInt16(NLM_F_DUMP_INTR)
    package static let acknowledgementTLVs = UInt16(0x200)  // NLM_F_ACK_TLVS
    package static let capped = UInt16(0x100)  // NLM_F_CAPPED
}

/// Of NLMSG_ERROR and NLMSG_DONE.
enum ExtendedAcknowledgement {
    static let message: UInt16 = 1  // NLMSGERR_ATTR_MSG
}

package enum LinkAttribute {
    package static let name = UInt16(IFLA_IFNAME)
    package static let info = UInt16(IFLA_LINKINFO)
    package static let infoData = UInt16(IFLA_INFO_DATA)
    package static let infoKind = UInt16(IFLA_INFO_KIND)
    package static let infoPortKind = UInt16(IFLA_INFO_SLAVE_KIND)
    package static let wireless = UInt16(IFLA_WIRELESS)
    package static let hardwareAddress = UInt16(IFLA_ADDRESS)
    package static let lower = UInt16(IFLA_LINK)
    package static let namespaceDescriptor = UInt16(IFLA_NET_NS_FD)
    package static let lowerNamespace = UInt16(IFLA_LINK_NETNSID)
}

package enum AddressAttribute {
    package static let address = UInt16(IFA_ADDRESS)
    package static let local = UInt16(IFA_LOCAL)
    package static let flags = UInt16(IFA_FLAGS)
}

package enum RouteAttribute {
    package static let destination = UInt16(RTA_DST.rawValue)
    package static let outputInterface = UInt16(RTA_OIF.rawValue)
    package static let gateway = UInt16(RTA_GATEWAY.rawValue)
    package static let priority = UInt16(RTA_PRIORITY.rawValue)
    package static let multipath = UInt16(RTA_MULTIPATH.rawValue)
    package static let table = UInt16(RTA_TABLE.rawValue)
    package static let via = UInt16(RTA_VIA.rawValue)
    package static let preference = UInt16(RTA_PREF.rawValue)
    package static let source = UInt16(RTA_SRC.rawValue)
    package static let user = UInt16(RTA_UID.rawValue)
    package static let mark = UInt16(RTA_MARK.rawValue)
    package static let nexthop = UInt16(30)  // RTA_NH_ID
}

/// Of nexthop objects (linux/nexthop.h).
enum NexthopAttribute {
    static let identifier = UInt16(1)  // NHA_ID
    static let group = UInt16(2)  // NHA_GROUP
    static let blackhole = UInt16(4)  // NHA_BLACKHOLE
    static let outputInterface = UInt16(5)  // NHA_OIF
    static let gateway = UInt16(6)  // NHA_GATEWAY
}

enum RouteTable {
    static let main = UInt32(RT_TABLE_MAIN.rawValue)
}

enum RouteType {
    static let unicast = UInt8(RTN_UNICAST)
    static let local = UInt8(RTN_LOCAL)
}

enum RouteFlags {
    /// RTM_F_FIB_MATCH: answer with the entry of the table, and fail where there is none.
    static let fibMatch = UInt32(0x2000)
    /// RTM_F_LOOKUP_TABLE: name the table the answer is from; otherwise IPv4 always says main.
    static let lookupTable = UInt32(0x1000)
    /// RTM_F_CLONED.
    static let cloned = UInt32(0x200)
    /// RTNH_F_DEAD.
    static let dead = UInt32(RTNH_F_DEAD)
}

enum MulticastGroup {
    static let link = UInt32(RTNLGRP_LINK.rawValue)
    static let ipv4Address = UInt32(RTNLGRP_IPV4_IFADDR.rawValue)
    static let ipv4Route = UInt32(RTNLGRP_IPV4_ROUTE.rawValue)
    static let ipv6Address = UInt32(RTNLGRP_IPV6_IFADDR.rawValue)
    static let ipv6Route = UInt32(RTNLGRP_IPV6_ROUTE.rawValue)
    static let ipv4Rule = UInt32(RTNLGRP_IPV4_RULE.rawValue)
    static let ipv6Rule = UInt32(RTNLGRP_IPV6_RULE.rawValue)
    static let nexthop = UInt32(RTNLGRP_NEXTHOP.rawValue)
    static let paths = [
        link, ipv4Address, ipv4Route, ipv4Rule, ipv6Address, ipv6Route, ipv6Rule, nexthop,
    ]
}

enum AddressFamily {
    static let unspecified = UInt8(AF_UNSPEC)
    static let ipv4 = UInt8(AF_INET)
    static let ipv6 = UInt8(AF_INET6)
}

/// Generic netlink's own family, which knows the others (include/uapi/linux/genetlink.h).
enum GenericController {
    static let identifier: UInt16 = 0x10  // GENL_ID_CTRL, NLMSG_MIN_TYPE
    static let newFamily: UInt8 = 1  // CTRL_CMD_NEWFAMILY
    static let getFamily: UInt8 = 3  // CTRL_CMD_GETFAMILY
    static let familyIdentifier: UInt16 = 1  // CTRL_ATTR_FAMILY_ID
    static let familyName: UInt16 = 2  // CTRL_ATTR_FAMILY_NAME
    static let version: UInt16 = 3  // CTRL_ATTR_VERSION
    static let groups: UInt16 = 7  // CTRL_ATTR_MCAST_GROUPS
    static let groupName: UInt16 = 1  // CTRL_ATTR_MCAST_GRP_NAME
    static let groupIdentifier: UInt16 = 2  // CTRL_ATTR_MCAST_GRP_ID
}

/// include/uapi/linux/nl80211.h
enum WirelessCommand {
    static let getInterface: UInt8 = 5
    static let setInterface: UInt8 = 6
    static let newInterface: UInt8 = 7
    static let deleteInterface: UInt8 = 8
    static let getStation: UInt8 = 17
    static let newStation: UInt8 = 19
    static let deleteStation: UInt8 = 20
    static let associate: UInt8 = 38
    static let deauthenticate: UInt8 = 39
    static let disassociate: UInt8 = 40
    static let connect: UInt8 = 46
    static let roam: UInt8 = 47
    static let disconnect: UInt8 = 48
    static let notifyConnectionQuality: UInt8 = 64
    static let channelSwitch: UInt8 = 88
}

enum WirelessAttribute {
    static let interface: UInt16 = 3  // NL80211_ATTR_IFINDEX
    static let interfaceType: UInt16 = 5  // NL80211_ATTR_IFTYPE
    static let stationInformation: UInt16 = 21  // NL80211_ATTR_STA_INFO
    static let ssid: UInt16 = 52  // NL80211_ATTR_SSID
    static let signal: UInt16 = 7  // NL80211_STA_INFO_SIGNAL
    static let transmitRate: UInt16 = 8  // NL80211_STA_INFO_TX_BITRATE
    static let rate16: UInt16 = 1  // NL80211_RATE_INFO_BITRATE
    static let rate32: UInt16 = 5  // NL80211_RATE_INFO_BITRATE32
}

/// include/uapi/linux/mptcp_pm.h, as of Linux 6.18; Debian 12's mptcp.h lacks many. Each is stable API.
enum PathManagerCommand {
    static let addAddress: UInt8 = 1  // MPTCP_PM_CMD_ADD_ADDR
    static let deleteAddress: UInt8 = 2
    static let getAddress: UInt8 = 3
    static let flushAddresses: UInt8 = 4
    static let setLimits: UInt8 = 5
    static let getLimits: UInt8 = 6
    static let setFlags: UInt8 = 7
    static let announce: UInt8 = 8
    static let remove: UInt8 = 9
    static let createSubflow: UInt8 = 10  // MPTCP_PM_CMD_SUBFLOW_CREATE
    static let destroySubflow: UInt8 = 11
}

enum PathManagerAttribute {
    static let address: UInt16 = 1  // MPTCP_PM_ATTR_ADDR
    static let acceptedAddresses: UInt16 = 2  // MPTCP_PM_ATTR_RCV_ADD_ADDRS
    static let subflows: UInt16 = 3
    static let token: UInt16 = 4
    static let localID: UInt16 = 5  // MPTCP_PM_ATTR_LOC_ID
    static let remoteAddress: UInt16 = 6  // MPTCP_PM_ATTR_ADDR_REMOTE
}

/// Inside an address. The port is in host order here, and in network order in events.
enum PathManagerAddress {
    static let family: UInt16 = 1  // MPTCP_PM_ADDR_ATTR_FAMILY
    static let id: UInt16 = 2
    static let ipv4: UInt16 = 3
    static let ipv6: UInt16 = 4
    static let port: UInt16 = 5
    static let flags: UInt16 = 6
    static let interface: UInt16 = 7  // MPTCP_PM_ADDR_ATTR_IF_IDX

    static let signal: UInt32 = 1 << 0  // MPTCP_PM_ADDR_FLAG_SIGNAL
    static let subflow: UInt32 = 1 << 1
    static let backup: UInt32 = 1 << 2
    static let fullMesh: UInt32 = 1 << 3
    static let implicit: UInt32 = 1 << 4
    static let laminar: UInt32 = 1 << 5
}

/// enum mptcp_event_type
enum PathManagerEvent {
    static let created: UInt8 = 1
    static let established: UInt8 = 2
    static let closed: UInt8 = 3
    static let announced: UInt8 = 6
    static let removed: UInt8 = 7
    static let subflowEstablished: UInt8 = 10
    static let subflowClosed: UInt8 = 11
    static let subflowPriority: UInt8 = 13
    static let listenerCreated: UInt8 = 15
    static let listenerClosed: UInt8 = 16
}

/// enum mptcp_event_attr
enum PathManagerEventAttribute {
    static let token: UInt16 = 1
    static let localID: UInt16 = 3  // MPTCP_ATTR_LOC_ID
    static let remoteID: UInt16 = 4
    static let localIPv4: UInt16 = 5  // MPTCP_ATTR_SADDR4
    static let localIPv6: UInt16 = 6
    static let remoteIPv4: UInt16 = 7
    static let remoteIPv6: UInt16 = 8
    static let localPort: UInt16 = 9
    static let remotePort: UInt16 = 10
    static let backup: UInt16 = 11
    static let error: UInt16 = 12
    static let flags: UInt16 = 13
    static let interface: UInt16 = 15  // MPTCP_ATTR_IF_IDX
    static let resetReason: UInt16 = 16
    static let resetFlags: UInt16 = 17
    /// Of kernels before 6.18, which have no flag for it.
    static let isServer: UInt16 = 18  // MPTCP_ATTR_SERVER_SIDE

    static let deniesJoinToFirst: UInt16 = 1 << 0  // MPTCP_PM_EV_FLAG_DENY_JOIN_ID0
    static let serverSide: UInt16 = 1 << 1
}
