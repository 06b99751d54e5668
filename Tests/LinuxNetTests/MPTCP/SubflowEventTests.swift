import PathCore
import TestSupport
import Testing

@testable import LinuxNet

extension SubflowEvent {
    /// One line for a test to compare, without the token.
    fileprivate var line: String {
        func text(_ facts: SubflowFacts) -> String {
            func number(_ value: UInt8?) -> String { value.map { "\($0)" } ?? "-" }
            return "\(facts.local) > \(facts.remote) ids \(number(facts.localID)) \(number(facts.remoteID))"
                + (facts.isBackup == true ? " backup" : "") + (facts.interface.map { " on \($0)" } ?? "")
        }
        func error(_ error: Int32?) -> String { error.map { " error \($0)" } ?? "" }
        func server(_ isServer: Bool, _ denies: Bool) -> String {
            (isServer ? " server" : "") + (denies ? " denies" : "")
        }
        return switch self {
        case .created(_, let facts, let isServer, let denies):
            "created \(text(facts))\(server(isServer, denies))"
        case .established(_, let facts, let isServer, let denies):
            "established \(text(facts))\(server(isServer, denies))"
        case .closed: "closed"
        case .announced(_, let id, let endpoint): "announced \(id) \(endpoint)"
        case .removed(_, let id): "removed \(id)"
        case .subflowEstablished(_, let facts, let code): "joined \(text(facts))\(error(code))"
        case .subflowClosed(_, let facts, let end):
            "left \(text(facts))\(error(end.error))" + (end.reset.map { " reset \($0)" } ?? "")
                + (end.isTransient ? " transient" : "")
        case .subflowPriority(_, let facts): "priority \(text(facts))"
        case .listenerCreated(let endpoint): "listener \(endpoint)"
        case .listenerClosed(let endpoint): "listener gone \(endpoint)"
        case .lost: "lost"
        }
    }
}

@Suite("The path manager's events")
struct SubflowEventTests {
    private func decode(_ datagram: [UInt8]) -> [SubflowEvent?] {
        var events: [SubflowEvent?] = []
        datagram.withUnsafeBytes { bytes in
            _ = try? NetlinkMessage.forEach(in: bytes) { message throws(SystemError) in
                events.append(GenericMessage(message).flatMap(SubflowEventDecoder.event))
            }
        }
        return events
    }

    /// A message by hand, as the kernel's nla_put does it.
    private func message(_ command: UInt8, _ attributes: [(UInt16, [UInt8])]) -> [UInt8] {
        func bytes(_ value: some FixedWidthInteger) -> [UInt8] { withUnsafeBytes(of: value) { Array($0) } }
        var payload: [UInt8] = [command, 1, 0, 0]
        for (type, value) in attributes {
            payload += bytes(UInt16(4 + value.count)) + bytes(type) + value
            payload += [UInt8](repeating: 0, count: (4 - value.count % 4) % 4)
        }
        return bytes(UInt32(16 + payload.count)) + bytes(UInt16(30)) + bytes(UInt16(0)) + bytes(UInt32(0))
            + bytes(UInt32(0)) + payload
    }

    @Test("are read as this kernel sent them")
    func recorded() throws {
        let events = try Recording("mptcp-events").datagrams.flatMap(decode)
        let read = events.compactMap { $0 }
        #expect(read.count == events.count)
        let tokens = Set(read.compactMap(\.token))
        let lines = read.map(\.line)
        #expect(tokens.count == 6)
        #expect(lines == Self.lines, "\(lines.joined(separator: "\n"))")
    }

    @Test("tell why a subflow ended, and what the peer forbids")
    func resets() {
        let subflow: [(UInt16, [UInt8])] = [
            (1, [1, 2, 3, 4]), (5, [192, 0, 2, 2]), (7, [203, 0, 113, 1]), (9, [0xC0, 1]),
            (10, [0x13, 0x88]),
        ]
        let closed = decode(message(11, subflow + [(16, [6, 0, 0, 0]), (17, [1, 0, 0, 0]), (12, [104])]))
        let facts = SubflowFacts(
            local: IPEndpoint("192.0.2.2", 0xC001), remote: IPEndpoint("203.0.113.1", 5000))
        let token = ConnectionToken(0x0403_0201)
        #expect(token.description == "04030201")
        let end = SubflowEnd(error: 104, reset: .middleboxInterference, isTransient: true)
        #expect(closed == [.subflowClosed(token, facts, end)])
        let denied = decode(message(2, subflow + [(13, [1, 0]), (18, [1])]))
        #expect(denied == [.established(token, facts, isServer: true, deniesJoinToFirst: true)])
        for code in UInt8.min...UInt8.max {
            let reason = ResetReason(code: code)
            #expect((code > 6) == (reason == .other(code)))
            #expect(!reason.description.isEmpty)
        }
    }

    @Test("that are of another kind, or lack what they need, are none")
    func unknown() {
        #expect(decode(message(99, [(1, [1, 2, 3, 4])])) == [nil])
        #expect(decode(message(3, [])) == [nil])
        #expect(decode(message(3, [(1, [1, 2])])) == [nil])
        #expect(decode(message(6, [(1, [1, 2, 3, 4]), (4, [5])])) == [nil])
        #expect(decode(message(10, [(1, [1, 2, 3, 4]), (5, [192, 0, 2])])) == [nil])
        #expect(decode(message(15, [(9, [1, 2])])) == [nil])
    }

