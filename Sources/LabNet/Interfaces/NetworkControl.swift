import CLab
import CLinux
import Glibc
import LinuxNet
import PathCore

/// Changes a network namespace's links, addresses and routes: the one this thread was in when it was made.
/// Each call waits for the kernel's acknowledgement.
package final class NetworkControl {
    private let netlink: NetlinkConnection

    package init() throws(SystemError) { netlink = try NetlinkConnection(.route) }

    /// One end of a virtual cable.
    package struct VethEnd {
        package var name: String
        /// The Ethernet address; the kernel picks one where it is nil.
        package var hardwareAddress: [UInt8]?

        package init(_ name: String, hardwareAddress: [UInt8]? = nil) {
            self.name = name
            self.hardwareAddress = hardwareAddress
        }
    }

    /// Lays a cable from this namespace to another.
    package func addVeth(
        _ here: VethEnd, to there: VethEnd, in namespace: borrowing NetworkNamespace
    ) throws(SystemError) {
        let number = namespace.number
        try netlink.request(
            "add link \(here.name)", RouteMessageType.newLink,
            flags: MessageFlags.create | MessageFlags.exclusive
        ) { request in
            request.putFixedPart(ifinfomsg.self) { _ in }
            Self.put(here, request)
            request.nest(LinkAttribute.info) {
                request.put(LinkAttribute.infoKind, Array("veth".utf8))
                request.nest(LinkAttribute.infoData) {
                    request.nest(vethPeer) {
                        request.putFixedPart(ifinfomsg.self) { _ in }
                        Self.put(there, request)
                        request.put(LinkAttribute.namespaceDescriptor, UInt32(number))
                    }
                }
            }
        }
    }

    private static func put(_ end: VethEnd, _ request: borrowing NetlinkRequest) {
        request.put(LinkAttribute.name, Array(end.name.utf8) + [0])
        if let address = end.hardwareAddress { request.put(LinkAttribute.hardwareAddress, address) }
    }

    package func removeLink(_ name: String) throws(SystemError) {
        try netlink.request("remove link \(name)", RouteMessageType.deleteLink) { request in
            request.putFixedPart(ifinfomsg.self) { _ in }
            request.put(LinkAttribute.name, Array(name.utf8) + [0])
        }
    }

    package func setLink(_ name: String, up: Bool) throws(SystemError) {
        try netlink.request("set link \(name) \(up ? "up" : "down")", RouteMessageType.newLink) { request in
            request.putFixedPart(ifinfomsg.self) {
                $0.ifi_flags = up ? UInt32(IFF_UP.rawValue) : 0
                $0.ifi_change = UInt32(IFF_UP.rawValue)
            }
            request.put(LinkAttribute.name, Array(name.utf8) + [0])
        }
    }

    package func setHardwareAddress(_ name: String, _ address: [UInt8]) throws(SystemError) {
        try netlink.request("set the Ethernet address of \(name)", RouteMessageType.newLink) { request in
            request.putFixedPart(ifinfomsg.self) { _ in }
            request.put(LinkAttribute.name, Array(name.utf8) + [0])
            request.put(LinkAttribute.hardwareAddress, address)
        }
    }

    /// The index of a link of the namespace this thread is in now.
    package static func index(of name: String) throws(SystemError) -> InterfaceIndex {
        let index = if_nametoindex(name)
        guard index > 0 else { throw SystemError("find link \(name)", errno: errno) }
        return index
    }

    /// Adds an address, usable at once: duplicate address detection would only cost a second here.
    package func addAddress(
        _ address: IPAddress, prefix: UInt8, to index: InterfaceIndex
    ) throws(SystemError) {
        try self.address(
            "add address \(address)", RouteMessageType.newAddress, MessageFlags.create | MessageFlags.replace,
            address,
            prefix, index)
    }

    package func removeAddress(
        _ address: IPAddress, prefix: UInt8, from index: InterfaceIndex
    ) throws(SystemError) {
        try self.address(
            "remove address \(address)", RouteMessageType.deleteAddress, 0, address, prefix, index)
    }

    private func address(
        _ operation: String, _ type: UInt16, _ flags: UInt16, _ address: IPAddress, _ prefix: UInt8,
        _ index: InterfaceIndex
    ) throws(SystemError) {
        try netlink.request(operation, type, flags: flags) { request in
            request.putFixedPart(ifaddrmsg.self) {
                $0.ifa_family = UInt8(address.kernelFamily)
                $0.ifa_prefixlen = prefix
                $0.ifa_flags = address.family == .ipv6 ? UInt8(IFA_F_NODAD) : 0
                $0.ifa_index = index
            }
            request.put(AddressAttribute.local, address.networkBytes)
            request.put(AddressAttribute.address, address.networkBytes)
        }
    }

    /// A route of the main table.
    package struct Route: Sendable {
        /// Nil for the default route.
        package var destination: (address: IPAddress, prefix: UInt8)?
        package var gateway: IPAddress
        package var index: InterfaceIndex
        package var metric: UInt32?

        package init(
            to destination: (address: IPAddress, prefix: UInt8)? = nil, via gateway: IPAddress,
            index: InterfaceIndex, metric: UInt32? = nil
        ) {
            self.destination = destination
            self.gateway = gateway
            self.index = index
            self.metric = metric
        }
    }

    package func addRoute(_ route: Route) throws(SystemError) {
        try self.route(
            "add the route via \(route.gateway)", RouteMessageType.newRoute,
            MessageFlags.create | MessageFlags.replace,
            route)
    }

    package func removeRoute(_ route: Route) throws(SystemError) {
        try self.route("remove the route via \(route.gateway)", RouteMessageType.deleteRoute, 0, route)
    }

    private func route(
        _ operation: String, _ type: UInt16, _ flags: UInt16, _ route: Route
    ) throws(SystemError) {
        try netlink.request(operation, type, flags: flags) { request in
            request.putFixedPart(rtmsg.self) {
                $0.rtm_family = UInt8(route.gateway.kernelFamily)
                $0.rtm_dst_len = route.destination?.prefix ?? 0
                $0.rtm_table = UInt8(RT_TABLE_MAIN.rawValue)
                // A route to be removed is found by what it says: these two match any.
                let isNew = type == RouteMessageType.newRoute
                $0.rtm_protocol = isNew ? UInt8(RTPROT_STATIC) : 0
                $0.rtm_scope = isNew ? UInt8(RT_SCOPE_UNIVERSE.rawValue) : UInt8(RT_SCOPE_NOWHERE.rawValue)
                $0.rtm_type = isNew ? UInt8(RTN_UNICAST) : 0
            }
            if let destination = route.destination {
                request.put(RouteAttribute.destination, destination.address.networkBytes)
            }
            request.put(RouteAttribute.gateway, route.gateway.networkBytes)
            request.put(RouteAttribute.outputInterface, route.index)
            if let metric = route.metric { request.put(RouteAttribute.priority, metric) }
        }
    }
}

/// VETH_INFO_PEER, of linux/veth.h.
private let vethPeer = UInt16(VETH_INFO_PEER)
