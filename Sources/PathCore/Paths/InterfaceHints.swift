// What others than rtnetlink say about interfaces. All of it may be missing, and often is.

/// Everything known about interfaces from beside the routing tables, at one moment.
package struct InterfaceHints: Sendable, Hashable {
    /// The user's own word, from the settings file.
    package var settings = PathSettings()
    /// What NetworkManager says, by interface name.
    package var networkManager: [String: NetworkManagerDevice] = [:]
    /// What the DHCP lease says, where systemd-networkd holds one.
    package var leases: [InterfaceIndex: LeaseHint] = [:]
    /// What the radio says.
    package var wireless: [InterfaceIndex: WirelessHint] = [:]
    /// The speed of the wire, in Mbit/s.
    package var linkSpeeds: [InterfaceIndex: UInt32] = [:]
    /// The name servers of resolv.conf, which belong to no interface in particular.
    package var nameServers: [IPAddress] = []
    /// How often the machine woke from sleep since the monitor started.
    package var resumes: UInt64 = 0

    package init() {}
}

/// A DHCP lease's part of the picture.
package struct LeaseHint: Sendable, Hashable {
    /// Option 43 reads ANDROID_METERED: a telephone that shares its connection says that it is metered.
    package var isAndroidMetered: Bool
    package var nameServers: [IPAddress]
    /// The leased address. The lease's file is named by an interface's number, which another network
    /// namespace has given to another interface: only one that has this address is meant. nil means any.
    package var address: IPAddress?

    package init(
        isAndroidMetered: Bool = false, nameServers: [IPAddress] = [], address: IPAddress? = nil
    ) {
        self.isAndroidMetered = isAndroidMetered
        self.nameServers = nameServers
        self.address = address
    }

    /// Whether it is the lease of the interface that has these addresses.
    package func belongs(toInterfaceWith addresses: some Sequence<IPAddress>) -> Bool {
        address.map { addresses.contains($0) } ?? true
    }
}

/// What nl80211 says of a Wi-Fi interface.
package struct WirelessHint: Sendable, Hashable {
    /// The network's name; nil while it is in none.
    package var ssid: String?
    /// The access point's signal, in dBm.
    package var signal: Int?
    /// The rate to the access point, in Mbit/s.
    package var rate: UInt32?
    /// Whether the signal is weak or falling (`SignalDetector`).
    package var isFading: Bool

    package init(ssid: String? = nil, signal: Int? = nil, rate: UInt32? = nil, isFading: Bool = false) {
        self.ssid = ssid
        self.signal = signal
        self.rate = rate
        self.isFading = isFading
    }
}

/// What can be known of a path without sending anything. What no source says is nil.
public struct PathQuality: Sendable, Hashable {
    /// The speed of the link, in Mbit/s: the wire's, or the radio's rate now.
    public var linkSpeed: UInt32?
    /// The signal, in dBm: −50 is strong, −80 weak.
    public var signal: Int?
    /// Whether the signal is below −75 dBm, or has just fallen by 10 dB within 2 s: the path may soon be worse. It is
    /// watched while a connection that is steered moves data; else it is as of the last time that anything changed.
    public var isFading: Bool

    /// What is known of the link; nil for what is not.
    public init(linkSpeed: UInt32? = nil, signal: Int? = nil, isFading: Bool = false) {
        self.linkSpeed = linkSpeed
        self.signal = signal
        self.isFading = isFading
    }
}
