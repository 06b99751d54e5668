import Foundation
import PathCore
import TestSupport
import Testing

@testable import LinuxNet

@Suite("The rtnetlink decoder")
struct RouteDecoderTests {
    private func decode(_ datagrams: [[UInt8]]) -> (events: [KernelEvent], malformed: Int) {
        var decoder = RouteDecoder()
        let events = datagrams.flatMap { datagram in datagram.withUnsafeBytes { decoder.events(in: $0) } }
        return (events, decoder.malformed)
    }

    @Test("takes each change of a rule or a nexthop for a hint, and finds nothing wrong with it")
    func hints() throws {
        let datagrams = try Recording("rules-nexthops").datagrams
        let (events, malformed) = decode(datagrams)
        #expect(malformed == 0)
        #expect(events == Array(repeating: .defaultRouteChanged, count: datagrams.count))
    }

    @Test("reads every message of a recording, and finds nothing wrong with it")
    func recording() throws {
        let (events, malformed) = decode(try Recording().datagrams)
        #expect(malformed == 0)
        var names: [String: String?] = [:]
        var addresses: Set<String> = []
        for event in events {
            if case .link(let link) = event { names[link.name] = link.kind }
            if case .address(let fact) = event {
                addresses.insert("\(fact.address.inZone(0))/\(fact.prefixLength)")
            }
        }
        #expect(names["wlan0"] == "veth")
        #expect(names["wifi0"] == "veth", "the renamed link")
        #expect(names["lo"] == .some(nil))
        #expect(names["br0"] == "bridge")
        #expect(
            addresses.isSuperset(of: [
                "127.0.0.1/8", "::1/128", "192.0.2.2/24", "2001:db8:1::2/64", "198.51.100.1/32",
            ]))
        #expect(events.contains(.defaultRouteChanged))
        #expect(events.contains { if case .linkGone = $0 { true } else { false } })
        #expect(events.contains { if case .addressGone = $0 { true } else { false } })
    }

    @Test("reads the hops, gateways and metrics of recorded default routes, and no route that leads nowhere")
    func routes() throws {
        var decoder = RouteDecoder()
        var routes: Set<String> = []
        for datagram in try Recording().datagrams {
            try datagram.withUnsafeBytes { bytes in
                _ = try NetlinkMessage.forEach(in: bytes) { message throws(SystemError) in
                    guard case .defaultRoute(let hops) = decoder.fact(in: message) else { return }
                    for hop in hops {
                        routes.insert("\(hop.family) \(hop.gateway.map { "\($0)" } ?? "none") \(hop.metric)")
                    }
                }
            }
        }
        #expect(
            routes == [
                "ipv4 192.0.2.1 600", "ipv4 192.0.2.9 600", "ipv4 192.0.2.1 900", "ipv4 192.0.2.3 900",
                "ipv4 192.0.2.7 950", "ipv4 2001:db8:1::9 960", "ipv6 2001:db8:1::1 600",
                "ipv6 2001:db8:1::1 700", "ipv6 2001:db8:1::5 700",
            ])
    }

    @Test("counts a datagram that is cut anywhere, and keeps what stood before the cut")
    func truncation() throws {
        for datagram in try Recording().datagrams where datagram.count > 16 {
            let whole = decode([datagram]).events
            for length in stride(from: 1, to: datagram.count, by: 7) {
                let (events, malformed) = decode([Array(datagram[..<length])])
                #expect(events == Array(whole.prefix(events.count)))
                // Cut exactly between two messages, it is whole.
                #expect(malformed == 1 || startsOfMessages(datagram).contains(length))
            }
        }
    }

    private func startsOfMessages(_ datagram: [UInt8]) -> Set<Int> {
        var starts: Set<Int> = []
        var position = 0
        while position + 4 <= datagram.count {
            let length = Int(datagram[position]) | Int(datagram[position + 1]) << 8
            // The padding behind a message belongs to it, but may be missing.
            starts.formUnion(position + length...position + (length + 3) & ~3)
            position += (length + 3) & ~3
        }
        return starts
    }

    /// `FUZZ_INPUTS` asks for more, or other, with `FUZZ_SEED`.
    private static let inputs = number("FUZZ_INPUTS") ?? 120_000
    private static let seed = UInt64(number("FUZZ_SEED") ?? 20_261_121)

    private static func number(_ name: String) -> Int? {
        ProcessInfo.processInfo.environment[name].flatMap { Int($0) }
    }

    @Test("never traps: mutations of a recording and of random bytes")
    func mutations() throws {
        let corpus = try Recording.everyKind()
        var random = SplitMix64(seed: Self.seed)
        var decoder = RouteDecoder()
        var events = 0
        let interesting: [UInt8] = [0, 1, 2, 3, 4, 7, 8, 15, 16, 0x7F, 0x80, 0xFE, 0xFF]
        for round in 0..<Self.inputs {
            var bytes = corpus[Int(random.next() % UInt64(corpus.count))]
            if round % 40 == 0 {
                bytes = (0..<Int(random.next() % 600)).map { _ in UInt8(truncatingIfNeeded: random.next()) }
            }
            for _ in 0..<(1 + random.next() % 6) where !bytes.isEmpty {
                // Most mutations hit the first messages, where lengths and types are.
                let reach = random.next() % 3 == 0 ? bytes.count : min(bytes.count, 96)
                let place = Int(random.next() % UInt64(reach))
                switch random.next() % 6 {
                case 0: bytes[place] = UInt8(truncatingIfNeeded: random.next())
                case 1: bytes[place] = interesting[Int(random.next() % UInt64(interesting.count))]
                case 2: bytes.removeSubrange(place...)
                case 3: bytes.insert(contentsOf: bytes[place...].prefix(Int(random.next() % 64)), at: place)
                case 4: bytes.removeSubrange(place..<min(bytes.count, place + Int(random.next() % 16)))
                default: bytes[place] ^= 1 << UInt8(random.next() % 8)
                }
            }
            events += bytes.withUnsafeBytes { datagram in
                _ = try? NetlinkMessage.forEach(in: datagram) { message throws(SystemError) in
                    _ = (NetlinkRefusal(inError: message).detail, NetlinkRefusal(inDone: message).detail)
                    _ = decoder.fact(in: message)
                    _ = decoder.route(in: message)?.hops
                    _ = NexthopObject(message)
                }
                return decoder.events(in: datagram).count
            }
        }
        // The mutations are not so wild that nothing gets as far as the attributes.
        #expect(events > Self.inputs / 6)
        #expect(decoder.malformed > Self.inputs / 12)
    }

    @Test("reads an empty datagram as nothing")
    func empty() {
        var decoder = RouteDecoder()
        #expect(decoder.events(in: UnsafeRawBufferPointer(start: nil, count: 0)) == [])
        #expect(decoder.malformed == 0)
    }
}
