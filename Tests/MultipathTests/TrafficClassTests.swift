// What the packets of each traffic class bear, as a packet socket at the other end of each path sees them.

import Glibc
import LabNet
import TestSupport
import Testing

@testable import LinuxNet
@testable import Multipath

@Suite("A traffic class", .needsNamespaces, .needs("unshare"))
struct TrafficClassTests {
    @Test(
        "is borne by every SYN, join and packet of data, but of IPv6 with MPTCP by none, which the report says",
        .inNamespace)
    func marks() async throws {
        let world = try MarkedWorld()
        _ = try await world.monitor.currentPath()
        for trafficClass in TrafficClass.allCases {
            let dscp = trafficClass.dscp
            let mptcp = try await world.connect(trafficClass, .ipv4, [.mptcp])
            #expect(mptcp.seen == .all(dscp), "\(trafficClass), MPTCP over IPv4: \(mptcp.seen)")
            #expect(mptcp.establishment.marking == (dscp == 0 ? nil : TrafficMarking(trafficClass)))
            #expect(mptcp.transfer.paths.map(\.unmarkedSubflows) == [0, 0])

            let six = try await world.connect(trafficClass, .ipv6, [.mptcp])
            #expect(six.seen == .all(0), "\(trafficClass), MPTCP over IPv6: \(six.seen)")
            let unmarked = TrafficMarking(trafficClass, unmarkedFamily: .ipv6)
            #expect(six.establishment.marking == (dscp == 0 ? nil : unmarked))
            #expect(six.transfer.marking == six.establishment.marking)
            // A path has two subflows where the kernel and the peer each made one.
            let paths = six.transfer.paths
            #expect(paths.count == 2, "\(six.transfer)")
            #expect(
                paths.allSatisfy { $0.subflows > 0 && $0.unmarkedSubflows == (dscp == 0 ? 0 : $0.subflows) },
                "\(six.transfer)")

            for family in IPAddress.Family.allCases {
                let tcp = try await world.connect(trafficClass, family, [.tcp])
                #expect(
                    tcp.seen == .init(plainSYN: [dscp], data: [dscp]),
                    "\(trafficClass), TCP over \(family): \(tcp.seen)")
                #expect(tcp.establishment.marking == (dscp == 0 ? nil : TrafficMarking(trafficClass)))
            }
        }
    }

    @Test("is borne by IPv6, too, where the peer speaks no MPTCP: from the handshake's end on", .inNamespace)
    func marksAfterFallback() async throws {
        let world = try MarkedWorld()
        _ = try await world.monitor.currentPath()
        let fallen = try await world.connect(.voice, .ipv6, [.mptcp], peer: .tcp)
        #expect(fallen.establishment.transport == .tcp(fallback: .peer))
        #expect(fallen.seen == .init(firstSYN: [0], data: [TrafficClass.voice.dscp]), "\(fallen.seen)")
        #expect(fallen.establishment.marking == TrafficMarking(.voice))
    }
}

/// The code points that were seen, by what the packets were.
private struct SeenMarks: Equatable {
    var firstSYN: Set<UInt8> = []
    var join: Set<UInt8> = []
    var plainSYN: Set<UInt8> = []
    var data: Set<UInt8> = []

    static func all(_ dscp: UInt8) -> SeenMarks {
        SeenMarks(firstSYN: [dscp], join: [dscp], data: [dscp])
    }

    /// Takes an Ethernet frame; options of IP are not there.
    mutating func ingest(_ frame: UnsafeRawBufferPointer, to port: UInt16) {
        func number(_ place: Int) -> Int { Int(frame[place]) << 8 | Int(frame[place + 1]) }
        let (mark, tcp, end): (UInt8, Int, Int)
        switch number(12) {
        case 0x0800 where frame[14 + 9] == 6: (mark, tcp, end) = (frame[15] >> 2, 34, 14 + number(16))
        case 0x86DD where frame[14 + 6] == 6:
            (mark, tcp, end) = (UInt8(number(14) >> 6 & 0x3F), 54, 54 + number(18))
        default: return
        }
        guard number(tcp + 2) == Int(port) else { return }
        let payload = tcp + Int(frame[tcp + 12] >> 4) * 4
        guard frame[tcp + 13] & 0x02 != 0 else {
            if end > payload { data.insert(mark) }
            return
        }
        // The MPTCP option's subtype (RFC 8684 section 3): 0 is MP_CAPABLE, 1 MP_JOIN.
        var place = tcp + 20
        while place < payload, frame[place] != 0 {
            if frame[place] == 1 {
                place += 1
            } else if frame[place] == 30 {
                if frame[place + 2] >> 4 == 1 { join.insert(mark) } else { firstSYN.insert(mark) }
                return
            } else {
                place += max(2, Int(frame[place + 1]))
            }
        }
        plainSYN.insert(mark)
    }
}

/// A client with two paths, of both families, to a server in another network namespace, at whose ends all is seen.
private final class MarkedWorld: Sendable {
    let monitor = PathMonitor()
    private let server: NetworkNamespace
    private let captures: [PacketSocket]
    private let port = Locked<UInt16>(7000)

