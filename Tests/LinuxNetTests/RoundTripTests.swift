import PathCore
import TestSupport
import Testing

@testable import LinuxNet

@Suite("Encoded and decoded again, facts are the same")
struct RoundTripTests {
    private func decoded(_ bytes: [UInt8]) -> [KernelEvent] {
        var decoder = RouteDecoder()
        let events = bytes.withUnsafeBytes { decoder.events(in: $0) }
        #expect(decoder.malformed == 0)
        return events
    }

    private func routes(in datagram: [UInt8]) throws -> [[DefaultRouteFact]] {
        var decoder = RouteDecoder()
        var routes: [[DefaultRouteFact]] = []
        try datagram.withUnsafeBytes { bytes in
            _ = try NetlinkMessage.forEach(in: bytes) { message throws(SystemError) in
                if case .defaultRoute(let hops) = decoder.fact(in: message) { routes.append(hops) }
            }
        }
        return routes
    }

    @Test("as a kernel sent them")
    func recorded() throws {
        for datagram in try Recording.everyKind() {
            for event in decoded(datagram) { #expect(decoded(FactEncoder.bytes(of: event)) == [event]) }
            for hops in try routes(in: datagram) where !hops.isEmpty {
                #expect(try routes(in: FactEncoder.bytes(of: hops)) == [hops])
            }
        }
    }

    @Test("as a generator made them: 20,000")
    func generated() throws {
        var random = SplitMix64(seed: 6_121)
        for _ in 0..<10_000 {
            let event = random.event()
            #expect(decoded(FactEncoder.bytes(of: event)) == [event])
            let hops = random.hops()
            #expect(try routes(in: FactEncoder.bytes(of: hops)) == [hops])
        }
    }

    @Test("and the recordings hold messages of every kind that is read")
    func everyKind() throws {
        var types: Set<UInt16> = []
        for datagram in try Recording.everyKind() {
            try datagram.withUnsafeBytes { bytes in
                _ = try NetlinkMessage.forEach(in: bytes) { message throws(SystemError) in
                    types.insert(message.type)
                }
            }
        }
        #expect(
            types.isSuperset(of: [
                RouteMessageType.newLink, RouteMessageType.deleteLink, RouteMessageType.newAddress,
                RouteMessageType.deleteAddress, RouteMessageType.newRoute, RouteMessageType.deleteRoute,
                RouteMessageType.newNexthop, RouteMessageType.deleteNexthop, RouteMessageType.newRule,
                RouteMessageType.deleteRule,
            ]), "\(types.sorted())")
    }
}

extension SplitMix64 {
    fileprivate mutating func event() -> KernelEvent {
        switch next() % 4 {
        case 0: .linkGone(index())
        case 1: .address(address())
        case 2: .addressGone(address())
        default:
            .link(
                LinkFact(
                    index: index(), name: name(), hardwareType: UInt16(truncatingIfNeeded: next()),
                    flags: LinkFact.Flags(rawValue: UInt32(truncatingIfNeeded: next())),
                    kind: oneIn(2) ? name() : nil, portKind: oneIn(2) ? "vrf" : nil,
                    // Not its own number: such a link has none below.
                    lower: oneIn(2) ? 0x7FFF_FFFF : nil,
                    hardwareAddress: oneIn(2) ? (0..<6).map { _ in UInt8(truncatingIfNeeded: next()) } : []))
        }
    }

    fileprivate mutating func hops() -> [DefaultRouteFact] {
        let family: IPAddress.Family = oneIn(2) ? .ipv4 : .ipv6
        let metric = UInt32(truncatingIfNeeded: next())
        let preferences: [DefaultRouteFact.Preference] = [.low, .medium, .high]
        let preference = preferences[Int(next() % 3)]
        return (0..<(1 + next() % 5)).map { _ in
            let interface = index()
            return DefaultRouteFact(
                family: family, interface: interface,
                gateway: oneIn(4) ? nil : (oneIn(6) ? ip() : ip(family)).inZone(interface), metric: metric,
                preference: preference)
        }
    }

    private mutating func index() -> InterfaceIndex { InterfaceIndex(1 + next() % 0x7FFF_FFFF) }

    private mutating func name() -> String {
        String((0..<(1 + next() % 15)).map { _ in Array("abcdefgh0123456789-._é")[Int(next() % 22)] })
    }

    private mutating func ip(_ family: IPAddress.Family? = nil) -> IPAddress {
        switch family ?? (oneIn(2) ? .ipv4 : .ipv6) {
        case .ipv4: IPAddress(ipv4: UInt32(truncatingIfNeeded: next()))
        case .ipv6: IPAddress(ipv6: oneIn(3) ? 0xFE80_0000_0000_0000 : next(), next())
        }
    }

    private mutating func address() -> AddressFact {
        let interface = index()
        return AddressFact(
            interface: interface, address: ip().inZone(interface), prefixLength: UInt8(next() % 129),
            flags: AddressFact.Flags(rawValue: UInt32(truncatingIfNeeded: next())),
            scope: UInt8(truncatingIfNeeded: next()))
    }
}
