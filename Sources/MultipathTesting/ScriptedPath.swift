import Multipath

/// An interface of a scripted machine, and how it leads to the Internet.
///
/// The presets have addresses of the documentation ranges (RFC 5737, RFC 3849), so a connection that a test
/// makes by mistake goes nowhere.
public struct ScriptedPath: Sendable, Hashable {
    /// The interface's name, which the methods of `ScriptedPaths` are called with.
    public var name: String
    /// What kind of interface it is. `.tunnel` and `.cellular` bring their tags with them.
    public var type: InterfaceType
    /// Its addresses; a family without one has no default route.
    public var addresses: [InterfaceAddress]
    /// The routers of its default routes. A family without one is routed too, as a tunnel's is.
    public var gateways: [IPAddress]
    /// The metric of its default routes: the lower is preferred, where everything else is equal.
    public var metric: UInt32
    /// What the user said (`mppaths set`). Nil where the user said nothing: the type and the carrier decide.
    public var expensive: Bool?
    /// What the user said (`mppaths set`).
    public var constrained: Bool?
    /// For Wi-Fi.
    public var ssid: String?
    /// The name servers that came with the path.
    public var nameServers: [IPAddress] = []
    /// The link's speed and signal. Whether the signal fades is said by `isFading`: a script has no time in which it could
    /// be seen to fall.
    public var quality = PathQuality()
    /// For a tunnel that is bound to one interface: which. Others travel over the best of the rest.
    public var carrier: String?
    /// Whether the administrator has it up.
    public var isUp = true
    /// Whether the hardware has a link: a cable, an access point, a cell.
    public var hasCarrier = true
    /// Whether default routes go through it.
    public var hasDefaultRoute = true

    /// An interface that is up, with a carrier and default routes.
    public init(
        _ name: String, type: InterfaceType, addresses: [InterfaceAddress] = [], gateways: [IPAddress] = [],
        metric: UInt32 = 0
    ) {
        self.name = name
        self.type = type
        self.addresses = addresses
        self.gateways = gateways
        self.metric = metric
    }
}

extension ScriptedPath {
    /// 192.0.2.10 and 2001:db8:1::10, metric 100.
    public static func wired(_ name: String = "eth0") -> ScriptedPath {
        ScriptedPath(name, type: .wired, network: (0xC000_0200, 1), metric: 100)
    }

    /// 198.51.100.10 and 2001:db8:2::10, metric 600, in the network "scripted".
    public static func wifi(_ name: String = "wlan0") -> ScriptedPath {
        var path = ScriptedPath(name, type: .wifi, network: (0xC633_6400, 2), metric: 600)
        path.ssid = "scripted"
        return path
    }

    /// 203.0.113.10 and 2001:db8:3::10, metric 700; expensive because of its type.
    public static func cellular(_ name: String = "wwan0") -> ScriptedPath {
        ScriptedPath(name, type: .cellular, network: (0xCB00_7100, 3), metric: 700)
    }

    /// 203.0.113.110 and 2001:db8:4::10, metric 750; expensive because of its type.
    public static func bluetooth(_ name: String = "bnep0") -> ScriptedPath {
        ScriptedPath(name, type: .bluetooth, network: (0xCB00_7164, 4), metric: 750)
    }

    /// A VPN that takes all traffic: 203.0.113.210 and 2001:db8:5::10, metric 50. Its tags are those of what
    /// carries it.
    public static func tunnel(_ name: String = "wg0", over carrier: String? = nil) -> ScriptedPath {
        var path = ScriptedPath(name, type: .tunnel, network: (0xCB00_71C8, 5), metric: 50)
        path.gateways = []
        path.carrier = carrier
        return path
    }

    /// - Parameter network: the start of its IPv4 addresses, and the third group of its IPv6 network. The
    ///   number in the name goes into the host's part, so that `eth0` and `eth1` differ.
    private init(_ name: String, type: InterfaceType, network: (UInt32, UInt64), metric: UInt32) {
        let digits = name.reversed().prefix { $0.isASCII && $0.isNumber }.reversed()
        let number = (UInt32(String(digits).suffix(4)) ?? 0) % 40
        let subnet = 0x2001_0DB8_0000_0000 | network.1 << 16
        self.init(
            name, type: type,
            addresses: [
                InterfaceAddress(IPAddress(ipv4: network.0 + 10 + number), prefixLength: 24),
                InterfaceAddress(IPAddress(ipv6: subnet, UInt64(0x10 + number)), prefixLength: 64),
            ],
            gateways: [IPAddress(ipv4: network.0 & 0xFFFF_FF00 | 1), IPAddress(ipv6: subnet, 1)],
            metric: metric)
    }
}
