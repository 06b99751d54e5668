// What the kernel says about links, addresses and routes, as values. LinuxNet makes them out of netlink
// bytes; a test makes them by hand.

/// The kernel's number for an interface. It is never used again for another one while the machine runs.
public typealias InterfaceIndex = UInt32

/// A link: what RTM_NEWLINK says, with the few things only the device's own files say.
package struct LinkFact: Sendable, Hashable {
    package var index: InterfaceIndex
    package var name: String
    /// ARPHRD_*: 1 Ethernet, 772 loopback, 512 PPP, 519 raw IP, 65534 none.
    package var hardwareType: UInt16
    package var flags: Flags
    /// The kind of a virtual link (IFLA_INFO_KIND): `veth`, `bridge`, `wireguard`, …; nil for hardware.
    package var kind: String?
    /// What it is a part of (IFLA_INFO_SLAVE_KIND): `bridge`, `bond`, `vrf`, …; nil for a link by itself.
    package var portKind: String?
    /// The interface below a VLAN, a macvlan or a tunnel that is bound to one (IFLA_LINK), in this namespace.
    package var lower: InterfaceIndex?
    /// The address on the link (IFLA_ADDRESS): six bytes on Ethernet.
    package var hardwareAddress: [UInt8]
    package var device: Device

    package struct Flags: OptionSet, Sendable, Hashable {
        package let rawValue: UInt32
        package init(rawValue: UInt32) { self.rawValue = rawValue }
        /// IFF_UP: the administrator wants it up.
        package static let up = Flags(rawValue: 0x1)
        /// IFF_LOOPBACK.
        package static let loopback = Flags(rawValue: 0x8)
        /// IFF_LOWER_UP: the hardware below has a carrier.
        package static let lowerUp = Flags(rawValue: 0x10000)
    }

    /// What sysfs knows of the device.
    package struct Device: Sendable, Hashable {
        /// DEVTYPE of its uevent: `wlan`, `wwan`, `bluetooth`, `bridge`, …
        package var devtype: String?
        /// Whether it belongs to an 802.11 radio.
        package var hasRadio: Bool
        /// The driver of the device: `iwlwifi`, `rndis_host`, `virtio_net`, …
        package var driver: String?

        package init(devtype: String? = nil, hasRadio: Bool = false, driver: String? = nil) {
            self.devtype = devtype
            self.hasRadio = hasRadio
            self.driver = driver
        }
    }

    package init(
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
package struct AddressFact: Sendable, Hashable {
    package var interface: InterfaceIndex
    package var address: IPAddress
    package var prefixLength: UInt8
    package var flags: Flags
    /// rt_scope_t: 0 global, 253 link, 254 host.
    package var scope: UInt8

    package struct Flags: OptionSet, Sendable, Hashable {
        package let rawValue: UInt32
        package init(rawValue: UInt32) { self.rawValue = rawValue }
        /// IFA_F_TEMPORARY: made up for privacy, and replaced after a while (RFC 8981). The same bit says
        /// "secondary" of an IPv4 address.
        package static let temporary = Flags(rawValue: 0x01)
        /// IFA_F_DADFAILED: another host has it (RFC 4862 section 5.4).
        package static let duplicate = Flags(rawValue: 0x08)
        /// IFA_F_DEPRECATED: not for new connections (RFC 4862 section 5.5.4).
        package static let deprecated = Flags(rawValue: 0x20)
        /// IFA_F_TENTATIVE: duplicate detection still runs.
        package static let tentative = Flags(rawValue: 0x40)
        /// IFA_F_OPTIMISTIC: usable although tentative (RFC 4429).
        package static let optimistic = Flags(rawValue: 0x04)
    }

    package init(
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
    package var isAssigned: Bool {
        !flags.contains(.duplicate) && (!flags.contains(.tentative) || flags.contains(.optimistic))
    }

    /// Whether the kernel may use it as the source of a connection that leaves the link.
    package var isUsable: Bool { scope < 253 && isAssigned }
}

/// One way of a default route: RTM_NEWROUTE with a destination of length 0. A multipath route is several.
package struct DefaultRouteFact: Sendable, Hashable {
    package var family: IPAddress.Family
    package var interface: InterfaceIndex
    /// The router, or nil for a link that needs none. It may be of the other family (RFC 5549).
    package var gateway: IPAddress?
    /// The priority among default routes: lower wins.
    package var metric: UInt32
    package var preference: Preference

    /// How much an IPv6 router recommends itself among those of one metric (RFC 4191).
    package enum Preference: Int8, Sendable, Hashable, Comparable {
        case low = -1
        case medium
        case high

        package static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
    }

    package init(
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
package enum KernelEvent: Sendable, Hashable {
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
package struct KernelTables: OptionSet, Sendable, Hashable {
    package let rawValue: UInt8
    package init(rawValue: UInt8) { self.rawValue = rawValue }
    package static let links = KernelTables(rawValue: 1)
    package static let addresses = KernelTables(rawValue: 2)
    package static let routes = KernelTables(rawValue: 4)
    package static let all: KernelTables = [.links, .addresses, .routes]
}
