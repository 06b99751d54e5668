// rtnetlink messages (include/uapi/linux/rtnetlink.h, if_link.h, if_addr.h) as PathCore's facts.

import CLinux
import PathCore

/// Turns rtnetlink messages into facts, and counts what it could not read.
package struct RouteDecoder {
    /// Messages or attributes that were cut, or too short for what they claim to be.
    package private(set) var malformed = 0

    package init() {}

    /// What a message says.
    enum Fact {
        case link(LinkFact)
        case linkGone(InterfaceIndex)
        case address(AddressFact)
        case addressGone(AddressFact)
        /// The hops of a default route of the main table.
        case defaultRoute([DefaultRouteFact])
    }

    /// The notifications of a datagram, as events.
    package mutating func events(in datagram: UnsafeRawBufferPointer) -> [KernelEvent] {
        var events: [KernelEvent] = []
        var malformed = 0
        let whole = try? NetlinkMessage.forEach(in: datagram) { message throws(SystemError) in
            if let isHint = Self.isRouteHint(message, &malformed) {
                if isHint, events.last != .defaultRouteChanged { events.append(.defaultRouteChanged) }
                return
            }
            switch Self.decode(message, &malformed) {
            case .link(let link): events.append(.link(link))
            case .linkGone(let index): events.append(.linkGone(index))
            case .address(let address): events.append(.address(address))
            case .addressGone(let address): events.append(.addressGone(address))
            case .defaultRoute, nil: break
            }
        }
        self.malformed += malformed + (whole == true ? 0 : 1)
        return events
    }

    /// The fact in one message, or nil for a message that is not about paths or can't be read.
    mutating func fact(in message: NetlinkMessage) -> Fact? {
        Self.decode(message, &malformed)
    }

    /// Whether a message about routing may concern traffic to the Internet; nil for any other message.
    ///
    /// Routes of length 1 belong to it, in every table: VPNs cover the default route with two of them.
    private static func isRouteHint(_ message: NetlinkMessage, _ malformed: inout Int) -> Bool? {
        switch message.type {
        case RouteMessageType.newNexthop, RouteMessageType.deleteNexthop, RouteMessageType.newRule,
            RouteMessageType.deleteRule:
            return true
        case RouteMessageType.newRoute, RouteMessageType.deleteRoute:
            guard let length = message.payload.number(UInt8.self, at: 1),
                message.payload.count >= MemoryLayout<rtmsg>.size
            else {
                malformed += 1
                return false
            }
            return length <= 1
        default: return nil
        }
    }

    private static func decode(_ message: NetlinkMessage, _ malformed: inout Int) -> Fact? {
        switch message.type {
        case RouteMessageType.newLink, RouteMessageType.deleteLink:
            link(message, &malformed)
        case RouteMessageType.newAddress, RouteMessageType.deleteAddress:
            address(message, &malformed)
        case RouteMessageType.newRoute:
            defaultRoute(message, &malformed)
        default: nil
        }
    }

    // MARK: Links (struct ifinfomsg: family, pad, type u16, index s32, flags u32, change u32)

    private static func link(_ message: NetlinkMessage, _ malformed: inout Int) -> Fact? {
        let payload = message.payload
        guard let family = payload.number(UInt8.self), let hardwareType = payload.number(UInt16.self, at: 2),
            let index = payload.number(UInt32.self, at: 4), let flags = payload.number(UInt32.self, at: 8),
            payload.count >= MemoryLayout<ifinfomsg>.size
        else {
            malformed += 1
            return nil
        }
        // A bridge announces its ports in AF_BRIDGE; the links themselves are told in AF_UNSPEC.
        guard family == AddressFamily.unspecified else { return nil }
        if message.type == RouteMessageType.deleteLink { return .linkGone(index) }
        var name: String?
        var kind: String?
        var lower: InterfaceIndex?
        var hardwareAddress: [UInt8] = []
        var isLowerElsewhere = false
        var portKind: String?
        var isWirelessReport = false
        let whole = NetlinkAttributes(payload, after: MemoryLayout<ifinfomsg>.size).visit { type, value in
            switch type {
            case LinkAttribute.name: name = value.text
            case LinkAttribute.info:
                NetlinkAttributes(value).visit { type, value in
                    if type == LinkAttribute.infoKind { kind = value.text }
                    if type == LinkAttribute.infoPortKind { portKind = value.text }
                }
            case LinkAttribute.lower: lower = value.number()
            case LinkAttribute.lowerNamespace: isLowerElsewhere = true
            case LinkAttribute.hardwareAddress: hardwareAddress = Array(value)
            case LinkAttribute.wireless: isWirelessReport = true
            default: break
            }
        }
        if !whole { malformed += 1 }
        // A wireless extensions event has a link's form but not all of a link's attributes.
        guard !isWirelessReport else { return nil }
        guard let name, !name.isEmpty else {
            malformed += 1
            return nil
        }
        return .link(
            LinkFact(
                index: index, name: name, hardwareType: hardwareType,
                flags: LinkFact.Flags(rawValue: flags), kind: kind,
                portKind: portKind,
                // The index of a link in another namespace says nothing here; one that is bound to none says 0.
                lower: isLowerElsewhere || lower == 0 || lower == index ? nil : lower,
                hardwareAddress: hardwareAddress))
    }

    // MARK: Addresses (struct ifaddrmsg: family, prefixlen, flags, scope u8, index u32)

    private static func address(_ message: NetlinkMessage, _ malformed: inout Int) -> Fact? {
        let payload = message.payload
        guard let family = payload.number(UInt8.self), let prefixLength = payload.number(UInt8.self, at: 1),
            let shortFlags = payload.number(UInt8.self, at: 2), let scope = payload.number(UInt8.self, at: 3),
            let index = payload.number(UInt32.self, at: 4)
        else {
            malformed += 1
            return nil
        }
        guard family == AddressFamily.ipv4 || family == AddressFamily.ipv6 else { return nil }
        var address: IPAddress?
        var local: IPAddress?
        var flags = UInt32(shortFlags)
        let whole = NetlinkAttributes(payload, after: MemoryLayout<ifaddrmsg>.size).visit { type, value in
            switch type {
            case AddressAttribute.address: address = value.ipAddress()
            case AddressAttribute.local: local = value.ipAddress()
            case AddressAttribute.flags: flags = value.number() ?? flags
            default: break
            }
        }
        if !whole { malformed += 1 }
        // On a point-to-point link ADDRESS is the peer's and LOCAL ours; elsewhere they are the same.
        guard let own = local ?? address, own.family == (family == AddressFamily.ipv4 ? .ipv4 : .ipv6) else {
            malformed += 1
            return nil
        }
        let fact = AddressFact(
            interface: index, address: own.inZone(index), prefixLength: prefixLength,
            flags: AddressFact.Flags(rawValue: flags), scope: scope)
        return message.type == RouteMessageType.newAddress ? .address(fact) : .addressGone(fact)
    }

    // MARK: Routes

    private static func defaultRoute(_ message: NetlinkMessage, _ malformed: inout Int) -> Fact? {
        guard let route = RouteFields(message, &malformed), route.isDefaultOfMain else { return nil }
        return .defaultRoute(route.hops)
    }

    /// All that a route's message says, or nil for another message or one that can't be read.
    mutating func route(in message: NetlinkMessage) -> RouteFields? {
        guard message.type == RouteMessageType.newRoute else { return nil }
        return RouteFields(message, &malformed)
    }
}
