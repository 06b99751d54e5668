// What a snapshot says of one connection's path. Pure functions of the snapshot, the policy and what the
// connection is bound to.

/// A connection as far as its path is concerned.
package struct FollowedConnection: Sendable, Hashable {
    /// The interface it is bound to.
    package var interface: InterfaceIndex
    package var local: IPAddress?
    package var remote: IPAddress
    /// The families in which its destination has addresses: a better path must speak one of them.
    package var families: Set<IPAddress.Family>
    /// Plain TCP keeps its path; MPTCP lives as long as any path does.
    package var isTCP: Bool

    package init(
        interface: InterfaceIndex, local: IPAddress?, remote: IPAddress,
        families: Set<IPAddress.Family> = [], isTCP: Bool = true
    ) {
        self.interface = interface
        self.local = local
        self.remote = remote
        // A set that is shared stays shared.
        self.families = families.contains(remote.family) ? families : families.union([remote.family])
        self.isTCP = isTCP
    }
}

extension FollowedConnection {
    /// What is wrong with the path, as the kernel's tables tell.
    /// - Parameter needsRoute: whether the connection came about by a default route, and so needs one still.
    func trouble(in snapshot: PathSnapshot, _ policy: PathPolicy, needsRoute: Bool) -> PathTrouble? {
        guard isTCP else {
            return !needsRoute || policy.allowsAny(in: snapshot) ? nil : .noPath
        }
        guard let own = snapshot.interface(interface) else { return .interfaceGone }
        let exclusion = snapshot.excluded.first { $0.interface.index == interface }?.reason
        switch exclusion {
        case .down: return .down
        case .noCarrier: return .noCarrier
        // Loopback has no carrier to lose; addresses of other interfaces are reached over it as well.
        case .loopback, .noAddress, .noDefaultRoute, .behindTunnel, nil: break
        }
        if let local, !local.isLoopback, snapshot.interface(with: local) == nil { return .addressGone }
        if needsRoute, !own.supports(remote.family), !own.isOnLink(remote) {
            if case .behindTunnel = exclusion { return nil }
            return .routeGone
        }
        return nil
    }

    /// Whether it came about by a default route. If not, other paths to the Internet are no choice for it.
    func usesDefaultRoute(in snapshot: PathSnapshot) -> Bool {
        guard let own = snapshot.path(interface) else { return false }
        return own.supports(remote.family) && !own.isOnLink(remote)
    }

    /// The path that would be chosen for it now, if that is another one.
    ///
    /// - Parameter silent: other paths that are out of the question.
    func better(
        in snapshot: PathSnapshot, _ policy: PathPolicy, without silent: Set<InterfaceIndex> = []
    ) -> PathInterface? {
        let best = policy.allowed(in: snapshot).first { path in
            (path.index == interface || !silent.contains(path.index))
                && families.contains { path.supports($0) }
        }
        return best?.index == interface ? nil : best
    }
}

extension PathInterface {
    /// Whether an address is on one of its own networks.
    func isOnLink(_ address: IPAddress) -> Bool {
        if address.isLinkLocal { return true }
        return addresses.contains { own in
            own.address.family == address.family && own.prefixLength > 0
                && own.address.shares(own.prefixLength, with: address)
        }
    }
}

extension IPAddress {
    fileprivate func shares(_ prefix: UInt8, with other: IPAddress) -> Bool {
        let length = family == .ipv4 ? 32 : 128
        let bits = min(Int(prefix), length)
        return zip(networkBytes, other.networkBytes).enumerated().allSatisfy { position, pair in
            let left = bits - position * 8
            if left <= 0 { return true }
            let mask: UInt8 = left >= 8 ? 0xFF : ~(0xFF >> UInt8(left))
            return pair.0 & mask == pair.1 & mask
        }
    }
}