    @Test("that are cut at any byte, or damaged, never trap")
    func mutations() throws {
        let whole = try Recording("mptcp-events").datagrams
        for datagram in whole {
            for count in 0..<datagram.count {
                // A header's length that is more than there is makes it no message; one that fits is read.
                #expect(decode(Array(datagram[..<count])) == [])
                var cut = Array(datagram[..<count])
                guard count >= 16 else { continue }
                cut.replaceSubrange(0..<4, with: withUnsafeBytes(of: UInt32(count)) { Array($0) })
                #expect(decode(cut).count == 1)
            }
        }
        var random = SplitMix64(seed: 8_684)
        for _ in 0..<30_000 {
            let bytes = whole[Int(random.next() % UInt64(whole.count))].damaged(&random)
            _ = decode(bytes)
        }
    }

    @Test("say that some were lost where they were not read in time", .needsNamespaces, .inNamespace)
    func overflow() throws {
        let log = try EventLog()
        try EventThread.shared.perform { () throws(SystemError) in
            // No thread reads events while this one makes them.
            for _ in 0..<500 {
                let listener = try StreamSocket(.ipv4, .mptcp)
                try listener.listen(on: IPEndpoint("127.0.0.1", 0))
            }
        }
        #expect(try log.wait("the loss") { $0 == .lost ? true : nil })
        // And what comes after it.
        let listener = try StreamSocket(.ipv4, .mptcp)
        try listener.listen(on: IPEndpoint("127.0.0.1", 0))
        let place = listener.localEndpoint
        #expect(
            try log.wait("the next event") { event -> Bool? in
                if case .listenerCreated(place) = event { true } else { nil }
            })
        try log.stop()
    }

    /// Two subflows of a connection over IPv4, and a third by which a path was asked about; what the server's
    /// endpoints did to them, a join that met no listener, and one that a firewall reset; a connection whose
    /// server takes no second subflow; both ends of one over loopback; one over IPv6, and one that is IPv4
    /// under an IPv6 socket.
    private static let lines = [
        "created 192.0.2.2:39874 > 203.0.113.1:5000 ids 0 0",
        "established 192.0.2.2:39874 > 203.0.113.1:5000 ids 0 0",
        "joined 198.51.100.2:57529 > 203.0.113.1:5000 ids 1 0 on 3",
        "joined 192.0.2.2:47933 > 203.0.113.1:5000 ids 0 0 on 2",
        "announced 5 198.51.100.1:5000",
        "priority 192.0.2.2:39874 > 203.0.113.1:5000 ids 0 0 backup on 2",
        "removed 5",
        "left 192.0.2.2:39874 > 203.0.113.1:5000 ids 0 0 backup on 2",
        "left 198.51.100.2:57529 > 203.0.113.1:5000 ids 1 0 on 3",
        "left 192.0.2.2:47933 > 203.0.113.1:5000 ids 0 0 on 2",
        "left 198.51.100.2:58317 > 203.0.113.1:5001 ids 1 0 on 3 error 111",
        "created 192.0.2.2:39888 > 203.0.113.1:5000 ids 0 0",
        "established 192.0.2.2:39888 > 203.0.113.1:5000 ids 0 0",
        "joined 198.51.100.2:50693 > 203.0.113.1:5000 ids 2 0 on 3",
        "left 198.51.100.2:50693 > 203.0.113.1:5000 ids 2 0 on 3",
        "joined 198.51.100.2:44053 > 203.0.113.1:5000 ids 1 0 on 3",
        "left 198.51.100.2:44053 > 203.0.113.1:5000 ids 1 0 on 3 error 104",
        "closed",
        "closed",
        "listener [::]:5001",
        "created 127.0.0.1:32808 > 127.0.0.1:5001 ids 0 0",
        "created 127.0.0.1:5001 > 127.0.0.1:32808 ids 0 0 server",
        "established 127.0.0.1:5001 > 127.0.0.1:32808 ids 0 0 server",
        "established 127.0.0.1:32808 > 127.0.0.1:5001 ids 0 0",
        "closed",
        "closed",
        "listener gone [::]:5001",
        "created [2001:db8:1::2]:53568 > [2001:db8:ff::1]:5000 ids 0 0",
        "established [2001:db8:1::2]:53568 > [2001:db8:ff::1]:5000 ids 0 0",
        "joined [2001:db8:2::2]:46787 > [2001:db8:ff::1]:5000 ids 1 0 on 3",
        "left [2001:db8:1::2]:53568 > [2001:db8:ff::1]:5000 ids 0 0",
        "closed",
        "created 192.0.2.2:52236 > 203.0.113.1:5000 ids 0 0",
        "established 192.0.2.2:52236 > 203.0.113.1:5000 ids 0 0",
        "left 192.0.2.2:52236 > 203.0.113.1:5000 ids 0 0",
        "closed",
    ]
}
