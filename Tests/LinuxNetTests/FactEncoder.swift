import CLinux
import PathCore

@testable import LinuxNet

/// Facts as the kernel would send them: the decoder's counterpart, for tests alone.
enum FactEncoder {
    static func bytes(of event: KernelEvent) -> [UInt8] {
        switch event {
        case .link(let fact):
            message(RouteMessageType.newLink) { request in
                request.putFixedPart(ifinfomsg.self) {
                    $0.ifi_type = fact.hardwareType
                    $0.ifi_index = CInt(bitPattern: fact.index)
                    $0.ifi_flags = fact.flags.rawValue
                }
                request.put(LinkAttribute.name, Array(fact.name.utf8) + [0])
                if !fact.hardwareAddress.isEmpty {
                    request.put(LinkAttribute.hardwareAddress, fact.hardwareAddress)
                }
                if let lower = fact.lower { request.put(LinkAttribute.lower, lower) }
                guard fact.kind != nil || fact.portKind != nil else { return }
                request.nest(LinkAttribute.info) {
                    if let kind = fact.kind { request.put(LinkAttribute.infoKind, Array(kind.utf8) + [0]) }
                    if let kind = fact.portKind {
                        request.put(LinkAttribute.infoPortKind, Array(kind.utf8) + [0])
                    }
                }
            }
        case .linkGone(let index):
            message(RouteMessageType.deleteLink) { request in
                request.putFixedPart(ifinfomsg.self) { $0.ifi_index = CInt(bitPattern: index) }
            }
        case .address(let fact): address(fact, RouteMessageType.newAddress)
        case .addressGone(let fact): address(fact, RouteMessageType.deleteAddress)
        case .defaultRouteChanged:
            message(RouteMessageType.deleteRule) { request in
                request.putFixedPart(rtmsg.self) { _ in }
            }
        case .lost: []
        }
    }

    private static func address(_ fact: AddressFact, _ type: UInt16) -> [UInt8] {
        message(type) { request in
            request.putFixedPart(ifaddrmsg.self) {
                $0.ifa_family = UInt8(fact.address.kernelFamily)
                $0.ifa_prefixlen = fact.prefixLength
                $0.ifa_flags = UInt8(truncatingIfNeeded: fact.flags.rawValue)
                $0.ifa_scope = fact.scope
                $0.ifa_index = fact.interface
            }
            request.put(AddressAttribute.address, fact.address.networkBytes)
            request.put(AddressAttribute.flags, fact.flags.rawValue)
        }
    }

    /// A default route of the main table with these ways.
    static func bytes(of hops: [DefaultRouteFact]) -> [UInt8] {
        let first = hops[0]
        return message(RouteMessageType.newRoute) { request in
            request.putFixedPart(rtmsg.self) {
                $0.rtm_family = first.family == .ipv4 ? AddressFamily.ipv4 : AddressFamily.ipv6
                $0.rtm_table = UInt8(RouteTable.main)
                $0.rtm_type = RouteType.unicast
            }
            request.put(RouteAttribute.priority, first.metric)
            let preference: UInt8 =
                switch first.preference {
                case .high: 1
                case .medium: 0
                case .low: 3
                }
            request.put(RouteAttribute.preference, [preference])
            if hops.count == 1 {
                request.put(RouteAttribute.outputInterface, first.interface)
                if let gateway = first.gateway { put(gateway, first.family, request) }
            } else {
                request.put(RouteAttribute.multipath, hops.flatMap(way))
            }
        }
    }

    /// struct rtnexthop and its attributes.
    private static func way(_ hop: DefaultRouteFact) -> [UInt8] {
        var attributes: [UInt8] = []
        if let gateway = hop.gateway {
            let isOther = gateway.family != hop.family
            let value = (isOther ? little(UInt16(gateway.kernelFamily)) : []) + gateway.networkBytes
            let type = isOther ? RouteAttribute.via : RouteAttribute.gateway
            attributes = little(UInt16(4 + value.count)) + little(type) + value
            attributes += Array(repeating: 0, count: (4 - attributes.count % 4) % 4)
        }
        return little(UInt16(8 + attributes.count)) + [0, 0] + little(hop.interface) + attributes
    }

    private static func put(
        _ gateway: IPAddress, _ family: IPAddress.Family, _ request: borrowing NetlinkRequest
    ) {
        if gateway.family == family {
            request.put(RouteAttribute.gateway, gateway.networkBytes)
        } else {
            request.put(RouteAttribute.via, little(UInt16(gateway.kernelFamily)) + gateway.networkBytes)
        }
    }

    /// A number in this machine's order.
    private static func little(_ number: some FixedWidthInteger & BitwiseCopyable) -> [UInt8] {
        withUnsafeBytes(of: number) { Array($0) }
    }

    private static func message(_ type: UInt16, _ fill: (borrowing NetlinkRequest) -> Void) -> [UInt8] {
        let request = NetlinkRequest(type: type, flags: 0, sequence: 1)
        fill(request)
        var bytes: [UInt8] = []
        request.withBytes { bytes += $0 }
        return bytes
    }
}
