// What the kernel would say, in few words. The numbers are the same everywhere: eth0 is 2, wlan0 3, wwan0 4,
// tun0 5.

import PathCore

/// An address the test itself wrote, so it can be read.
func ip(_ text: String) -> IPAddress { IPAddress(text)! }

extension LinkFact {
    static let loopback = LinkFact(
        index: 1, name: "lo", hardwareType: 772, flags: [.up, .lowerUp, .loopback])

    static func wired(_ name: String = "eth0", _ index: InterfaceIndex = 2) -> LinkFact {
        LinkFact(index: index, name: name)
    }

    static func wifi(_ name: String = "wlan0", _ index: InterfaceIndex = 3) -> LinkFact {
        LinkFact(index: index, name: name, device: Device(devtype: "wlan"))
    }

    static func cellular(_ name: String = "wwan0", _ index: InterfaceIndex = 4) -> LinkFact {
        LinkFact(index: index, name: name, hardwareType: 519, device: Device(devtype: "wwan"))
    }

    static func tunnel(_ name: String = "tun0", _ index: InterfaceIndex = 5) -> LinkFact {
        LinkFact(index: index, name: name, hardwareType: 65534, kind: "tun")
    }

    /// The same link in another state.
    func with(_ flags: Flags) -> LinkFact {
        var link = self
        link.flags = flags
        return link
    }
}

extension AddressFact {
    /// An address written with the length of its prefix, as in `192.0.2.2/24`.
    static func on(
        _ interface: InterfaceIndex, _ text: String, _ flags: Flags = [], scope: UInt8 = 0
    ) -> AddressFact {
        let address = InterfaceAddress(text)
        return AddressFact(
            interface: interface, address: address.address.inZone(interface),
            prefixLength: address.prefixLength, flags: flags, scope: scope)
    }
}

extension InterfaceAddress {
    init(_ text: String) {
        let parts = text.split(separator: "/")
        self.init(ip(String(parts[0])), prefixLength: UInt8(parts[1])!)
    }
}

extension DefaultRouteFact {
    static func ipv4(
        _ interface: InterfaceIndex, via gateway: String? = nil, metric: UInt32 = 0
    ) -> DefaultRouteFact {
        DefaultRouteFact(family: .ipv4, interface: interface, gateway: gateway.map(ip), metric: metric)
    }

    static func ipv6(
        _ interface: InterfaceIndex, via gateway: String? = nil, metric: UInt32 = 0
    ) -> DefaultRouteFact {
        DefaultRouteFact(family: .ipv6, interface: interface, gateway: gateway.map(ip), metric: metric)
    }
}

extension SnapshotReducer {
    /// A reducer that has read these tables.
    init(
        _ links: [LinkFact], _ addresses: [AddressFact], _ routes: [DefaultRouteFact],
        overrides: InterfaceOverrides = InterfaceOverrides()
    ) {
        self.init(overrides: overrides)
        replaceLinks(links)
        replaceAddresses(addresses)
        replaceRoutes(routes)
    }
}
