// What a race has to know of the interfaces, whatever its destination. To look at an interface costs: a value of one has a
// dozen references to count. Races come by the thousand, snapshots and policies seldom change. So this is worked out once
// for a snapshot and a policy, and every race that has both looks at it.

/// The interfaces of a snapshot as races see them, under one policy.
package final class CandidatePaths: Sendable {
    /// One interface: a path, or one that may still reach what is on its own link. An object, because it is looked at
    /// and handed on all the time.
    final class Path: Sendable {
        let id: PathID
        let index: InterfaceIndex
        /// Whether it is a path to the Internet, or was when the snapshot was made.
        let isPath: Bool
        /// Why the policy does not allow it.
        let refusal: PathPolicy.Refusal?
        /// What is said of it where it leads nowhere near the destination; nil for what needs no words.
        let omission: PathOmission?
        /// Whether nothing can go over it, whatever the kernel's routes say: the kernel keeps those of a link without a
        /// carrier.
        let isDead: Bool
        /// Whether the kernel is asked what it reaches.
        let isAsked: Bool
        let isTunnel: Bool
        let supportsIPv4: Bool
        let supportsIPv6: Bool
        /// In which families it has an address that a packet to another network can come from.
        let hasIPv4Source: Bool
        let hasIPv6Source: Bool
        let order: DestinationOrder
        let network: PathHistory.Network

        /// - Parameter exclusion: why it is no path; nil for one that is.
        fileprivate init(
            _ interface: PathInterface, _ exclusion: ExcludedInterface.Reason?, _ policy: PathPolicy
        ) {
            func hasSource(_ family: IPAddress.Family) -> Bool {
                interface.addresses.contains { $0.address.family == family && !$0.address.isLinkLocal }
            }
            let refusal = policy.refusal(of: interface)
            id = interface.id
            index = interface.index
            isPath = exclusion == nil
            self.refusal = refusal
            omission = Self.omission(of: interface.name, exclusion, refusal)
            isDead = exclusion == .down || exclusion == .noCarrier
            isAsked =
                switch exclusion {
                case .loopback, .down, .noCarrier, .behindTunnel: false
                case .noAddress, .noDefaultRoute, nil: true
                }
            isTunnel = interface.type.value == .tunnel
            supportsIPv4 = interface.supportsIPv4
            supportsIPv6 = interface.supportsIPv6
            hasIPv4Source = hasSource(.ipv4)
            hasIPv6Source = hasSource(.ipv6)
            order = DestinationOrder(sources: interface.addresses)
            network = PathHistory.Network(interface)
        }

        private static func omission(
            of name: String, _ exclusion: ExcludedInterface.Reason?, _ refusal: PathPolicy.Refusal?
        ) -> PathOmission? {
            if let exclusion {
                // Loopback is left out of every race but its own: reports need not say so.
                return exclusion == .loopback ? nil : PathOmission(interface: name, reason: "\(exclusion)")
            }
            if let refusal { return PathOmission(interface: name, reason: "\(refusal)", refusal: refusal) }
            return PathOmission(interface: name, reason: "no route to the destination")
        }

        var isAllowed: Bool { refusal == nil }
        /// Whether it could reach an IPv4 destination by translation alone.
        var speaksOnlyIPv6: Bool { supportsIPv6 && !supportsIPv4 }

        func supports(_ family: IPAddress.Family) -> Bool { family == .ipv4 ? supportsIPv4 : supportsIPv6 }
        func hasSource(_ family: IPAddress.Family) -> Bool { family == .ipv4 ? hasIPv4Source : hasIPv6Source }
    }

    /// In the order in which they are tried: the preferred one, the paths, the others.
    let all: [Path]
    package let snapshot: PathSnapshot
    private let policy: PathPolicy

    package init(_ snapshot: PathSnapshot, _ policy: PathPolicy) {
        self.snapshot = snapshot
        self.policy = policy
        var all = snapshot.interfaces.map { Path($0, nil, policy) }
        // Interfaces that are no path to the Internet still reach what is on their own link.
        all += snapshot.excluded.map { Path($0.interface, $0.reason, policy) }
        if let place = all.firstIndex(where: { $0.id.name == policy.preferredInterface }) {
            all.insert(all.remove(at: place), at: 0)
        }
        self.all = all
    }

    /// Whether it was made of just these. Snapshots are compared by their parts' places in memory: an equal one that was
    /// made anew is taken for another.
    package func isMade(of snapshot: PathSnapshot, _ policy: PathPolicy) -> Bool {
        snapshot.interfaces.isSame(as: self.snapshot.interfaces)
            && snapshot.excluded.isSame(as: self.snapshot.excluded) && policy == self.policy
    }

    /// Whether there is a path that the policy allows.
    package var hasAllowedPath: Bool { all.contains { $0.isPath && $0.isAllowed } }

    /// Whether a path may need the network's translation to reach an IPv4 destination.
    package var mayNeedTranslation: Bool { all.contains { $0.isPath && $0.speaksOnlyIPv6 } }

    /// Whether an allowed path speaks nothing but IPv6.
    package var hasAllowedPathOfOnlyIPv6: Bool {
        all.contains { $0.isPath && $0.isAllowed && $0.speaksOnlyIPv6 }
    }

    /// The network that a path belongs to; nil for what is no path.
    package func network(of path: InterfaceIndex) -> PathHistory.Network? {
        all.first { $0.index == path && $0.isPath }?.network
    }

    /// The networks of all paths.
    package var networks: Set<PathHistory.Network> { Set(all.filter(\.isPath).map(\.network)) }

    func place(of interface: InterfaceIndex) -> Int? { all.firstIndex { $0.index == interface } }
}

extension Array {
    /// Whether both are one array in memory.
    fileprivate func isSame(as other: [Element]) -> Bool {
        withUnsafeBufferPointer { own in
            other.withUnsafeBufferPointer { own.baseAddress == $0.baseAddress && own.count == $0.count }
        }
    }
}
