import PathCore
import TestSupport
import Testing

@Suite("The order of paths")
struct PathOrderTests {
    @Test("is by constrained, expensive, type and metric, and by index where all are equal")
    func order() {
        // Each differs from its predecessor in the key that decides, and is better in all keys below it.
        let expected: [(link: LinkFact, metric: UInt32, said: InterfaceOverride?)] = [
            (.wired("wired-first-metric", 29), 100, nil),
            (.wired("wired-first-index", 27), 200, nil),
            (.wired("wired-last", 28), 200, nil),
            (.wifi("wifi", 26), 90, nil),
            (.cellular("cellular-unmetered", 25), 80, InterfaceOverride(isExpensive: false)),
            (.wired("other", 23), 70, InterfaceOverride(type: .other)),
            (.wired("virtual", 24), 70, InterfaceOverride(type: .virtual)),
            (.wired("wired-expensive", 22), 60, InterfaceOverride(isExpensive: true)),
            (.cellular("cellular", 21), 50, nil),
            (.wired("wired-constrained", 20), 40, InterfaceOverride(isConstrained: true)),
            (.cellular("cellular-constrained", 19), 30, InterfaceOverride(isConstrained: true)),
        ]
        var random = SplitMix64(seed: 1)
        for _ in 0..<20 {
            let reducer = SnapshotReducer(
                expected.map(\.link).shuffled(using: &random),
                expected.map { .on($0.link.index, "192.0.2.\($0.link.index)/24") },
                expected.map { .ipv4($0.link.index, metric: $0.metric) }.shuffled(using: &random),
                overrides: InterfaceOverrides(
                    configuration: Dictionary(
                        expected.compactMap { path in path.said.map { (path.link.name, $0) } }
                    ) { first, _ in first }))
            #expect(reducer.snapshot().interfaces.map(\.name) == expected.map(\.link.name))
        }
    }

    @Test("counts an interface's lowest metric, of whichever family")
    func lowestMetric() {
        let reducer = SnapshotReducer(
            [.wired("a", 2), .wired("b", 3)],
            [.on(2, "192.0.2.2/24"), .on(3, "192.0.2.3/24"), .on(3, "2001:db8::3/64")],
            [.ipv4(2, metric: 100), .ipv4(3, metric: 200), .ipv6(3, metric: 50), .ipv4(2, metric: .max)])
        #expect(
            reducer.snapshot().lines == [
                "3 b wired IPv4, IPv6 [192.0.2.3/24 2001:db8::3/64] metric 50",
                "2 a wired IPv4 [192.0.2.2/24] metric 100",
            ])
    }
}

@Suite("A tunnel")
struct TunnelTests {
    private static let addresses: [AddressFact] = [
        .on(2, "192.0.2.2/24"), .on(2, "2001:db8::2/64"), .on(5, "10.8.0.5/24"), .on(5, "fd00::5/64"),
    ]

    @Test("that takes all default traffic is the only path, whatever it costs")
    func takesAll() {
        let reducer = SnapshotReducer(
            [.wired(), .tunnel()], Self.addresses,
            [.ipv4(2, metric: 100), .ipv6(2, metric: 100), .ipv4(5, metric: 50), .ipv6(5, metric: 50)],
            overrides: InterfaceOverrides(
                environment: ["tun0": InterfaceOverride(isExpensive: true, isConstrained: true)]))
        #expect(
            reducer.snapshot().lines == [
                "5 tun0 tunnel expensive constrained IPv4, IPv6 [10.8.0.5/24 fd00::5/64] metric 50",
                "(2 eth0 wired [192.0.2.2/24 2001:db8::2/64] metric 100): behind the tunnel tun0",
            ])
    }

    @Test("that takes one family comes first, and leaves the other family to the rest")
    func takesOneFamily() {
        let reducer = SnapshotReducer(
            [.wired(), .tunnel()], Self.addresses,
            [.ipv4(2, metric: 100), .ipv6(2, metric: 100), .ipv4(5, metric: 50)])
        #expect(
            reducer.snapshot().lines == [
                "5 tun0 tunnel IPv4 [10.8.0.5/24 fd00::5/64] metric 50",
                "2 eth0 wired IPv6 [192.0.2.2/24 2001:db8::2/64] metric 100",
            ])
    }

    @Test("that the kernel does not prefer is a path like another, and comes after wires")
    func takesNothing() {
        let reducer = SnapshotReducer(
            [.wired(), .tunnel()], Self.addresses, [.ipv4(2, metric: 100), .ipv4(5, metric: 150)])
        #expect(
            reducer.snapshot().lines == [
                "2 eth0 wired IPv4 [192.0.2.2/24 2001:db8::2/64] metric 100",
                "5 tun0 tunnel IPv4 [10.8.0.5/24 fd00::5/64] metric 150",
            ])
    }

    @Test("hides the path beneath it even before it has an address, so that nothing leaks meanwhile")
    func comesUp() {
        let reducer = SnapshotReducer(
            [.wired(), .tunnel()], [.on(2, "192.0.2.2/24")],
            [.ipv4(2, metric: 100), .ipv4(5, metric: 50)])
        #expect(
            reducer.snapshot().lines == [
                "(2 eth0 wired [192.0.2.2/24] metric 100): behind the tunnel tun0",
                "(5 tun0 tunnel [] metric 50): no usable address",
            ])
    }

    @Test("that goes down gives the traffic back")
    func goesDown() {
        var reducer = SnapshotReducer(
            [.wired(), .tunnel()], [.on(2, "192.0.2.2/24"), .on(5, "10.8.0.5/24")],
            [.ipv4(2, metric: 100), .ipv4(5, metric: 50)])
        #expect(reducer.apply(.link(.tunnel().with([.up]))) == .routes)
        #expect(
            reducer.snapshot().lines == [
                "2 eth0 wired IPv4 [192.0.2.2/24] metric 100",
                "(5 tun0 tunnel [10.8.0.5/24] metric 50): no carrier",
            ])
    }

    @Test("for each family: the path beneath names the one for IPv4, every time")
    func oneForEachFamily() {
        let reducer = SnapshotReducer(
            [.wired(), .tunnel("tun4", 4), .tunnel("tun6", 6)],
            [
                .on(2, "192.0.2.2/24"), .on(2, "2001:db8::2/64"), .on(4, "10.8.0.4/24"),
                .on(6, "fd00::6/64"),
            ],
            [.ipv6(2, metric: 9), .ipv4(2, metric: 9), .ipv4(4, metric: 1), .ipv6(6, metric: 1)])
        #expect(
            reducer.snapshot().lines == [
                "4 tun4 tunnel IPv4 [10.8.0.4/24] metric 1",
                "6 tun6 tunnel IPv6 [fd00::6/64] metric 1",
                "(2 eth0 wired [192.0.2.2/24 2001:db8::2/64] metric 9): behind the tunnel tun4",
            ])
    }
}
