/// What kind of interface a path goes through.
public enum InterfaceType: String, Sendable, Hashable, CaseIterable {
    /// Ethernet, and what looks like it.
    case wired
    /// Wi-Fi (IEEE 802.11).
    case wifi
    /// A modem (WWAN), or a telephone that shares its connection.
    case cellular
    /// A telephone's network over Bluetooth (PAN).
    case bluetooth
    /// This machine itself.
    case loopback
    /// A VPN or another interface that puts packets into packets.
    case tunnel
    /// Made by software and not known to lead to a wire: veth, bridge, dummy, tap.
    case virtual
    /// None of the others.
    case other

    /// Which type is preferred where everything else is equal: lower first (Documentation.docc/Paths.md).
    var rank: Int {
        switch self {
        case .wired: 0
        case .wifi: 1
        case .cellular: 2
        case .bluetooth: 3
        case .tunnel, .virtual, .other: 4
        case .loopback: 5
        }
    }
}

/// Where a verdict about an interface comes from.
public enum VerdictSource: String, Sendable, Hashable {
    /// The process's own configuration.
    case configuration
    /// The environment variable `MULTIPATH_INTERFACES`.
    case environment
    /// The user's settings file (`mppaths set`).
    case settings
    /// NetworkManager, over D-Bus.
    case networkManager = "network_manager"
    /// The DHCP lease: a telephone that shares its connection says ANDROID_METERED there.
    case dhcpLease = "dhcp_lease"
    /// Concluded from the interface's type.
    case interfaceType = "interface_type"
    /// The driver that the device needs.
    case driver
    /// The kernel's or the device's own word.
    case kernel
    /// Guessed from the interface's name.
    case name
    /// No source says anything; this is what is assumed then.
    case assumed
}

/// A verdict and who gave it.
public struct Verdict<Value: Sendable & Hashable>: Sendable, Hashable {
    /// What is said.
    public var value: Value
    /// Where it is known from.
    public var source: VerdictSource
    /// The interface it was really about: a tunnel costs what the interface below it costs.
    public var inheritedFrom: String?

    /// A verdict with its source.
    public init(_ value: Value, _ source: VerdictSource, inheritedFrom: String? = nil) {
        self.value = value
        self.source = source
        self.inheritedFrom = inheritedFrom
    }
}

/// Tells an interface's type by a ladder of evidence, the surest first.
package enum InterfaceClassifier {
    package static func classify(_ link: LinkFact) -> Verdict<InterfaceType> {
        if link.flags.contains(.loopback) || link.hardwareType == 772 { return Verdict(.loopback, .kernel) }
        if let kind = link.kind { return Verdict(type(ofKind: kind, link), .kernel) }
        switch link.device.devtype {
        case "wlan": return Verdict(.wifi, .kernel)
        case "wwan": return Verdict(.cellular, .kernel)
        case "bluetooth": return Verdict(.bluetooth, .kernel)
        case "bridge", "vlan", "bond": return Verdict(type(ofKind: link.device.devtype ?? "", link), .kernel)
        default: break
        }
        if link.device.hasRadio { return Verdict(.wifi, .kernel) }
        if isModem(link) || isTetheredTelephone(link) { return Verdict(.cellular, .driver) }
        switch link.hardwareType {
        case 801, 802, 803: return Verdict(.wifi, .kernel)  // ARPHRD_IEEE80211 and its monitor forms
        case 768, 769, 776, 778, 823: return Verdict(.tunnel, .kernel)  // IPIP, IP6IP6, SIT, IPGRE, IP6GRE
        case 65534: return Verdict(.tunnel, .kernel)  // ARPHRD_NONE: TUN and WireGuard
        default: break
        }
        if Self.cellularNames.contains(where: link.name.hasPrefix) { return Verdict(.cellular, .name) }
        switch link.hardwareType {
        case 519: return Verdict(.cellular, .kernel)  // ARPHRD_RAWIP: modems speak IP without Ethernet
        case 1: return Verdict(.wired, .kernel)
        default: return Verdict(.other, .kernel)
        }
    }

    private static func type(ofKind kind: String, _ link: LinkFact) -> InterfaceType {
        switch kind {
        // A TUN carries packets of a VPN; a TAP (the same kind, but Ethernet) is mostly a virtual machine's.
        case "tun": link.hardwareType == 1 ? .virtual : .tunnel
        case "wireguard", "ipip", "sit", "gre", "gretap", "ip6gre", "ip6tnl", "vti", "vti6", "xfrm",
            "ovpn":
            .tunnel
        case "wwan", "rmnet": .cellular
        // PPPoE over a DSL line and a dialled modem look alike.
        case "ppp": .other
        // A VLAN, a bond or a team is a wire with a name more.
        case "vlan", "bond", "team": .wired
        default: .virtual
        }
    }

    /// Whether a telephone shares its connection over USB.
    ///
    /// `ipheth` drives nothing but telephones, `rndis_host` hardly anything else. The standard USB network
    /// classes also drive wired adapters; those have an address of their maker's, where a telephone makes one
    /// up (the second bit of the first byte says so, IEEE 802-2014 section 8.2.2).
    static func isTetheredTelephone(_ link: LinkFact) -> Bool {
        switch link.device.driver {
        case "ipheth", "rndis_host": true
        case "cdc_ether", "cdc_eem", "cdc_ncm": link.hardwareAddress.first.map { $0 & 2 != 0 } ?? false
        default: false
        }
    }

    private static func isModem(_ link: LinkFact) -> Bool {
        link.device.driver.map(modemDrivers.contains) ?? false
    }

    /// Drivers of cellular modems.
    private static let modemDrivers: Set<String> = [
        "qmi_wwan", "cdc_mbim", "sierra_net", "hso", "huawei_cdc_ncm", "iosm", "mtk_t7xx",
    ]

    private static let cellularNames = ["wwan", "wwp", "rmnet", "ccmni"]
}
