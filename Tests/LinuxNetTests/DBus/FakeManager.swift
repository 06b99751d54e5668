import PathCore

@testable import LinuxNet

/// What NetworkManager says in these tests: one Wi-Fi device, connected.
enum FakeManager {
    static let root = "/org/freedesktop/NetworkManager"
    static let service = "org.freedesktop.NetworkManager"

    /// A Wi-Fi device, connected.
    static func wifi(metered: UInt32 = 1) -> FakeBus.Answer {
        .objects([
            (
                "\(root)/Devices/1",
                [
                    (
                        "\(service).Device",
                        [
                            ("Interface", "s", { $0.string("wlan0") }),
                            ("IpInterface", "s", { $0.string("wlan0") }),
                            ("HwAddress", "s", { $0.string("02:00:5E:00:53:02") }),
                            ("Managed", "b", { $0.number(1) }),
                            ("Metered", "u", { $0.number(metered) }),
                            ("Ip4Config", "o", { $0.string("\(root)/IP4Config/1") }),
                            ("Ip6Config", "o", { $0.string("/") }),
                        ]
                    ),
                    (
                        "\(service).Device.Wireless",
                        [("ActiveAccessPoint", "o", { $0.string("\(root)/AccessPoint/7") })]
                    ),
                    ("\(service).Device.Statistics", [("TxBytes", "u", { $0.number(1) })]),
                ]
            ),
            (
                "\(root)/IP4Config/1",
                [
                    (
                        "\(service).IP4Config",
                        [
                            (
                                "Nameservers", "au",
                                { $0.array(alignment: 4) { $0.number(UInt32(bigEndian: 0xC000_0235)) } }
                            )
                        ]
                    )
                ]
            ),
            (
                "\(root)/AccessPoint/7",
                [
                    (
                        "\(service).AccessPoint",
                        [
                            (
                                "Ssid", "ay",
                                { $0.array(alignment: 1) { for byte in "home".utf8 { $0.byte(byte) } } }
                            ),
                            ("Strength", "y", { $0.byte(70) }),
                        ]
                    )
                ]
            ),
        ])
    }

    static let expected = NetworkManagerDevice(
        metered: .yes, ssid: "home", nameServers: [IPAddress("192.0.2.53")!],
        hardwareAddress: [0x02, 0x00, 0x5E, 0x00, 0x53, 0x02])

    /// PropertiesChanged of one property of a device.
    static func changed(
        _ name: String, _ type: String, _ value: @escaping (inout BusWriter) -> Void
    )
        -> FakeBus.Answer
    {
        FakeBus.Answer("sa{sv}as") {
            $0.string("\(service).Device")
            $0.properties([(name, type, value)])
            $0.array(alignment: 4) { _ in }
        }
    }

    /// NetworkManager's name goes from one connection to another; "" is none.
    static func owner(_ old: String, _ new: String, on bus: FakeBus) {
        bus.signal(
            "/org/freedesktop/DBus", "NameOwnerChanged", of: "org.freedesktop.DBus",
            from: "org.freedesktop.DBus",
            FakeBus.Answer("sss") { for text in [service, old, new] { $0.string(text) } })
    }
}
