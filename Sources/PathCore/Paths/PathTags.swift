// What a path costs and whether its user wants to save there: which source is asked, in which order.
//
// The process comes first (its configuration, then its environment), then the user (the settings file; a
// Wi-Fi network's own entry before its interface's), then NetworkManager where it knows more than a guess,
// then what a telephone says in its DHCP lease, then NetworkManager's guess, then the device and its type.
// Constrained is only ever a wish: the process's or the user's.
//
// A tunnel's packets travel over another interface, and cost what they cost there. So what no source says of
// the tunnel itself is taken from the interface that carries it.

/// Gives an interface its tags.
struct PathTags {
    var overrides: InterfaceOverrides
    var hints: InterfaceHints

    /// The tags of an interface.
    struct Tags {
        var expensive: Verdict<Expense>
        var constrained: Verdict<Bool>
    }

    /// - Parameter carrier: for an interface whose packets travel over another one: that one, and its tags.
    func tags(
        of link: LinkFact, type: InterfaceType, carrier: (name: String, tags: Tags)?
    ) -> Tags {
        let ssid = ssid(of: link)
        return Tags(
            expensive: expense(of: link, type: type, ssid: ssid, carrier: carrier),
            constrained: overrides.verdict(for: link.name, \.isConstrained)
                ?? hints.settings.value(\.isConstrained, interface: link.name, ssid: ssid)
                .map { Verdict($0, .settings) }
                ?? carrier.map { $0.tags.constrained.inherited(from: $0.name) }
                ?? Verdict(false, .assumed))
    }

    private func expense(
        of link: LinkFact, type: InterfaceType, ssid: String?, carrier: (name: String, tags: Tags)?
    ) -> Verdict<Expense> {
        if let said = overrides.verdict(for: link.name, \.isExpensive) {
            return Verdict(Expense(said: said.value), said.source)
        }
        if let said = hints.settings.value(\.isExpensive, interface: link.name, ssid: ssid) {
            return Verdict(Expense(said: said), .settings)
        }
        let managed = networkManager(link)?.metered.expense ?? .unknown
        if managed.isCertain { return Verdict(managed, .networkManager) }
        if let carrier, carrier.tags.expensive.value != .unknown {
            return carrier.tags.expensive.inherited(from: carrier.name)
        }
        if hints.leases[link.index]?.isAndroidMetered == true { return Verdict(.guessedYes, .dhcpLease) }
        // A guess of NetworkManager's that it is not metered is made of less than we know ourselves.
        let own = guess(of: link, type: type)
        if managed == .guessedYes || (managed == .guessedNo && own.value == .unknown) {
            return Verdict(managed, .networkManager)
        }
        return own
    }

    private func guess(of link: LinkFact, type: InterfaceType) -> Verdict<Expense> {
        switch type {
        case .cellular, .bluetooth: Verdict(.guessedYes, .interfaceType)
        case .wired: Verdict(.guessedNo, .interfaceType)
        case .wifi, .loopback, .tunnel, .virtual, .other: Verdict(.unknown, .assumed)
        }
    }

    /// NetworkManager's word, if it is about this interface and not about one of another namespace that has
    /// the same name.
    func networkManager(_ link: LinkFact) -> NetworkManagerDevice? {
        guard let device = hints.networkManager[link.name] else { return nil }
        // Of a modem it tells no address.
        return device.hardwareAddress.isEmpty || device.hardwareAddress == link.hardwareAddress ? device : nil
    }

    func ssid(of link: LinkFact) -> String? {
        hints.wireless[link.index]?.ssid ?? networkManager(link)?.ssid
    }

    func nameServers(of link: LinkFact) -> [IPAddress] {
        if let servers = networkManager(link)?.nameServers, !servers.isEmpty {
            return servers.map { $0.inZone(link.index) }
        }
        return hints.leases[link.index]?.nameServers ?? []
    }

    func quality(of link: LinkFact) -> PathQuality {
        let radio = hints.wireless[link.index]
        return PathQuality(
            linkSpeed: radio?.rate ?? hints.linkSpeeds[link.index], signal: radio?.signal,
            isFading: radio?.isFading ?? false)
    }
}

extension Verdict {
    /// The same verdict for an interface above. Where it came from in the first place stays.
    fileprivate func inherited(from name: String) -> Verdict {
        source == .assumed ? self : Verdict(value, source, inheritedFrom: inheritedFrom ?? name)
    }
}
