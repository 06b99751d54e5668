// From the kernel's facts to the machine's paths.
//
// A notification is a hint, the tables are the truth. Links and addresses are kept as they are announced.
// Default routes are not: the kernel removes IPv4 routes without a word when a link goes down or loses its
// last address, and announces a replacement without naming what it replaced. So the reducer says after each
// event which tables must be read again, and takes whole tables in.
//
// Call order: `replace…` for the three tables, then `apply` for each event; read again what `apply` returns
// and hand it to `replace…`; then `snapshot`.

/// Which interfaces lead to the Internet, by the kernel's own answers: rules, tables and VRFs are in them.
package struct InternetReach: Sendable, Hashable {
    /// The interface a packet would take by itself.
    package var chosen: [IPAddress.Family: InterfaceIndex]
    /// The interfaces a packet would leave by if it were bound to them.
    package var interfaces: [IPAddress.Family: Set<InterfaceIndex>]

    package init(
        chosen: [IPAddress.Family: InterfaceIndex] = [:],
        interfaces: [IPAddress.Family: Set<InterfaceIndex>] = [:]
    ) {
        self.chosen = chosen
        self.interfaces = interfaces
    }
}

/// Builds path snapshots from links, addresses and default routes.
package struct SnapshotReducer: Sendable {
    private var links: [InterfaceIndex: LinkFact] = [:]
    /// By address and prefix length: IPv4 lets one address stand with several, and each goes by itself.
    private var addresses: [InterfaceIndex: [InterfaceAddress: AddressFact]] = [:]
    private var routes: [DefaultRouteFact] = []
    private var reach: InternetReach?
    private let overrides: InterfaceOverrides
    /// What others than rtnetlink say.
    package var hints = InterfaceHints()

    package init(overrides: InterfaceOverrides = InterfaceOverrides()) {
        self.overrides = overrides
    }

    /// The links as they were announced last.
    package var allLinks: [LinkFact] { links.values.sorted { $0.index < $1.index } }

    package mutating func replaceLinks(_ facts: [LinkFact]) {
        links = Dictionary(facts.map { ($0.index, $0) }) { _, last in last }
    }

    package mutating func replaceAddresses(_ facts: [AddressFact]) {
        addresses = [:]
        for fact in facts { store(fact) }
    }

    /// Replaces all default routes.
    ///
    /// - Parameters:
    ///   - facts: the routes.
    ///   - reach: what the kernel answers for the Internet. Where it can't be asked (a trace that is replayed, a
    ///     test), the main table's default routes stand in for it.
    package mutating func replaceRoutes(_ facts: [DefaultRouteFact], reach: InternetReach? = nil) {
        routes = facts
        self.reach = reach
    }

    /// The interfaces for which it makes sense to ask the kernel whether they lead to the Internet: those with
    /// an address of the family that could be used there.
    ///
    /// A link of a VRF is not asked about. A socket bound to it would get out, by the VRF's own table; but
    /// a VRF is there to keep it apart from the traffic of sockets that are in none.
    package var interfacesWorthAsking: [IPAddress.Family: [InterfaceIndex]] {
        var worth: [IPAddress.Family: [InterfaceIndex]] = [:]
        for link in links.values
        where isWorking(link) && !link.flags.contains(.loopback) && link.portKind != "vrf" {
            let usable = (addresses[link.index] ?? [:]).values.filter(\.isUsable)
            for family in IPAddress.Family.allCases
            where usable.contains(where: { $0.address.family == family && !$0.address.isLinkLocal }) {
                worth[family, default: []].append(link.index)
            }
        }
        // In a fixed order, so that the same tables lead to the same questions.
        return worth.mapValues { $0.sorted() }
    }

    /// Takes one notification in.
    /// - Returns: the tables that must be read again, because the kernel does not announce what changed there.
    package mutating func apply(_ event: KernelEvent) -> KernelTables {
        switch event {
        case .link(let fact):
            let old = links.updateValue(fact, forKey: fact.index)
            // Only a change of state moves routes: wireless links announce themselves every few seconds.
            return old?.flags == fact.flags ? [] : .routes
        case .linkGone(let index):
            links[index] = nil
            addresses[index] = nil
            return .routes
        case .address(let fact):
            // An interface without a usable address is not asked about; now it may have one.
            let wasUsable = addresses[fact.interface]?[fact.assigned]?.isUsable ?? false
            store(fact)
            return fact.isUsable && !wasUsable ? .routes : []
        case .addressGone(let fact):
            addresses[fact.interface]?[fact.assigned] = nil
            return .routes
        case .defaultRouteChanged:
            return .routes
        case .lost:
            return .all
        }
    }

    private mutating func store(_ fact: AddressFact) {
        addresses[fact.interface, default: [:]][fact.assigned] = fact
    }

    /// The paths as they are now. Its generation is 0 and its changes are empty: who publishes it knows both.
    package func snapshot() -> PathSnapshot {
        let tunnels = Dictionary(
            uniqueKeysWithValues: IPAddress.Family.allCases.compactMap { family in
                outermostTunnel(family).map { (family, $0) }
            })
        var hints = hints
        // A lease is filed by its interface's number, which in another network namespace is another's.
        hints.leases = hints.leases.filter { index, lease in
            lease.belongs(toInterfaceWith: (addresses[index] ?? [:]).values.lazy.map(\.address))
        }
        let tags = PathTags(overrides: overrides, hints: hints)
        let carrier = defaultCarrier
        var snapshot = PathSnapshot(nameServers: hints.nameServers, resumes: hints.resumes)
        for link in links.values.sorted(by: { $0.index < $1.index }) {
            let described = describe(link, tunnels, tags, carrier)
            if let reason = exclusion(of: link, described, tunnels) {
                snapshot.excluded.append(ExcludedInterface(described, reason: reason))
            } else {
                snapshot.interfaces.append(described)
            }
        }
        let outermost = Set(tunnels.values.map(\.index))
        snapshot.interfaces.sort {
            $0.preference(isOutermost: outermost.contains($0.index))
                < $1.preference(isOutermost: outermost.contains($1.index))
        }
        return snapshot
    }

    private func describe(
        _ link: LinkFact, _ tunnels: [IPAddress.Family: LinkFact], _ tags: PathTags,
        _ defaultCarrier: LinkFact?
    ) -> PathInterface {
        let type = type(of: link)
        let chain = carriers(of: link, defaultCarrier)
        let own = inheritedTags(link, type: type.value, chain: chain, tags)
        let mine = routes.filter { $0.interface == link.index }
        let facts = (addresses[link.index] ?? [:]).values
        var gateways: [IPAddress] = []
        // As the kernel would take them; the order of the table breaks ties.
        let ordered = mine.enumerated().sorted {
            ($0.element.family, $0.element.metric, $1.element.preference, $0.offset)
                < ($1.element.family, $1.element.metric, $0.element.preference, $1.offset)
        }
        for (_, route) in ordered {
            if let gateway = route.gateway, !gateways.contains(gateway) { gateways.append(gateway) }
        }
        func supports(_ family: IPAddress.Family) -> Bool {
            isWorking(link) && leads(link, family)
                && facts.contains { $0.address.family == family && $0.isUsable }
                && (tunnels[family].map { $0.index == link.index } ?? true)
        }
        return PathInterface(
            index: link.index, name: link.name, type: type, expensive: own.expensive,
            constrained: own.constrained,
            addresses: facts.filter(\.isAssigned).map(\.described).sorted(),
            gateways: gateways, metric: mine.map(\.metric).min(), nameServers: tags.nameServers(of: link),
            ssid: tags.ssid(of: link), carriers: chain.map(carrier), quality: tags.quality(of: link),
            supportsIPv4: supports(.ipv4), supportsIPv6: supports(.ipv6))
    }

    private func exclusion(
        of link: LinkFact, _ interface: PathInterface, _ tunnels: [IPAddress.Family: LinkFact]
    ) -> ExcludedInterface.Reason? {
        if interface.type.value == .loopback { return .loopback }
        if !link.flags.contains(.up) { return .down }
        if !link.flags.contains(.lowerUp) { return .noCarrier }
        if interface.supportsIPv4 || interface.supportsIPv6 { return nil }
        let families = IPAddress.Family.allCases.filter { leads(link, $0) }
        // An interface without an address is not asked about; its default routes tell that it lacks one.
        let lacksAddress = routes.contains { route in
            route.interface == link.index && !hasUsableAddress(link, route.family)
        }
        if families.isEmpty { return lacksAddress ? .noAddress : .noDefaultRoute }
        if let tunnel = families.compactMap({ tunnels[$0] }).first(where: { $0.index != link.index }) {
            return .behindTunnel(tunnel.name)
        }
        return .noAddress
    }

    private func hasUsableAddress(_ link: LinkFact, _ family: IPAddress.Family) -> Bool {
        (addresses[link.index] ?? [:]).values.contains { $0.address.family == family && $0.isUsable }
    }

    private func type(of link: LinkFact) -> Verdict<InterfaceType> {
        overrides.verdict(for: link.name, \.type) ?? InterfaceClassifier.classify(link)
    }

    // MARK: What carries a tunnel

    /// The interfaces that carry another one's packets, the nearest first.
    private func carriers(of link: LinkFact, _ defaultCarrier: LinkFact?) -> [LinkFact] {
        var chain: [LinkFact] = []
        // Tunnels in tunnels end somewhere; a bound is for a kernel that says otherwise.
        while chain.count < 8, let next = carrier(of: chain.last ?? link, defaultCarrier),
            next.index != link.index, !chain.contains(where: { $0.index == next.index })
        {
            chain.append(next)
        }
        return chain
    }

    private func carrier(_ link: LinkFact) -> PathInterface.Carrier {
        PathInterface.Carrier(index: link.index, name: link.name, type: type(of: link).value)
    }

    private func carrier(of link: LinkFact, _ defaultCarrier: LinkFact?) -> LinkFact? {
        let isTunnel = type(of: link).value == .tunnel
        // A veth's "lower" link is its other end.
        if let lower = link.lower, isTunnel || ["vlan", "macvlan", "ipvlan"].contains(link.kind) {
            return links[lower]
        }
        return isTunnel ? defaultCarrier : nil
    }

    /// What a tunnel's own packets most likely leave through: the best default route of the main table that
    /// is not a tunnel's. VPNs that take the default traffic over leave it there for themselves.
    private var defaultCarrier: LinkFact? {
        routes.filter { route in
            links[route.interface].map { isWorking($0) && type(of: $0).value != .tunnel } ?? false
        }.min {
            ($0.metric, $0.family, $0.interface) < ($1.metric, $1.family, $1.interface)
        }.flatMap { links[$0.interface] }
    }

    /// The tags of the last carrier, handed up from one to the next.
    private func inheritedTags(
        _ link: LinkFact, type: InterfaceType, chain: [LinkFact], _ tags: PathTags
    ) -> PathTags.Tags {
        var below: (name: String, tags: PathTags.Tags)?
        for carrier in chain.reversed() {
            below = (
                carrier.name, tags.tags(of: carrier, type: self.type(of: carrier).value, carrier: below)
            )
        }
        return tags.tags(of: link, type: type, carrier: below)
    }

    /// Admin up and a carrier: without one the kernel keeps the route and loses the packets.
    private func isWorking(_ link: LinkFact) -> Bool { link.flags.isSuperset(of: [.up, .lowerUp]) }

    /// Whether the kernel would send a family's Internet traffic out of a link, if it were bound to it.
    private func leads(_ link: LinkFact, _ family: IPAddress.Family) -> Bool {
        reach.map { $0.interfaces[family]?.contains(link.index) == true }
            ?? routes.contains { $0.interface == link.index && $0.family == family }
    }

    /// The tunnel that the kernel prefers for a family's Internet traffic, if it is one.
    private func outermostTunnel(_ family: IPAddress.Family) -> LinkFact? {
        let preferred =
            reach.map { $0.chosen[family] }
            ?? routes.filter { $0.family == family && links[$0.interface].map(isWorking) ?? false }
            .min { $0.metric < $1.metric }?.interface
        guard let preferred, let link = links[preferred], isWorking(link), type(of: link).value == .tunnel
        else { return nil }
        return link
    }
}

