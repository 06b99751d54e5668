/// What makes the network the same one as far as its memory for silent connections goes: the Wi-Fi network's name, the modem,
/// the router of a wire, and the address family, which translators tell apart. Two networks may share a name: then what is
/// remembered of one is tried on the other, and corrected.
package struct HeartbeatNetwork: Sendable, Hashable {
    package var family: IPAddress.Family
    /// `wifi`, `cellular`, `wired` …
    package var type: InterfaceType
    package var name: String

    package init(family: IPAddress.Family, type: InterfaceType, name: String) {
        self.family = family
        self.type = type
        self.name = name
    }

    /// The network that an interface is in.
    package init(_ path: PathInterface, family: IPAddress.Family) {
        self.family = family
        type = path.type.value
        let router = path.gateways.first { $0.family == family }.map { "\($0.inZone(0))" }
        name =
            switch path.type.value {
            case .wifi: path.ssid ?? router ?? path.name
            case .cellular: path.name
            default: router ?? path.name
            }
    }
}
