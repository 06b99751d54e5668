// Nexthop objects. Where net.ipv4.nexthop_compat_mode is 0, a route that refers to one tells its number only.

import CLinux
import PathCore

/// The nexthop objects that were asked for during one reading of the tables.
struct Nexthops {
    fileprivate var known: [UInt32: [RouteWay]] = [:]
}

extension RouteTables {
    /// A route's ways, those of its nexthop object included.
    func ways(of route: RouteFields, _ nexthops: inout Nexthops) throws(SystemError) -> [RouteWay] {
        let ways = route.ways
        guard ways.isEmpty, route.type == RouteType.unicast, let identifier = route.nexthop else {
            return ways
        }
        return try self.ways(ofNexthop: identifier, &nexthops)
    }

    private func ways(
        ofNexthop identifier: UInt32, _ nexthops: inout Nexthops
    ) throws(SystemError) -> [RouteWay] {
        if let ways = nexthops.known[identifier] { return ways }
        let object = try netlink.ask("read a nexthop", RouteMessageType.getNexthop) { request in
            request.putFixedPart(NexthopMessage.self) { _ in }
            request.put(NexthopAttribute.identifier, identifier)
        } body: { answer in
            if case .data(let message) = answer { NexthopObject(message) } else { nil as NexthopObject? }
        }
        // A group's members are no groups.
        nexthops.known[identifier] = object?.way.map { [$0] } ?? []
        for member in object?.members ?? [] {
            let ways = try ways(ofNexthop: member, &nexthops)
            nexthops.known[identifier]?.append(contentsOf: ways)
        }
        return nexthops.known[identifier] ?? []
    }
}

/// struct nhmsg: family, scope, protocol, reserved u8, flags u32.
struct NexthopMessage: BitwiseCopyable {
    var family: UInt8 = 0
    var scope: UInt8 = 0
    var origin: UInt8 = 0
    var reserved: UInt8 = 0
    var flags: UInt32 = 0
}

/// What RTM_NEWNEXTHOP says.
struct NexthopObject {
    /// Where packets go; nil for a group, and for one that drops them.
    private(set) var way: RouteWay?
    /// The objects of a group.
    private(set) var members: [UInt32] = []

    /// - Returns: nil for another message, or one that is cut.
    init?(_ message: NetlinkMessage) {
        guard message.type == RouteMessageType.newNexthop,
            let flags = message.payload.number(UInt32.self, at: 4)
        else { return nil }
        var interface: InterfaceIndex?
        var gateway: IPAddress?
        var members: [UInt32] = []
        NetlinkAttributes(message.payload, after: MemoryLayout<NexthopMessage>.size).visit { type, value in
            switch type {
            case NexthopAttribute.outputInterface: interface = value.number()
            case NexthopAttribute.gateway: gateway = value.ipAddress()
            case NexthopAttribute.group:
                // struct nexthop_grp: id u32, weight u8, and three bytes more.
                members = stride(from: 0, to: value.count, by: 8).compactMap { value.number(at: $0) }
            default: break
            }
        }
        if let interface, flags & RouteFlags.dead == 0 {
            way = RouteWay(interface: interface, gateway: gateway)
        }
        self.members = members
    }
}
