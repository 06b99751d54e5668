// What the kernel says about links, addresses and routes, as values. LinuxNet makes them out of netlink
// bytes; a test makes them by hand.

/// The kernel's number for an interface. It is never used again for another one while the machine runs.
public typealias InterfaceIndex = UInt32

/// A link: what RTM_NEWLINK says, with the few things only the device's own files say.
public struct LinkFact: Sendable, Hashable {
    public var index: InterfaceIndex
    public var name: String
    /// ARPHRD_*: 1 Ethernet, 772 loopback, 512 PPP, 519 raw IP, 65534 none.
    public var hardwareType: UInt16
    public var flags: Flags
    /// The kind of a virtual link (IFLA_INFO_KIND): `veth`, `bridge`, `wireguard`, …; nil for hardware.
    public var kind: String?
    /// What it is a part of (IFLA_INFO_SLAVE_KIND): `bridge`, `bond`, `vrf`, …; nil for a link by itself.
    public var portKind: String?
    /// The interface below a VLAN, a macvlan or a tunnel that is bound to one (IFLA_LINK), in this namespace.
    public var lower: InterfaceIndex?
    /// The address on the link (IFLA_ADDRESS): six bytes on Ethernet.
    public var hardwareAddress: [UInt8]
    public var device: Device

    public struct Flags: OptionSet, Sendable, Hashable {
        public let rawValue: UInt32
        public init(rawValue: UInt32) { self.rawValue = rawValue }
        /// IFF_UP: the administrator wants it up.
        public static let up = Flags(rawValue: 0x1)
        /// IFF_LOOPBACK.
        public static let loopback = Flags(rawValue: 0x8)
        /// IFF_LOWER_UP: the hardware below has a carrier.
        public static let lowerUp = Flags(rawValue: 0x10000)
    }

    /// What sysfs knows of the device.
    public struct Device: Sendable, Hashable {
        /// DEVTYPE of its uevent: `wlan`, `wwan`, `bluetooth`, `bridge`, …
        public var devtype: String?
        /// Whether it belongs to an 802.11 radio.
        public var hasRadio: Bool
        /// The driver of the device: `iwlwifi`, `rndis_host`, `virtio_net`, …
        public var driver: String?

        public init(devtype: String? = nil, hasRadio: Bool = false, driver: String? = nil) {
            self.devtype = devtype
            self.hasRadio = hasRadio
            self.driver = driver
        }
    }

    public init(
        index: InterfaceIndex, name: String, hardwareType: UInt16 = 1, flags: Flags = [.up, .lowerUp],
        kind: String? = nil, portKind: String? = nil, lower: InterfaceIndex? = nil,
        hardwareAddress: [UInt8] = [], device: Device = Device()
    ) {
        self.index = index
        self.name = name
        self.hardwareType = hardwareType
        self.flags = flags
        self.kind = kind
        self.portKind = portKind
        self.lower = lower
        self.hardwareAddress = hardwareAddress
        self.device = device
    }
}

/// An address of an interface: RTM_NEWADDR.
public struct AddressFact: Sendable, Hashable {
    public var interface: InterfaceIndex
    public var address: IPAddress
    public var prefixLength: UInt8
    public var flags: Flags
    /// rt_scope_t: 0 global, 253 link, 254 host.
    public var scope: UInt8

    public struct Flags: OptionSet, Sendable, Hashable {
        public let rawValue: UInt32
        public init(rawValue: UInt32) { self.rawValue = rawValue }
        /// IFA_F_TEMPORARY: made up for privacy, and replaced after a while (RFC 8981). The same bit says
        /// "secondary" of an IPv4 address.
        public static let temporary = Flags(rawValue: 0x01)
        /// IFA_F_DADFAILED: another host has it (RFC 4862 section 5.4).
        public static let duplicate = Flags(rawValue: 0x08)
        /// IFA_F_DEPRECATED: not for new connections (RFC 4862 section 5.5.4).
        public static let deprecated = Flags(rawValue: 0x20)
        /// IFA_F_TENTATIVE: duplicate detection still runs.
        public static let tentative = Flags(rawValue: 0x40)
        /// IFA_F_OPTIMISTIC: usable although tentative (RFC 4429).
        public static let optimistic = Flags(rawValue: 0x04)
    }

    public init(
        interface: InterfaceIndex, address: IPAddress, prefixLength: UInt8, flags: Flags = [],
        scope: UInt8 = 0
    ) {
        self.interface = interface
        self.address = address
        self.prefixLength = prefixLength
        self.flags = flags
        self.scope = scope
    }

    /// Whether the interface has it: it is no other host's, and that is not being found out any more. The
    /// kernel announces some addresses only then.
    public var isAssigned: Bool {
        !flags.contains(.duplicate) && (!flags.contains(.tentative) || flags.contains(.optimistic))
    }

    /// Whether the kernel may use it as the source of a connection that leaves the link.
    public var isUsable: Bool { scope < 253 && isAssigned }
}

/// One way of a default route: RTM_NEWROUTE with a destination of length 0. A multipath route is several.
public struct DefaultRouteFact: Sendable, Hashable {
    public var family: IPAddress.Family
    public var interface: InterfaceIndex
    /// The router, or nil for a link that needs none. It may be of the other family (RFC 5549).
    public var gateway: IPAddress?
    /// The priority among default routes: lower wins.
    public var metric: UInt32
    public var preference: Preference

    /// How much an IPv6 router recommends itself among those of one metric (RFC 4191).
    public enum Preference: Int8, Sendable, Hashable, Comparable {
        case low = -1
        case medium
        case high

        public static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
    }

    public init(
        family: IPAddress.Family, interface: InterfaceIndex, gateway: IPAddress?, metric: UInt32 = 0,
        preference: Preference = .medium
    ) {
        self.family = family
        self.interface = interface
        self.gateway = gateway
        self.metric = metric
        self.preference = preference
    }
}

/// What a notification tells, or hints at.
public enum KernelEvent: Sendable, Hashable {
    case link(LinkFact)
    case linkGone(InterfaceIndex)
    case address(AddressFact)
    case addressGone(AddressFact)
    /// Some default route came, went or changed. Only a hint: a replaced route is announced without the one
    /// it replaced, so the routes are read again.
    case defaultRouteChanged
    /// Notifications were lost (ENOBUFS): everything is read again.
    case lost
}

/// The tables a reader can be asked to read again.
public struct KernelTables: OptionSet, Sendable, Hashable {
    public let rawValue: UInt8
    public init(rawValue: UInt8) { self.rawValue = rawValue }
    public static let links = KernelTables(rawValue: 1)
    public static let addresses = KernelTables(rawValue: 2)
    public static let routes = KernelTables(rawValue: 4)
    public static let all: KernelTables = [.links, .addresses, .routes]
}