extension AddressFact {
    /// What tells it from the interface's other addresses.
    fileprivate var assigned: InterfaceAddress { InterfaceAddress(address, prefixLength: prefixLength) }

    fileprivate var described: InterfaceAddress {
        let isTentative = flags.contains(.tentative) && !flags.contains(.optimistic)
        return InterfaceAddress(
            address, prefixLength: prefixLength,
            state: isTentative ? .tentative : flags.contains(.deprecated) ? .deprecated : .preferred,
            isTemporary: address.family == .ipv6 && flags.contains(.temporary))
    }
}

extension PathInterface {
    /// What interfaces are ordered by: the tunnel that takes all traffic, then not constrained, not
    /// expensive, type, metric. The index breaks ties, so that the order is stable.
    fileprivate func preference(isOutermost: Bool) -> Preference {
        Preference(
            isOutermost ? 0 : 1, isConstrained ? 1 : 0, isExpensive ? 1 : 0, type.value.rank,
            Int(metric ?? .max), Int(index))
    }

    fileprivate struct Preference: Comparable {
        private let keys: [Int]
        init(_ keys: Int...) { self.keys = keys }
        static func < (left: Preference, right: Preference) -> Bool {
            left.keys.lexicographicallyPrecedes(right.keys)
        }
    }
}
