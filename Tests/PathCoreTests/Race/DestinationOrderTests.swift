import PathCore
import Testing

@Suite("Destinations over one path (RFC 6724)")
struct DestinationOrderTests {
    @Test("that no source address fits come last")
    func unusable() {
        #expect(sorted(["192.0.2.2/24"], ["2001:db8::1", "203.0.113.1"]) == ["203.0.113.1", "2001:db8::1"])
        #expect(
            sorted(["2001:db8::2/64"], ["203.0.113.1", "2001:db8::1"]) == ["2001:db8::1", "203.0.113.1"])
    }

    @Test("are IPv6 first where both families are global")
    func precedence() {
        #expect(
            sorted(["192.0.2.2/24", "2001:db8::2/64"], ["203.0.113.1", "2001:db8:9::1"])
                == ["2001:db8:9::1", "203.0.113.1"])
    }

    @Test("are IPv4 first where IPv6 has only a unique local address")
    func label() {
        #expect(
            sorted(["192.0.2.2/24", "fd00::2/64"], ["2001:db8:9::1", "203.0.113.1"])
                == ["203.0.113.1", "2001:db8:9::1"])
        // Unless the destination has one too.
        #expect(
            sorted(["fd00::2/64", "2001:db8::2/64"], ["2001:db8::1", "fd00::1"]) == [
                "2001:db8::1", "fd00::1",
            ])
    }

    @Test("avoid a deprecated source, 6to4 and Teredo")
    func avoided() {
        let deprecated = InterfaceAddress(ip("2001:db8::2"), prefixLength: 64, state: .deprecated)
        let order = DestinationOrder(sources: [deprecated, InterfaceAddress("192.0.2.2/24")])
        #expect(
            order.sorted([ip("2001:db8:9::1"), ip("203.0.113.1")]) == [
                ip("203.0.113.1"), ip("2001:db8:9::1"),
            ])
        #expect(
            sorted(["2001:db8::2/64"], ["2002:c000:204::1", "2001::1", "2001:db8:9::1"])
                == ["2001:db8:9::1", "2002:c000:204::1", "2001::1"])
    }

    @Test("are nearer ones first, and as the resolver gave them where nothing tells them apart")
    func prefix() {
        #expect(
            sorted(["2001:db8:1::2/64"], ["2001:db8:f::1", "2001:db8:1:1::1", "2001:db8:1::1"])
                == ["2001:db8:1::1", "2001:db8:1:1::1", "2001:db8:f::1"])
        #expect(
            sorted(["192.0.2.2/24"], ["203.0.113.2", "198.51.100.1", "203.0.113.1"])
                == ["203.0.113.2", "198.51.100.1", "203.0.113.1"])
    }

    private func sorted(_ sources: [String], _ destinations: [String]) -> [String] {
        DestinationOrder(sources: sources.map { InterfaceAddress($0) }).sorted(destinations.map(ip))
            .map(\.description)
    }
}

@Suite("A network that translates IPv4 (RFC 6052, RFC 7050)")
struct NAT64Tests {
    @Test(
        "puts the address behind its prefix, and keeps bits 64 to 71 free",
        arguments: [
            ("2001:db8::", 32, "2001:db8:c000:221::"), ("2001:db8:100::", 40, "2001:db8:1c0:2:21::"),
            ("2001:db8:122::", 48, "2001:db8:122:c000:2:2100::"),
            ("2001:db8:122:300::", 56, "2001:db8:122:3c0:0:221::"),
            ("2001:db8:122:344::", 64, "2001:db8:122:344:c0:2:2100::"),
            ("2001:db8:122:344::", 96, "2001:db8:122:344::c000:221"),
            ("64:ff9b::", 96, "64:ff9b::c000:221"),
        ])
    func embedding(prefix: String, length: Int, address: String) {
        // The examples of RFC 6052 section 2.4, for 192.0.2.33.
        let nat64 = NAT64Prefix(ip(prefix), length: length)
        #expect(nat64?.synthesized(ip("192.0.2.33")) == ip(address))
        // And the prefix is found again in what its DNS server answers for ipv4only.arpa.
        let answer = [170, 171].compactMap { nat64?.synthesized(ip("192.0.0.\($0)")) }
        #expect(answer.count == 2 && NAT64Prefix(discoveredIn: answer.reversed()) == nat64)
    }

