import Multipath

/// A snapshot as JSON: the form of `mppaths --json`. Each key is always there; what is not known is null.
public struct PathDocument: Encodable, Sendable {
    private let snapshot: PathSnapshot

    public init(_ snapshot: PathSnapshot) { self.snapshot = snapshot }

    private enum Key: String, CodingKey {
        case generation, status, primary, reasons, interfaces, excluded, resumes
        case nameServers = "name_servers"
    }

    public func encode(to encoder: any Encoder) throws {
        var object = encoder.container(keyedBy: Key.self)
        try object.encode(snapshot.generation, forKey: .generation)
        try object.encode(snapshot.status.rawValue, forKey: .status)
        try object.encode(snapshot.primary?.name, forKey: .primary)
        try object.encode(snapshot.changes.map(Change.init), forKey: .reasons)
        try object.encode(snapshot.interfaces.map { Interface(interface: $0) }, forKey: .interfaces)
        try object.encode(snapshot.excluded.map(Excluded.init), forKey: .excluded)
        try object.encode(snapshot.nameServers.map(\.description), forKey: .nameServers)
        try object.encode(snapshot.resumes, forKey: .resumes)
    }

    private struct Change: Encodable {
        let reason: String
        let interface: String?
        let detail: String?

        init(_ change: PathChange) {
            reason = change.reason.rawValue
            interface = change.interface
            detail = change.detail
        }
    }

    private struct Excluded: Encodable {
        let name: String
        let index: UInt32
        let type: String
        let reason: String

        init(_ excluded: ExcludedInterface) {
            name = excluded.interface.name
            index = excluded.interface.index
            type = excluded.interface.type.value.rawValue
            reason = excluded.reason.description
        }
    }

    private struct Address: Encodable {
        let address: String
        let prefixLength: UInt8
        let state: String
        let temporary: Bool

        private enum CodingKeys: String, CodingKey {
            case address, state, temporary
            case prefixLength = "prefix_length"
        }

        init(_ address: InterfaceAddress) {
            self.address = address.address.inZone(0).description
            prefixLength = address.prefixLength
            state = address.state.rawValue
            temporary = address.isTemporary
        }
    }

    private struct Interface: Encodable {
        let interface: PathInterface

        private enum Key: String, CodingKey {
            case name, index, type, expensive, constrained, addresses, gateways, metric, ssid, carrier
            case addressDetails = "address_details"
            case nameServers = "name_servers"
            case linkSpeed = "link_speed_mbps"
            case signal = "signal_dbm"
            case typeSource = "type_source"
            case expense
            case expensiveSource = "expensive_source"
            case expensiveInheritedFrom = "expensive_inherited_from"
            case constrainedSource = "constrained_source"
            case constrainedInheritedFrom = "constrained_inherited_from"
            case supportsIPv4 = "supports_ipv4"
            case supportsIPv6 = "supports_ipv6"
        }

        func encode(to encoder: any Encoder) throws {
            var object = encoder.container(keyedBy: Key.self)
            try object.encode(interface.name, forKey: .name)
            try object.encode(interface.index, forKey: .index)
            try object.encode(interface.type.value.rawValue, forKey: .type)
            try object.encode(interface.type.source.rawValue, forKey: .typeSource)
            try object.encode(interface.isExpensive, forKey: .expensive)
            try object.encode(interface.expensive.value.rawValue, forKey: .expense)
            try object.encode(interface.expensive.source.rawValue, forKey: .expensiveSource)
            try object.encode(interface.expensive.inheritedFrom, forKey: .expensiveInheritedFrom)
            try object.encode(interface.isConstrained, forKey: .constrained)
            try object.encode(interface.constrained.source.rawValue, forKey: .constrainedSource)
            try object.encode(interface.constrained.inheritedFrom, forKey: .constrainedInheritedFrom)
            try object.encode(interface.addresses.map(\.description), forKey: .addresses)
            try object.encode(interface.addresses.map(Address.init), forKey: .addressDetails)
            try object.encode(interface.gateways.map { $0.inZone(0).description }, forKey: .gateways)
            try object.encode(interface.metric, forKey: .metric)
            try object.encode(interface.nameServers.map(\.description), forKey: .nameServers)
            try object.encode(interface.ssid, forKey: .ssid)
            try object.encode(interface.carrier, forKey: .carrier)
            try object.encode(interface.quality.linkSpeed, forKey: .linkSpeed)
            try object.encode(interface.quality.signal, forKey: .signal)
            try object.encode(interface.supportsIPv4, forKey: .supportsIPv4)
            try object.encode(interface.supportsIPv6, forKey: .supportsIPv6)
        }
    }
}
