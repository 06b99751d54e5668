import PathCore
import Testing

@Suite("The paths of a machine")
struct SnapshotReducerTests {
    @Test("are the interfaces with a default route and an address; every other one says what it lacks")
    func wholeSnapshot() {
        let reducer = SnapshotReducer(
            [
                .loopback, .wired(), .wifi(), .cellular(), .wired("docker0", 7),
                .wired("eth1", 8).with([]), .wired("eth2", 9).with([.up]),
            ],
            [
                .on(1, "127.0.0.1/8", scope: 254), .on(2, "192.0.2.2/24"), .on(2, "2001:db8::2/64"),
                .on(2, "fe80::2/64", scope: 253), .on(3, "198.51.100.3/24"), .on(7, "172.17.0.1/16"),
                .on(8, "203.0.113.8/24"), .on(9, "203.0.113.9/24"),
            ],
            [
                .ipv4(2, via: "192.0.2.1", metric: 100), .ipv6(2, via: "fe80::1", metric: 1024),
                .ipv4(3, via: "198.51.100.1", metric: 600), .ipv4(4, metric: 700), .ipv4(8), .ipv4(9),
            ])
        let snapshot = reducer.snapshot()
        #expect(
            snapshot.interfaces == [
                PathInterface(
                    index: 2, name: "eth0", type: Verdict(.wired, .kernel),
                    expensive: Verdict(.guessedNo, .interfaceType),
                    addresses: ["192.0.2.2/24", "2001:db8::2/64", "fe80::2/64"].map {
                        let address = InterfaceAddress($0)
                        return InterfaceAddress(
                            address.address.inZone(2), prefixLength: address.prefixLength)
                    },
                    gateways: [ip("192.0.2.1"), ip("fe80::1")], metric: 100, supportsIPv4: true,
                    supportsIPv6: true),
                PathInterface(
                    index: 3, name: "wlan0", type: Verdict(.wifi, .kernel),
                    addresses: [InterfaceAddress("198.51.100.3/24")], gateways: [ip("198.51.100.1")],
                    metric: 600, supportsIPv4: true),
            ])
        #expect(
            snapshot.lines == [
                "2 eth0 wired IPv4, IPv6 [192.0.2.2/24 2001:db8::2/64 fe80::2/64] via 192.0.2.1 fe80::1 metric 100",
                "3 wlan0 wifi IPv4 [198.51.100.3/24] via 198.51.100.1 metric 600",
                "(1 lo loopback [127.0.0.1/8]): loopback",
                "(4 wwan0 cellular expensive [] metric 700): no usable address",
                "(7 docker0 wired [172.17.0.1/16]): no default route",
                "(8 eth1 wired [203.0.113.8/24] metric 0): down",
                "(9 eth2 wired [203.0.113.9/24] metric 0): no carrier",
            ])
    }

    @Test("are none before anything was read")
    func empty() {
        let snapshot = SnapshotReducer().snapshot()
        #expect(snapshot == PathSnapshot())
        #expect(snapshot.status == .unsatisfied)
        #expect(snapshot.primary == nil)
    }

    @Test("describe the machine by the preferred one, and its families by all")
    func summary() {
        let snapshot = SnapshotReducer(
            [.wired(), .cellular()], [.on(2, "2001:db8::2/64"), .on(4, "192.0.2.4/24")],
            [.ipv6(2), .ipv4(4)],
            overrides: InterfaceOverrides(environment: ["eth0": InterfaceOverride(isConstrained: true)])
        ).snapshot()
        #expect(snapshot.interfaces.map(\.name) == ["wwan0", "eth0"])
        #expect([snapshot.isExpensive, snapshot.isConstrained] == [true, false])
        #expect([snapshot.supportsIPv4, snapshot.supportsIPv6] == [true, true])
        #expect(snapshot.status == .satisfied)
    }

    @Test("are found by index, name or address, whether they are usable or not")
    func lookUp() {
        let snapshot = SnapshotReducer(
            [.loopback, .wired(), .wifi()],
            [.on(1, "127.0.0.1/8", scope: 254), .on(2, "192.0.2.2/24"), .on(2, "fe80::2/64", scope: 253)],
            [.ipv4(2)]
        ).snapshot()
        #expect([1, 2, 3, 4].map { snapshot.interface($0)?.name } == ["lo", "eth0", "wlan0", nil])
        #expect(["lo", "eth0", "eth1"].map { snapshot.interface(named: $0)?.index } == [1, 2, nil])
        // A socket's own address may come without its zone.
        #expect(
            ["127.0.0.1", "192.0.2.2", "fe80::2", "fe80::2%2", "192.0.2.3"].map {
                snapshot.interface(with: ip($0))?.name
            } == ["lo", "eth0", "eth0", "eth0", nil])
    }

    @Test(
        "need an address that may leave the link",
        arguments: [
            (.on(2, "192.0.2.2/24"), "2 eth0 wired IPv4 [192.0.2.2/24] metric 0"),
            // Deprecated: the kernel still uses it where it has no other.
            (.on(2, "192.0.2.2/24", .deprecated), "2 eth0 wired IPv4 [192.0.2.2/24] metric 0"),
            (
                .on(2, "192.0.2.2/24", [.tentative, .optimistic]),
                "2 eth0 wired IPv4 [192.0.2.2/24] metric 0"
            ),
            // Another host has it, or may have it, so it is not even listed.
            (.on(2, "192.0.2.2/24", .tentative), "(2 eth0 wired [] metric 0): no usable address"),
            (.on(2, "192.0.2.2/24", .duplicate), "(2 eth0 wired [] metric 0): no usable address"),
            (
                .on(2, "192.0.2.2/24", [.duplicate, .optimistic]),
                "(2 eth0 wired [] metric 0): no usable address"
            ),
            (
                .on(2, "169.254.7.7/16", scope: 253),
                "(2 eth0 wired [169.254.7.7/16] metric 0): no usable address"
            ),
            (
                .on(2, "192.0.2.2/32", scope: 254),
                "(2 eth0 wired [192.0.2.2/32] metric 0): no usable address"
            ),
            (.on(2, "2001:db8::2/64"), "(2 eth0 wired [2001:db8::2/64] metric 0): no usable address"),
            (.on(3, "192.0.2.2/24"), "(2 eth0 wired [] metric 0): no usable address"),
        ] as [(AddressFact, String)])
    func usableAddress(address: AddressFact, line: String) {
        #expect(SnapshotReducer([.wired()], [address], [.ipv4(2)]).snapshot().lines == [line])
    }

    @Test("get an address once duplicate detection is over: the same address again, with other flags")
    func duplicateDetection() {
        var reducer = SnapshotReducer([.wired()], [.on(2, "2001:db8::2/64", .tentative)], [.ipv6(2)])
        #expect(
            reducer.snapshot().lines == ["(2 eth0 wired [] metric 0): no usable address"])
        #expect(reducer.apply(.address(.on(2, "2001:db8::2/64"))) == .routes)
        #expect(reducer.snapshot().lines == ["2 eth0 wired IPv6 [2001:db8::2/64] metric 0"])
        #expect(reducer.apply(.address(.on(2, "2001:db8::2/64", .duplicate))) == [])
        #expect(reducer.snapshot().lines == ["(2 eth0 wired [] metric 0): no usable address"])
    }

    @Test("keep an IPv4 address that stands with two prefix lengths until both are gone")
    func twoPrefixLengths() {
        var reducer = SnapshotReducer(
            [.wired()], [.on(2, "10.0.0.2/24"), .on(2, "10.0.0.2/16")], [.ipv4(2)])
        #expect(reducer.snapshot().lines == ["2 eth0 wired IPv4 [10.0.0.2/16 10.0.0.2/24] metric 0"])
        #expect(reducer.apply(.addressGone(.on(2, "10.0.0.2/16"))) == .routes)
        #expect(reducer.snapshot().lines == ["2 eth0 wired IPv4 [10.0.0.2/24] metric 0"])
        #expect(reducer.apply(.addressGone(.on(2, "10.0.0.2/24"))) == .routes)
        #expect(reducer.snapshot().lines == ["(2 eth0 wired [] metric 0): no usable address"])
    }

    @Test("list the routers of every default route, by family and metric, each once")
    func gateways() {
        let reducer = SnapshotReducer(
            [.wired()], [.on(2, "192.0.2.2/24"), .on(2, "2001:db8::2/64")],
            [
                .ipv6(2, via: "fe80::1", metric: 10), .ipv4(2, via: "192.0.2.9", metric: 200),
                .ipv4(2, via: "192.0.2.1", metric: 100), .ipv4(2, via: "192.0.2.9", metric: 300),
                // An IPv6 router for IPv4 traffic (RFC 5549).
                .ipv4(2, via: "fe80::1", metric: 400),
            ])
        #expect(
            reducer.snapshot().lines == [
                "2 eth0 wired IPv4, IPv6 [192.0.2.2/24 2001:db8::2/64] "
                    + "via 192.0.2.1 192.0.2.9 fe80::1 metric 10"
            ])
    }

    @Test("are all the ways of a multipath default route")
    func multipathRoute() {
        let reducer = SnapshotReducer(
            [.wired(), .wifi()], [.on(2, "192.0.2.2/24"), .on(3, "198.51.100.3/24")],
            [.ipv4(3, via: "198.51.100.1", metric: 5), .ipv4(2, via: "192.0.2.1", metric: 5)])
        #expect(
            reducer.snapshot().lines == [
                "2 eth0 wired IPv4 [192.0.2.2/24] via 192.0.2.1 metric 5",
                "3 wlan0 wifi IPv4 [198.51.100.3/24] via 198.51.100.1 metric 5",
            ])
    }
}
