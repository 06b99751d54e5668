import PathCore
import Testing

@Suite("What is known of an address")
struct AddressHistoryTests {
    private let home = PathHistory.Network(
        PathInterface(index: 2, name: "wlan0", type: Verdict(.wifi, .kernel), ssid: "home"))
    private let office = PathHistory.Network(
        PathInterface(index: 2, name: "wlan0", type: Verdict(.wifi, .kernel), ssid: "office"))
    private let server = IPEndpoint(IPAddress("192.0.2.1")!, port: 443)

    private func at(_ minutes: Int64) -> MonotonicTime {
        MonotonicTime(nanoseconds: minutes * 60 * 1_000_000_000)
    }

    @Test("is that it is bad for ten minutes after one failure, and then nothing")
    func oneFailure() {
        var history = AddressHistory()
        history.failed(home, server, at: at(0))
        #expect(history.standing(home, server, at: at(9)) == .bad)
        #expect(history.standing(home, server, at: at(10)) == .unknown)
    }

    @Test("is that it is bad for half an hour at most, however often it failed")
    func manyFailures() {
        var history = AddressHistory()
        for _ in 0..<100 { history.failed(home, server, at: at(0)) }
        #expect(history.standing(home, server, at: at(29)) == .bad)
        #expect(history.standing(home, server, at: at(30)) == .unknown)
    }

    @Test("is that it is good, and how far away, after a success; one failure takes that back")
    func success() {
        var history = AddressHistory()
        history.succeeded(home, server, rtt: .milliseconds(20), at: at(0))
        #expect(history.standing(home, server, at: at(5)) == .good(rtt: .milliseconds(20)))
        history.failed(home, server, at: at(5))
        #expect(history.standing(home, server, at: at(5)) == .unknown)
    }

    @Test("holds on one network, and for one port")
    func network() {
        var history = AddressHistory()
        history.failed(home, server, at: at(0))
        #expect(history.standing(office, server, at: at(0)) == .unknown)
        #expect(history.standing(home, IPEndpoint(server.address, port: 80), at: at(0)) == .unknown)
        history.keep([office])
        #expect(history.count == 0)
    }

    @Test("is bounded in number and in time")
    func bounded() {
        var history = AddressHistory()
        for number in 0..<5000 as Range<UInt32> {
            history.failed(home, IPEndpoint(IPAddress(ipv4: number), port: 443), at: at(Int64(number)))
            #expect(history.count <= AddressHistory.capacity)
        }
        history.succeeded(home, server, rtt: nil, at: at(0))
        #expect(history.standing(home, server, at: at(24 * 60)) == .unknown)
    }

    @Test(
        "moves the dead behind all others, and the near before the far and the unused, as RFC 6724 leaves room for it"
    )
    func order() {
        let order = DestinationOrder(sources: [
            InterfaceAddress(IPAddress("192.0.2.2")!, prefixLength: 24),
            InterfaceAddress(IPAddress("2001:db8::2")!, prefixLength: 64),
        ])
        let (six, far, unused, near, dead) = (
            "2001:db8:9::1", "203.0.113.1", "203.0.113.2", "203.0.113.3", "2001:db8:9::2"
        )
        let known: [String: AddressHistory.Standing] = [
            dead: .bad, near: .good(rtt: .milliseconds(10)), far: .good(rtt: .milliseconds(100)),
        ]
        let sorted = order.sorted([dead, unused, far, near, six].compactMap { IPAddress($0) }) {
            known["\($0)"] ?? .unknown
        }
        // IPv6 stays first: its precedence is an earlier rule than the round trip.
        #expect(sorted.map(\.description) == [six, near, far, unused, dead])
    }
}
