import CLinux
import PathCore

/// A route as a message tells it: struct rtmsg (family, dst_len, src_len, tos, table, protocol, scope,
/// type u8, flags u32) and the attributes behind it.
struct RouteFields {
    let family: IPAddress.Family
    /// The length of the destination's prefix.
    let length: UInt8
    let type: UInt8
    private(set) var table: UInt32
    private(set) var interface: InterfaceIndex?
    /// The nexthop object it refers to (RTA_NH_ID).
    private(set) var nexthop: UInt32?
    /// Whether its destination, whatever its length, begins with address zero.
    private(set) var beginsAtZero = true
    private let flags: UInt32
    private var metric: UInt32 = 0
    private var preference = DefaultRouteFact.Preference.medium
    private var gateway: IPAddress?
    private var multipath: [RouteWay] = []

    /// - Parameter malformed: counts what was cut.
    init?(_ message: NetlinkMessage, _ malformed: inout Int) {
        let payload = message.payload
        guard let family = payload.number(UInt8.self), let length = payload.number(UInt8.self, at: 1),
            let shortTable = payload.number(UInt8.self, at: 4), let type = payload.number(UInt8.self, at: 7),
            let flags = payload.number(UInt32.self, at: 8)
        else {
            malformed += 1
            return nil
        }
        guard family == AddressFamily.ipv4 || family == AddressFamily.ipv6 else { return nil }
        (self.length, self.type, self.flags) = (length, type, flags)
        self.family = family == AddressFamily.ipv4 ? .ipv4 : .ipv6
        table = UInt32(shortTable)
        if !read(NetlinkAttributes(payload, after: MemoryLayout<rtmsg>.size)) { malformed += 1 }
    }

    /// The length of a destination's prefix, read by itself.
    static func length(in message: NetlinkMessage) -> UInt8? { message.payload.number(at: 1) }

    /// - Returns: false where an attribute was cut.
    private mutating func read(_ attributes: NetlinkAttributes) -> Bool {
        var fields = self
        let whole = attributes.visit { type, value in
            switch type {
            case RouteAttribute.table: fields.table = value.number() ?? fields.table
            case RouteAttribute.destination: fields.beginsAtZero = value.allSatisfy { $0 == 0 }
            case RouteAttribute.priority: fields.metric = value.number() ?? 0
            case RouteAttribute.preference: fields.preference = Self.preference(value.number() ?? 0)
            case RouteAttribute.outputInterface: fields.interface = value.number()
            case RouteAttribute.gateway: fields.gateway = value.ipAddress()
            case RouteAttribute.via: fields.gateway = Self.via(value)
            case RouteAttribute.multipath: fields.multipath = Self.ways(value)
            case RouteAttribute.nexthop: fields.nexthop = value.number()
            default: break
            }
        }
        self = fields
        return whole
    }

    /// A default route of the main table. "unreachable default" and its like are, too, but lead nowhere.
    var isDefaultOfMain: Bool { length == 0 && table == RouteTable.main }

    /// Its ways: several for a multipath route, none for a route that leads nowhere. A route by a nexthop
    /// object has none of its own where the kernel is set to leave them out.
    var ways: [RouteWay] {
        // Cached copies (RTM_F_CLONED) are no routes.
        guard type == RouteType.unicast, flags & (RouteFlags.dead | RouteFlags.cloned) == 0 else { return [] }
        return multipath.isEmpty
            ? interface.map { [RouteWay(interface: $0, gateway: gateway)] } ?? [] : multipath
    }

    /// Its ways as default routes.
    var hops: [DefaultRouteFact] { hops(by: ways) }

    /// The same with the ways that its nexthop object has.
    func hops(by ways: [RouteWay]) -> [DefaultRouteFact] {
        ways.map { way in
            DefaultRouteFact(
                family: family, interface: way.interface, gateway: way.gateway?.inZone(way.interface),
                metric: metric, preference: preference)
        }
    }

    /// RTA_PREF, as ICMPv6 numbers it (RFC 4191 section 2.1): two bits, signed, of which -2 means medium.
    private static func preference(_ value: UInt8) -> DefaultRouteFact.Preference {
        switch value {
        case 1: .high
        case 3: .low
        default: .medium
        }
    }

    /// RTA_VIA: a gateway of another family (u16), then its bytes.
    private static func via(_ value: UnsafeRawBufferPointer) -> IPAddress? {
        value.ipAddress(at: 2)
    }

    /// RTA_MULTIPATH: a list of struct rtnexthop (len u16, flags u8, hops u8, ifindex s32) and attributes.
    private static func ways(_ value: UnsafeRawBufferPointer) -> [RouteWay] {
        var ways: [RouteWay] = []
        var rest = value
        while let length = rest.number(UInt16.self).map(Int.init), let flags = rest.number(UInt8.self, at: 2),
            let index = rest.number(UInt32.self, at: 4), (8...rest.count).contains(length)
        {
            var way = RouteWay(interface: index)
            NetlinkAttributes(UnsafeRawBufferPointer(rebasing: rest[..<length]), after: 8).visit {
                type, value in
                if type == RouteAttribute.gateway { way.gateway = value.ipAddress() }
                if type == RouteAttribute.via { way.gateway = via(value) }
            }
            if UInt32(flags) & RouteFlags.dead == 0 { ways.append(way) }
            let step = (length + 3) & ~3
            guard step < rest.count else { break }
            rest = UnsafeRawBufferPointer(rebasing: rest[step...])
        }
        return ways
    }
}

/// One way that a route may take.
struct RouteWay: Hashable {
    var interface: InterfaceIndex
    var gateway: IPAddress?
}