    @Test("is told from one that does not")
    func none() {
        #expect(NAT64Prefix(discoveredIn: []) == nil)
        #expect(NAT64Prefix(discoveredIn: [ip("2001:db8::1"), ip("192.0.0.170")]) == nil)
        #expect(NAT64Prefix(ip("64:ff9b::"), length: 95) == nil)
        let prefix = NAT64Prefix(ip("64:ff9b::"), length: 96)
        #expect(
            ["127.0.0.1", "169.254.1.1", "2001:db8::1"].map { prefix?.synthesized(ip($0)) } == [
                nil, nil, nil,
            ])
    }
}

@Suite("What is known of a path to a destination")
struct PathHistoryTests {
    private let wifi = PathHistory.Network(
        PathInterface(index: 3, name: "wlan0", type: Verdict(.wifi, .kernel), gateways: [ip("192.0.2.1")]))
    private let server = PathHistory.Destination(host: "media.example", port: 443)
    private func at(_ seconds: Int64) -> MonotonicTime { MonotonicTime(nanoseconds: seconds * 1_000_000_000) }

    @Test("sets how long an attempt is alone: the handshakes so far and four times their variation")
    func delay() {
        var history = PathHistory()
        #expect(history.attemptDelay(wifi, server, at: at(0)) == nil)
        history.handshake(wifi, server, took: .milliseconds(20), at: at(1))
        #expect(history.attemptDelay(wifi, server, at: at(2)) == .milliseconds(100))  // the minimum
        var satellite = PathHistory()
        for second in 1...50 {
            satellite.handshake(wifi, server, took: .milliseconds(600), at: at(Int64(second)))
        }
        let delay = satellite.attemptDelay(wifi, server, at: at(60)) ?? .zero
        #expect(delay >= .milliseconds(600) && delay < .milliseconds(620))
        satellite.handshake(wifi, server, took: .seconds(9), at: at(61))
        #expect(satellite.attemptDelay(wifi, server, at: at(61)) == .seconds(2))  // the maximum
    }

    @Test("makes a path that was silent wait least, until it answers again")
    func silence() {
        var history = PathHistory()
        history.handshake(wifi, server, took: .milliseconds(400), at: at(1))
        history.silence(wifi, server, at: at(2))
        #expect(history.attemptDelay(wifi, server, at: at(3)) == .milliseconds(100))
        #expect(history.wasSilent(wifi, server, at: at(3)))
        #expect(!history.wasSilent(wifi, server, at: at(86_403)))
        history.handshake(wifi, server, took: .milliseconds(400), at: at(4))
        #expect(history.attemptDelay(wifi, server, at: at(5))! > .milliseconds(400))
        #expect(!history.wasSilent(wifi, server, at: at(5)))
    }

    @Test("is not used on another network, for another destination, or after a day")
    func limits() {
        var history = PathHistory()
        history.handshake(wifi, server, took: .milliseconds(400), at: at(1))
        let elsewhere = PathHistory.Network(
            PathInterface(
                index: 3, name: "wlan0", type: Verdict(.wifi, .kernel), gateways: [ip("198.51.100.1")]))
        #expect(history.attemptDelay(elsewhere, server, at: at(2)) == nil)
        #expect(history.attemptDelay(wifi, .init(host: "media.example", port: 80), at: at(2)) == nil)
        #expect(history.attemptDelay(wifi, server, at: at(86_402)) == nil)
        history.keep([elsewhere])
        #expect(history.count == 0)
    }

