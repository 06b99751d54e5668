import Multipath

/// A machine's interfaces, as a test makes and changes them. What is a path, their order and their tags are
/// found by the rules of the real monitor.
public struct ScriptedMachine: Sendable {
    /// The system's name servers.
    public var nameServers: [IPAddress] = []
    /// The budgets that are spent.
    public var spentBudgets: Set<PathBudget> = []
    private var interfaces: [(index: InterfaceIndex, path: ScriptedPath)] = []
    private var nextIndex: InterfaceIndex = 2
    private var resumes: UInt64 = 0

    /// A machine with these interfaces, and loopback.
    public init(_ paths: [ScriptedPath] = []) {
        for path in paths { add(path) }
    }

    /// The interfaces by name, in the order in which they were added.
    public var names: [String] { interfaces.map(\.path.name) }

    /// Plugs an interface in.
    public mutating func add(_ path: ScriptedPath) {
        precondition(!names.contains(path.name), "there is a scripted path named \(path.name) already")
        interfaces.append((nextIndex, path))
        nextIndex += 1
    }

    /// Unplugs it. One that is added under the same name later is another interface.
    public mutating func remove(_ name: String) { interfaces.remove(at: place(of: name)) }

    /// Takes its carrier away: the cable, the access point, the cell.
    public mutating func lose(_ name: String) { update(name) { $0.hasCarrier = false } }

    /// Gives its carrier back.
    public mutating func restore(_ name: String) { update(name) { $0.hasCarrier = true } }

    /// Changes an interface in place.
    public mutating func update(_ name: String, _ change: (inout ScriptedPath) -> Void) {
        let place = place(of: name)
        change(&interfaces[place].path)
        precondition(
            names.count { $0 == interfaces[place].path.name } == 1, "two scripted paths share a name")
    }

    /// Wakes from sleep.
    public mutating func wake() { resumes += 1 }

    private func place(of name: String) -> Int {
        guard let place = interfaces.firstIndex(where: { $0.path.name == name }) else {
            // The test names an interface that it never made.
            preconditionFailure(
                "no scripted path is named \(name): there are \(names.joined(separator: ", "))")
        }
        return place
    }

    /// What the monitor makes of it.
    public var snapshot: PathSnapshot {
        var reducer = SnapshotReducer()
        var hints = InterfaceHints()
        hints.nameServers = nameServers
        hints.resumes = resumes
        var links = [LinkFact(index: 1, name: "lo", hardwareType: 772, flags: [.up, .lowerUp, .loopback])]
        var addresses = [
            AddressFact(
                interface: 1, address: IPAddress(ipv4: 0x7F00_0001), prefixLength: 8, scope: Self.hostScope),
            AddressFact(
                interface: 1, address: IPAddress(ipv6: 0, 1), prefixLength: 128, scope: Self.hostScope),
        ]
        var routes: [DefaultRouteFact] = []
        for (index, path) in interfaces {
            links.append(path.link(index, lower: interfaces.first { $0.path.name == path.carrier }?.index))
            addresses += path.addresses.map { AddressFact($0, on: index) }
            routes += path.routes(index)
            path.describe(index, in: &hints)
        }
        reducer.hints = hints
        reducer.replaceLinks(links)
        reducer.replaceAddresses(addresses)
        reducer.replaceRoutes(routes)
        return reducer.snapshot().withSpent(spentBudgets)
    }

    /// RT_SCOPE_HOST: good for nothing beyond this machine.
    private static let hostScope: UInt8 = 254
}

// As the kernel and its companions would say it.

extension ScriptedPath {
    fileprivate func link(_ index: InterfaceIndex, lower: InterfaceIndex?) -> LinkFact {
        var link = LinkFact(index: index, name: name, flags: [], lower: lower)
        if isUp { link.flags.insert(.up) }
        if hasCarrier { link.flags.insert(.lowerUp) }
        switch type {
        case .wired: break
        case .wifi: link.device.devtype = "wlan"
        case .cellular: link.device.devtype = "wwan"
        case .bluetooth: link.device.devtype = "bluetooth"
        case .loopback: link.flags.insert(.loopback)
        case .tunnel: (link.kind, link.hardwareType) = ("wireguard", 65534)
        case .virtual: link.kind = "dummy"
        case .other: link.kind = "ppp"
        }
        return link
    }

    /// Each gateway's, and one for each family of its addresses that has none.
    fileprivate func routes(_ index: InterfaceIndex) -> [DefaultRouteFact] {
        // The kernel drops them with the link; without a carrier they stay.
        guard hasDefaultRoute, isUp else { return [] }
        let families = Set(addresses.filter { !$0.address.isLinkLocal }.map(\.address.family))
        return families.sorted().flatMap { family in
            let routers = gateways.filter { $0.family == family }.map { Optional($0.inZone(index)) }
            return (routers.isEmpty ? [nil] : routers).map {
                DefaultRouteFact(family: family, interface: index, gateway: $0, metric: metric)
            }
        }
    }

    fileprivate func describe(_ index: InterfaceIndex, in hints: inout InterfaceHints) {
        if expensive != nil || constrained != nil {
            hints.settings.entries[name] = PathSettings.Entry(
                isExpensive: expensive, isConstrained: constrained)
        }
        if !nameServers.isEmpty { hints.leases[index] = LeaseHint(nameServers: nameServers) }
        if type == .wifi {
            hints.wireless[index] = WirelessHint(
                ssid: hasCarrier ? ssid : nil, signal: quality.signal, rate: quality.linkSpeed,
                isFading: quality.isFading)
        } else {
            hints.linkSpeeds[index] = quality.linkSpeed
        }
    }
}

extension AddressFact {
    fileprivate init(_ address: InterfaceAddress, on index: InterfaceIndex) {
        var flags: Flags = address.isTemporary ? .temporary : []
        switch address.state {
        case .preferred: break
        case .deprecated: flags.insert(.deprecated)
        case .tentative: flags.insert(.tentative)
        }
        self.init(
            interface: index, address: address.address.inZone(index), prefixLength: address.prefixLength,
            flags: flags)
    }
}
