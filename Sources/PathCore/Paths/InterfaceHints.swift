// What others than rtnetlink say about interfaces. All of it may be missing, and often is.

/// Everything known about interfaces from beside the routing tables, at one moment.
public struct InterfaceHints: Sendable, Hashable {
    /// The user's own word, from the settings file.
    public var settings = PathSettings()
    /// What NetworkManager says, by interface name.
    public var networkManager: [String: NetworkManagerDevice] = [:]
    /// What the DHCP lease says, where systemd-networkd holds one.
    public var leases: [InterfaceIndex: LeaseHint] = [:]
    /// What the radio says.
    public var wireless: [InterfaceIndex: WirelessHint] = [:]
    /// The speed of the wire, in Mbit/s.
    public var linkSpeeds: [InterfaceIndex: UInt32] = [:]
    /// The name servers of resolv.conf, which belong to no interface in particular.
    public var nameServers: [IPAddress] = []
    /// How often the machine woke from sleep since the monitor started.
    public var resumes: UInt64 = 0

    public init() {}
}

/// A DHCP lease's part of the picture.
public struct LeaseHint: Sendable, Hashable {
    /// Option 43 reads ANDROID_METERED: a telephone that shares its connection says that it is metered.
    public var isAndroidMetered: Bool
    public var nameServers: [IPAddress]
    /// The leased address. The lease's file is named by an interface's number, which another network
    /// namespace has given to another interface: only one that has this address is meant. nil means any.
    public var address: IPAddress?

    public init(
        isAndroidMetered: Bool = false, nameServers: [IPAddress] = [], address: IPAddress? = nil
    ) {
        self.isAndroidMetered = isAndroidMetered
        self.nameServers = nameServers
        self.address = address
    }

    /// Whether it is the lease of the interface that has these addresses.
    public func belongs(toInterfaceWith addresses: some Sequence<IPAddress>) -> Bool {
        address.map { addresses.contains($0) } ?? true
    }
}

/// What nl80211 says of a Wi-Fi interface.
public struct WirelessHint: Sendable, Hashable {
    /// The network's name; nil while it is in none.
    public var ssid: String?
    /// The access point's signal, in dBm.
    public var signal: Int?
    /// The rate to the access point, in Mbit/s.
    public var rate: UInt32?

    public init(ssid: String? = nil, signal: Int? = nil, rate: UInt32? = nil) {
        self.ssid = ssid
        self.signal = signal
        self.rate = rate
    }
}

/// What can be known of a path without sending anything. What nobody says is nil.
public struct PathQuality: Sendable, Hashable {
    /// The speed of the link, in Mbit/s: the wire's, or the radio's rate now.
    public var linkSpeed: UInt32?
    /// The signal, in dBm: −50 is strong, −80 weak.
    public var signal: Int?

    public init(linkSpeed: UInt32? = nil, signal: Int? = nil) {
        self.linkSpeed = linkSpeed
        self.signal = signal
    }
}