    struct Connection {
        var establishment: EstablishmentReport
        var transfer: TransferReport
        var seen: SeenMarks
    }

    init() throws {
        // Before this thread goes elsewhere: the event thread stays in the namespace it started in.
        try EventThread.shared.perform {}
        let server = try NetworkNamespace.make()
        let client = try NetworkControl()
        try client.addVeth(.init("wlan0"), to: .init("w0"), in: server)
        try client.addVeth(.init("wwan0"), to: .init("w1"), in: server)
        captures = try server.run { () throws(SystemError) in
            let control = try NetworkControl()
            for (name, addresses) in [
                ("lo", [("203.0.113.1", UInt8(32)), ("2001:db8:ff::1", 128)]),
                ("w0", [("192.0.2.1", 24), ("2001:db8:1::1", 64)]),
                ("w1", [("198.51.100.1", 24), ("2001:db8:2::1", 64)]),
            ] {
                let index = try NetworkControl.index(of: name)
                try control.setLink(name, up: true)
                for (text, prefix) in addresses {
                    guard let address = IPAddress(text) else { continue }
                    try control.addAddress(address, prefix: prefix, to: index)
                }
            }
            return [try PacketSocket("w0"), try PacketSocket("w1")]
        }
        for (name, metric, addresses) in [
            (
                "wlan0", UInt32(600),
                [("192.0.2.2", UInt8(24), "192.0.2.1"), ("2001:db8:1::2", 64, "2001:db8:1::1")]
            ),
            ("wwan0", 700, [("198.51.100.2", 24, "198.51.100.1"), ("2001:db8:2::2", 64, "2001:db8:2::1")]),
        ] {
            let index = try NetworkControl.index(of: name)
            try client.setLink(name, up: true)
            for (text, prefix, router) in addresses {
                guard let address = IPAddress(text), let gateway = IPAddress(router) else { continue }
                try client.addAddress(address, prefix: prefix, to: index)
                try client.addRoute(.init(via: gateway, index: index, metric: metric))
            }
        }
        self.server = server
    }

    /// Makes a connection, sends until every path that it may have has carried data, and closes it.
    func connect(
        _ trafficClass: TrafficClass, _ family: IPAddress.Family, _ protocols: Set<TransportProtocol>,
        peer: TransportProtocol = .mptcp
    ) async throws -> Connection {
        let port = port.withLock { port in
            port += 1
            return port
        }
        let listener = try server.run { () throws(SystemError) in
            let listener = try StreamSocket(.ipv6, peer)
            try listener.listen(on: IPEndpoint(IPAddress(ipv6: 0, 0), port: port))
            return listener
        }
        let connected = try await Connector(monitor: monitor).connect(
            host: family == .ipv4 ? "203.0.113.1" : "2001:db8:ff::1", port: Int(port)
        ) {
            $0.protocols = protocols
            $0.trafficClass = trafficClass
            $0.allowsExpensivePaths = true
            $0.mode = .aggregate
        }
        let follower = try connected.follow(hasHints: true)
        let establishment = connected.report
        let socket = StreamSocket(owning: Descriptor(owning: connected.takeDescriptor()))
        defer { follower.stop() }
        let isMPTCP = establishment.transport.isMPTCP
        var seen = SeenMarks()
        var carried: Set<Int> = []
        var complete: MonotonicTime?
        var accepted: StreamSocket?
        let deadline = MonotonicTime.now.advanced(by: .seconds(20))
        var buffer = [UInt8](repeating: 0x2A, count: 16_384)
        // Which of two paths the kernel's scheduler sends over is its own choice: both have some time to carry something.
        while .now < min(deadline, complete?.advanced(by: .milliseconds(isMPTCP ? 250 : 0)) ?? deadline),
            carried.count < (isMPTCP ? 2 : 1) || complete == nil
        {
            if accepted == nil { accepted = listener.accept() }
            buffer.withUnsafeMutableBytes { bytes in
                for _ in 0..<20 {
                    guard case .moved(let count) = socket.write(UnsafeRawBufferPointer(bytes)) else { break }
                    follower.didSend(count)
                }
                if let peer = accepted.take() {
                    while case .moved(let count) = peer.read(into: bytes), count > 0 {}
                    accepted = consume peer
                }
            }
            for (number, capture) in captures.enumerated() {
                var marks = SeenMarks()
                capture.receive(limit: .max) { frame, _ in marks.ingest(frame, to: port) }
                seen.firstSYN.formUnion(marks.firstSYN)
                seen.join.formUnion(marks.join)
                seen.plainSYN.formUnion(marks.plainSYN)
                seen.data.formUnion(marks.data)
                if !marks.data.isEmpty { carried.insert(number) }
            }
            if complete == nil, !seen.data.isEmpty, !isMPTCP || !seen.join.isEmpty { complete = .now }
            try await Task.sleep(for: .milliseconds(2))
        }
        return Connection(
            establishment: establishment, transfer: follower.transferReport(), seen: seen)
    }
}
