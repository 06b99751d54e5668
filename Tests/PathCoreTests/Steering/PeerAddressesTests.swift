import Testing

@testable import PathCore

@Suite("The addresses that a peer announces")
struct PeerAddressesTests {
    private let tuning = SteeringTuning()
    private static let server = endpoint("203.0.113.10")
    private var peer = PeerAddresses(server, others: [])

    private static func endpoint(_ address: String, port: UInt16 = 443) -> IPEndpoint {
        IPEndpoint(IPAddress(address)!, port: port)
    }

    private mutating func announce(_ id: UInt8, _ address: String) -> Bool {
        peer.announce(id, Self.endpoint(address), isOwn: { "\($0)" == "198.51.100.2" }, tuning)
    }

    @Test("lead there too, once each, behind the address that was connected to")
    mutating func leads() {
        #expect(
            announce(1, "203.0.113.11") && announce(2, "2001:db8::1") && announce(3, "64:ff9b::203.0.113.12"))
        #expect(!announce(1, "203.0.113.11"))
        #expect(
            peer.endpoints == [
                Self.server, Self.endpoint("203.0.113.11"), Self.endpoint("2001:db8::1"),
                Self.endpoint("64:ff9b::203.0.113.12"),
            ])
    }

    @Test("are forgotten when it takes them back, and changed when it gives the id to another")
    mutating func takesBack() {
        _ = announce(1, "203.0.113.11")
        #expect(announce(1, "203.0.113.12"))
        #expect(peer.endpoints == [Self.server, Self.endpoint("203.0.113.12")])
        #expect(peer.withdraw(1) && !peer.withdraw(1))
        #expect(peer.endpoints == [Self.server])
    }

    @Test("are eight at most, however many it announces")
    mutating func flood() {
        for id in 0...255 as ClosedRange<UInt8> { _ = announce(id, "203.0.113.\(id)") }
        #expect(peer.endpoints.count <= 9)
    }

    @Test(
        "are not this machine's, no one host's, nor of a private network where the peer is none's",
        arguments: [
            "127.0.0.1", "::1", "0.0.0.0", "::", "224.0.0.1", "255.255.255.255", "ff02::1", "169.254.1.1",
            "fe80::1", "10.0.0.1", "172.16.0.1", "172.31.255.255", "192.168.77.1", "100.64.0.1", "fd00::1",
            "198.51.100.2", "64:ff9b::10.0.0.1", "64:ff9b::127.0.0.1", "64:ff9b:1::192.168.0.1",
            "2002:a00:1::1",
            "2002:e000:1::1",
        ])
    mutating func refused(address: String) {
        #expect(!announce(1, address))
        #expect(peer.endpoints == [Self.server])
    }

    @Test(
        "may be private where the peer is",
        arguments: ["10.0.0.1", "192.168.77.1", "fd00::1", "203.0.113.11"])
    mutating func privateNetwork(address: String) {
        peer = PeerAddresses(Self.endpoint("192.168.1.1"), others: [])
        #expect(announce(1, address))
    }

    @Test("are all there is where it denies joins to the first, also when it announces that again")
    mutating func denied() {
        #expect(peer.denyFirst() && !peer.denyFirst())
        #expect(peer.endpoints.isEmpty)
        #expect(!announce(0, "203.0.113.10"))
        #expect(announce(1, "203.0.113.11"))
        #expect(peer.endpoints == [Self.endpoint("203.0.113.11")])
    }
}
