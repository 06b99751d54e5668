import Multipath

/// Snapshots to show.
enum Screens {
    /// A laptop with Wi-Fi, a modem, and five interfaces that lead nowhere.
    static let laptop = PathSnapshot(
        generation: 1,
        interfaces: [
            PathInterface(
                index: 3, name: "wlan0", type: Verdict(.wifi, .kernel),
                constrained: Verdict(true, .settings),
                addresses: [
                    address("192.0.2.2", 24), address("2001:db8:1::2", 64, .deprecated),
                    address("2001:db8:1::5eed", 64, isTemporary: true),
                ], gateways: [ip("192.0.2.1"), ip("fe80::1")], metric: 600, nameServers: [ip("192.0.2.53")],
                ssid: "Home", quality: PathQuality(linkSpeed: 433, signal: -52), supportsIPv4: true,
                supportsIPv6: true),
            PathInterface(
                index: 4, name: "wwan0", type: Verdict(.cellular, .kernel),
                expensive: Verdict(.guessedYes, .interfaceType), addresses: [address("198.51.100.2", 24)],
                gateways: [ip("198.51.100.1")], metric: 700, supportsIPv4: true),
        ],
        excluded: [
            excluded("lo", .loopback, .loopback), excluded("eth0", .wired, .noCarrier),
            excluded("docker0", .virtual, .noDefaultRoute), excluded("veth1", .virtual, .noDefaultRoute),
            excluded("eth1", .wired, .down),
        ], nameServers: [ip("203.0.113.53"), ip("2001:db8::53")], changes: [PathChange(.initial)])

    /// A tunnel over a telephone's Wi-Fi, where the user saves data.
    static let tunnel = PathInterface(
        index: 7, name: "wg0", type: Verdict(.tunnel, .kernel),
        expensive: Verdict(.guessedYes, .dhcpLease, inheritedFrom: "wlan0"),
        constrained: Verdict(true, .settings, inheritedFrom: "wlan0"),
        addresses: [address("203.0.113.2", 32)], carrier: "wlan0", supportsIPv4: true)

    static func excluded(
        _ name: String, _ type: InterfaceType, _ reason: ExcludedInterface.Reason
    ) -> ExcludedInterface {
        ExcludedInterface(
            PathInterface(index: 9, name: name, type: Verdict(type, .kernel)), reason: reason)
    }

    private static func ip(_ text: String) -> IPAddress { IPAddress(text)! }

    private static func address(
        _ text: String, _ length: UInt8, _ state: InterfaceAddress.State = .preferred,
        isTemporary: Bool = false
    ) -> InterfaceAddress {
        InterfaceAddress(ip(text), prefixLength: length, state: state, isTemporary: isTemporary)
    }
}
