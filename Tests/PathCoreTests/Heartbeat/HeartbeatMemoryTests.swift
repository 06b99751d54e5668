import PathCore
import Testing

@Suite("What is remembered of networks for heartbeats")
struct HeartbeatMemoryTests {
    private static let hotel = HeartbeatNetwork(family: .ipv4, type: .wifi, name: "Hotel \\ Café\n")
    private static let now = 1_800_000_000

    private func settled(_ limit: Duration) -> SilenceSearch {
        var search = SilenceSearch()
        search.answered(after: .seconds(30))
        while let trial = search.trial {
            if trial < limit { search.answered(after: trial) } else { search.lost(after: trial) }
        }
        return search
    }

    @Test("comes back from its text as it was, whatever the networks are called")
    func roundTrip() {
        var memory = HeartbeatMemory()
        memory.note(settled(.seconds(45)), of: Self.hotel, now: Self.now)
        memory.note(
            settled(.seconds(400)), of: HeartbeatNetwork(family: .ipv6, type: .wired, name: "fe80::1"),
            now: Self.now - 10)
        let (read, unreadable) = HeartbeatMemory.parse(memory.text, now: Self.now)
        #expect(read == memory && unreadable == 0)
        #expect(read[Self.hotel]?.proven == 42)
    }

    @Test(
        "skips what it can't read, and what is too old, of the future, or beyond the limits",
        arguments: [
            ("", 0), ("garbage", 1), ("0 - 1800000000 ipv4 wifi x", 1), ("601 - 1800000000 ipv4 wifi x", 1),
            ("-5 - 1800000000 ipv4 wifi x", 1), ("40 30 1800000000 ipv4 wifi x", 1),
            ("40 - 1800000000 ipv5 wifi x", 1), ("40 - 1800000000 ipv4 tin x", 1),
            ("40 - 1800000000 ipv4 wifi ", 1), ("40 - 1800000000 ipv4 wifi a b", 1),
            ("40 - 1800000000 ipv4 wifi \\x4", 1), ("40 - 1800000000 ipv4 wifi \\xFF", 1),
            ("99999999999999999999 - 1800000000 ipv4 wifi x", 1),
            ("40 - 1700000000 ipv4 wifi x", 0), ("40 - 1900000000 ipv4 wifi x", 0),
            ("40 - 1800000000 ipv4 wifi \(String(repeating: "x", count: 65))", 1),
        ])
    func hostile(_ line: String, _ unreadable: Int) {
        let read = HeartbeatMemory.parse("# a comment\n\(line)\n", now: Self.now)
        #expect(read.memory.entries.isEmpty && read.unreadable == unreadable)
    }

    @Test("keeps two hundred networks, the newest")
    func capacity() {
        var memory = HeartbeatMemory()
        for number in 0..<300 {
            memory.note(
                settled(.seconds(60)),
                of: HeartbeatNetwork(family: .ipv4, type: .wifi, name: "net\(number)"),
                now: Self.now + number)
        }
        #expect(memory.entries.count == HeartbeatMemory.capacity)
        #expect(memory.entries.values.map(\.found).min() == Self.now + 100)
        #expect(memory.text.utf8.count < HeartbeatMemory.fileLimit)
    }

    @Test("forgets a network of which nothing is proven any more")
    func forgets() {
        var memory = HeartbeatMemory()
        memory.note(settled(.seconds(45)), of: Self.hotel, now: Self.now)
        memory.note(SilenceSearch(), of: Self.hotel, now: Self.now)
        #expect(memory.entries.isEmpty)
    }
}