    @Test("stays bounded, and loses the oldest first")
    func bounded() {
        var history = PathHistory()
        for number in 0..<5000 {
            history.handshake(
                wifi, .init(host: "host\(number)", port: 443), took: .milliseconds(300), at: at(Int64(number))
            )
        }
        #expect(history.count <= PathHistory.capacity)
        #expect(history.attemptDelay(wifi, .init(host: "host4999", port: 443), at: at(5000)) != nil)
        #expect(history.attemptDelay(wifi, .init(host: "host100", port: 443), at: at(5000)) == nil)
    }
}

@Suite("A name's addresses (RFC 8305 section 3)")
struct ResolutionMachineTests {
    private var machine = ResolutionMachine()
    private let six = [ip("2001:db8::1")]
    private let four = [ip("203.0.113.1")]
    init() { machine.begin([.ipv4, .ipv6]) }

    @Test("start the race as soon as the IPv6 ones are there, and the IPv4 ones join in")
    mutating func sixFirst() {
        #expect(machine.answered(.ipv6, six, at: at(5)) == .use([.ipv6: six], isFinal: false))
        #expect(machine.nextDeadline == nil)
        #expect(machine.answered(.ipv4, four, at: at(80)) == .use([.ipv6: six, .ipv4: four], isFinal: true))
    }

    @Test("of IPv4 wait 50 ms for those of IPv6")
    mutating func fourFirst() {
        #expect(machine.answered(.ipv4, four, at: at(5)) == nil)
        #expect(machine.nextDeadline == at(55))
        #expect(machine.timeReached(at(54)) == nil)
        #expect(machine.timeReached(at(55)) == .use([.ipv4: four], isFinal: false))
        #expect(machine.answered(.ipv6, six, at: at(90)) == .use([.ipv6: six, .ipv4: four], isFinal: true))
    }

    @Test("of both families start together when IPv6 comes within the wait")
    mutating func sixInTime() {
        _ = machine.answered(.ipv4, four, at: at(5))
        #expect(machine.answered(.ipv6, six, at: at(30)) == .use([.ipv6: six, .ipv4: four], isFinal: true))
        #expect(machine.nextDeadline == nil)
    }

    @Test("of IPv4 wait no longer once there are none of IPv6", arguments: [true, false])
    mutating func noSix(isFailure: Bool) {
        _ = machine.answered(.ipv4, four, at: at(5))
        let action =
            isFailure
            ? machine.failed(.ipv6, reason: "No address", at: at(9)) : machine.answered(.ipv6, [], at: at(9))
        #expect(action == .use([.ipv4: four], isFinal: true))
    }

    @Test("of one family only do not wait for the other's failure")
    mutating func sixThenFailure() {
        #expect(machine.failed(.ipv6, reason: "No address", at: at(5)) == nil)
        #expect(machine.answered(.ipv4, four, at: at(9)) == .use([.ipv4: four], isFinal: true))
        var other = ResolutionMachine()
        other.begin([.ipv4, .ipv6])
        #expect(other.answered(.ipv6, six, at: at(5)) == .use([.ipv6: six], isFinal: false))
        #expect(other.failed(.ipv4, reason: "No address", at: at(9)) == .use([.ipv6: six], isFinal: true))
    }

    @Test("are none where both families fail, and the reasons are told once")
    mutating func failure() {
        #expect(machine.failed(.ipv6, reason: "Name not known", at: at(5)) == nil)
        #expect(
            machine.failed(.ipv4, reason: "Name not known", at: at(9))
                == .fail(.init("Name not known")))
        var other = ResolutionMachine()
        other.begin([.ipv4, .ipv6])
        _ = other.failed(.ipv6, reason: "No data", at: at(5))
        #expect(other.answered(.ipv4, [], at: at(9)) == .fail(.init("no address; No data")))
    }
}
