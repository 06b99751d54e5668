// Which paths a connection may use now, from where to where, and which of its subflows the kernel's tables say are lost.

/// A path that the caller's rules allow and that leads to the peer.
struct AllowedPath: Sendable {
    let key: PathKey
    let interface: PathInterface

    /// Whether data over it costs nothing.
    var isFree: Bool { !interface.isExpensive && !interface.isConstrained }
}

struct AllowedPaths: Sendable {
    private let policy: PathPolicy
    let connection: ConnectionIdentity
    /// Whether the connection came about by a default route. If not, no other path leads to the peer.
    private var usesDefaultRoute = true
    private(set) var peer: PeerAddresses
    private(set) var snapshot: PathSnapshot?
    /// The interfaces that the caller's rules allow, also where no subflow can be made there now.
    private var permitted: [InterfaceIndex] = []
    /// In the order of preference. Kept, because a sample changes nothing about it, and samples come by the thousand.
    private(set) var list: [AllowedPath] = []

    init(_ connection: ConnectionIdentity, _ policy: PathPolicy) {
        self.connection = connection
        self.policy = policy
        peer = PeerAddresses(connection.remote, others: connection.otherRemotes)
    }

    // MARK: What changes

    mutating func begin(_ snapshot: PathSnapshot) {
        let followed = FollowedConnection(
            interface: connection.interface, local: connection.local.address,
            remote: connection.remote.address)
        usesDefaultRoute = followed.usesDefaultRoute(in: snapshot)
    }

    mutating func update(
        _ snapshot: PathSnapshot, _ subflows: SubflowTable, _ paths: inout PathTable
    ) {
        self.snapshot = snapshot
        update(subflows, &paths)
    }

    /// The peer takes no further subflow at the address that was connected to.
    ///
    /// - Returns: whether that changes anything.
    mutating func denyFirst(_ subflows: SubflowTable, _ paths: inout PathTable) -> Bool {
        guard peer.denyFirst() else { return false }
        update(subflows, &paths)
        return true
    }

    /// The peer has announced an address.
    ///
    /// - Returns: whether that changes anything.
    mutating func announce(
        _ id: UInt8, _ endpoint: IPEndpoint, _ subflows: SubflowTable, _ paths: inout PathTable,
        _ tuning: SteeringTuning
    ) -> Bool {
        let snapshot = snapshot
        let isOwn = { (address: IPAddress) in snapshot?.interface(with: address) != nil }
        // What is given no port is reached at the first address's (RFC 8684 section 3.4.1).
        let port = endpoint.port == 0 ? connection.remote.port : endpoint.port
        guard peer.announce(id, IPEndpoint(endpoint.address, port: port), isOwn: isOwn, tuning) else {
            return false
        }
        update(subflows, &paths)
        return true
    }

    /// The peer has taken an address back.
    ///
    /// - Returns: whether that changes anything.
    mutating func withdraw(_ id: UInt8, _ subflows: SubflowTable, _ paths: inout PathTable) -> Bool {
        guard peer.withdraw(id) else { return false }
        update(subflows, &paths)
        return true
    }

    private mutating func update(_ subflows: SubflowTable, _ paths: inout PathTable) {
        guard let snapshot else { return }
        var interfaces = snapshot.interfaces
        if !usesDefaultRoute {
            // It came about by a route of its own (the local network, a tunnel): no other path leads there.
            interfaces = [snapshot.interface(connection.interface)].compactMap { $0 }.filter { path in
                let reason = snapshot.excluded.first { $0.interface.index == path.index }?.reason
                return reason != .down && reason != .noCarrier
            }
        }
        let allowed = policy.allowed(among: interfaces)
        permitted = allowed.map(\.index)
        list =
            allowed
            .filter { endpoints(on: $0, subflows) != nil }
            .map { AllowedPath(key: paths.key(for: $0.id), interface: $0) }
    }

    // MARK: From where to where

    /// Where a subflow over this path starts and leads to; nil where no family fits.
    func endpoints(
        on path: PathInterface, _ subflows: SubflowTable
    ) -> (local: IPAddress, remote: IPEndpoint)? {
        for remote in peer.endpoints where path.supports(remote.address.family) || !usesDefaultRoute {
            // An address may have become this machine's own since it was announced.
            guard remote == connection.remote || snapshot?.interface(with: remote.address) == nil else {
                continue
            }
            if let local = source(on: path, for: remote.address, subflows) { return (local, remote) }
        }
        return nil
    }

    /// Where another subflow beside one leads to: the same way where the peer still wants that; nil where it wants none.
    func remote(on path: PathInterface, like subflow: Subflow, _ subflows: SubflowTable) -> IPEndpoint? {
        if peer.endpoints.contains(subflow.remote) { return subflow.remote }
        guard let (local, remote) = endpoints(on: path, subflows), local == subflow.address.address else {
            return nil
        }
        return remote
    }

    private func source(
        on path: PathInterface, for remote: IPAddress, _ subflows: SubflowTable
    ) -> IPAddress? {
        let own = path.addresses.filter {
            $0.address.family == remote.family && $0.state != .tentative
                && $0.address.isLinkLocal == remote.isLinkLocal
        }
        // One that is in use already keeps its id.
        let known = own.first { own in
            subflows.all.contains {
                $0.route.interface == path.index && $0.address.address == own.address.inZone(0)
            }
        }
        let best = known ?? own.first { $0.state == .preferred } ?? own.first
        if let best { return best.address.inZone(0) }
        return remote.isLoopback ? connection.local.address : nil
    }

    // MARK: What is lost

    /// Why a path is not allowed; nil where it is, or where its interface is gone.
    func refusal(of path: PathID) -> PathPolicy.Refusal? {
        snapshot?.interface(path).flatMap(policy.refusal)
    }

    /// Why a subflow has lost its interface, address, route or permission; nil where it has them all.
    func loss(of subflow: Subflow) -> MoveReason? {
        guard let snapshot else { return nil }
        let address = subflow.address.address
        let index = subflow.route.interface
        // (Whether another could be made there says nothing of the one there is.)
        if permitted.contains(index), let path = snapshot.interface(index) {
            let isThere = address.isLoopback || path.addresses.contains { $0.address.inZone(0) == address }
            // Of an IPv6 connection over the local host and such the snapshot may not know the address.
            if isThere || snapshot.interface(with: address) != nil && !usesDefaultRoute { return nil }
            return .trouble(.addressGone)
        }
        guard let interface = snapshot.interface(index) else { return .trouble(.interfaceGone) }
        if let refusal = policy.refusal(of: interface) { return .refused(refusal) }
        switch snapshot.excluded.first(where: { $0.interface.index == index })?.reason {
        case .down: return .trouble(.down)
        case .noCarrier: return .trouble(.noCarrier)
        case .noAddress: return .trouble(.addressGone)
        case .loopback, .noDefaultRoute, .behindTunnel, nil:
            let isThere = interface.addresses.contains { $0.address.inZone(0) == address }
            return .trouble(isThere ? .routeGone : .addressGone)
        }
    }
}
