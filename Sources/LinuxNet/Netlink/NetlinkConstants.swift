// Every raw netlink constant, with one Swift type each. The headers give them four different types.

import CLinux
import Glibc

enum RouteMessageType {
    static let done = UInt16(NLMSG_DONE)
    static let error = UInt16(NLMSG_ERROR)
    static let newLink = UInt16(RTM_NEWLINK)
    static let deleteLink = UInt16(RTM_DELLINK)
    static let getLink = UInt16(RTM_GETLINK)
    static let newAddress = UInt16(RTM_NEWADDR)
    static let deleteAddress = UInt16(RTM_DELADDR)
    static let getAddress = UInt16(RTM_GETADDR)
    static let newRoute = UInt16(RTM_NEWROUTE)
    static let deleteRoute = UInt16(RTM_DELROUTE)
    static let newRule = UInt16(RTM_NEWRULE)
    static let deleteRule = UInt16(RTM_DELRULE)
    static let newNexthop = UInt16(RTM_NEWNEXTHOP)
    static let deleteNexthop = UInt16(RTM_DELNEXTHOP)
    static let getRoute = UInt16(RTM_GETROUTE)
    static let getNexthop = UInt16(RTM_GETNEXTHOP)
}

enum MessageFlags {
    static let request = UInt16(NLM_F_REQUEST)
    static let dump = UInt16(NLM_F_DUMP)
    static let dumpInterrupted = UInt16(NLM_F_DUMP_INTR)
    static let acknowledgementTLVs = UInt16(0x200)  // NLM_F_ACK_TLVS
    static let capped = UInt16(0x100)  // NLM_F_CAPPED
}

enum LinkAttribute {
    static let name = UInt16(IFLA_IFNAME)
    static let info = UInt16(IFLA_LINKINFO)
    static let infoKind = UInt16(IFLA_INFO_KIND)
    static let infoPortKind = UInt16(IFLA_INFO_SLAVE_KIND)
    static let wireless = UInt16(IFLA_WIRELESS)
}

enum AddressAttribute {
    static let address = UInt16(IFA_ADDRESS)
    static let local = UInt16(IFA_LOCAL)
    static let flags = UInt16(IFA_FLAGS)
}

enum RouteAttribute {
    static let destination = UInt16(RTA_DST.rawValue)
    static let outputInterface = UInt16(RTA_OIF.rawValue)
    static let gateway = UInt16(RTA_GATEWAY.rawValue)
    static let priority = UInt16(RTA_PRIORITY.rawValue)
    static let multipath = UInt16(RTA_MULTIPATH.rawValue)
    static let table = UInt16(RTA_TABLE.rawValue)
    static let via = UInt16(RTA_VIA.rawValue)
    static let preference = UInt16(RTA_PREF.rawValue)
    static let nexthop = UInt16(30)  // RTA_NH_ID
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
