// Which paths a connection may use now, from where to where, and what the kernel's tables say is lost.

extension SteeringMachine {
    /// The paths that the caller's rules allow and that lead to the peer, in the order of preference.
    func usablePaths(_ snapshot: PathSnapshot) -> [PathInterface] {
        var paths = snapshot.interfaces
        if !usesDefaultRoute {
            // It came about by a route of its own (the local network, a tunnel): no other path leads there.
            paths = [snapshot.interface(connection.interface)].compactMap { $0 }.filter { path in
                let reason = snapshot.excluded.first { $0.interface.index == path.index }?.reason
                return reason != .down && reason != .noCarrier
            }
        }
        paths = paths.filter { path in
            configuration.policy.refusal(of: path) == nil && endpoints(on: path) != nil
        }
        if let preferred = paths.firstIndex(where: { $0.name == configuration.policy.preferredInterface }) {
            paths.insert(paths.remove(at: preferred), at: 0)
        }
        return paths
    }

    /// Where a subflow over this path starts and leads to; nil where no family fits.
    func endpoints(on path: PathInterface) -> (local: IPAddress, remote: IPEndpoint)? {
        for remote in remotes where path.supports(remote.address.family) || !usesDefaultRoute {
            if let local = source(on: path, for: remote.address) { return (local, remote) }
        }
        return nil
    }

    private func source(on path: PathInterface, for remote: IPAddress) -> IPAddress? {
        let own = path.addresses.filter {
            $0.address.family == remote.family && $0.state != .tentative
                && $0.address.isLinkLocal == remote.isLinkLocal
        }
        // One that is in use already keeps its id.
        let known = own.first { own in
            subflows.contains { $0.interface == path.index && $0.address.address == own.address.inZone(0) }
        }
        let best = known ?? own.first { $0.state == .preferred } ?? own.first
        if let best { return best.address.inZone(0) }
        return remote.isLoopback ? connection.local.address : nil
    }

    /// Gives up the subflows whose interface, address, route or permission is gone, or prepares that.
    ///
    /// - Parameter mayWait: whether it may be done in a moment, where that is better (`Handoff`).
    /// - Returns: whether it is done.
    @discardableResult
    mutating func giveUpLost(_ paths: [PathInterface], mayWait: Bool, at now: MonotonicTime) -> Bool {
        guard let latestSnapshot else { return true }
        var lost: [String: MoveReason] = [:]
        for subflow in subflows where lost[subflow.path] == nil {
            lost[subflow.path] = loss(of: subflow, paths, latestSnapshot)
        }
        if mayWait, !lost.isEmpty, prepareHandoff(lost, at: now) { return false }
        handoff = nil
        for (name, reason) in lost.sorted(by: { $0.key < $1.key }) {
            if case .trouble(let trouble) = reason {
                records[name, default: PathState()].noteFailure(at: now)
                records[name]!.standing = .dead(trouble)
                // What comes back may be another network.
                records[name]!.slowJoins = 0
                // It is tried as soon as it is back.
                records[name]!.nextAttempt = now
                tell(.failed(name, trouble))
            } else {
                records[name] = PathState()
            }
            leave(name, because: reason, isCertain: true, at: now)
        }
        return true
    }

    private func loss(
        of subflow: Subflow, _ paths: [PathInterface], _ snapshot: PathSnapshot
    ) -> MoveReason? {
        let address = subflow.address.address
        if let path = paths.first(where: { $0.index == subflow.interface }) {
            let isThere = address.isLoopback || path.addresses.contains { $0.address.inZone(0) == address }
            // Of an IPv6 connection over the local host and such the snapshot may not know the address.
            if isThere || snapshot.interface(with: address) != nil && !usesDefaultRoute { return nil }
            return .trouble(.addressGone)
        }
        guard let interface = snapshot.interface(subflow.interface) else { return .trouble(.interfaceGone) }
        if let refusal = configuration.policy.refusal(of: interface) { return .refused(refusal) }
        switch snapshot.excluded.first(where: { $0.interface.index == subflow.interface })?.reason {
        case .down: return .trouble(.down)
        case .noCarrier: return .trouble(.noCarrier)
        case .noAddress: return .trouble(.addressGone)
        case .loopback, .noDefaultRoute, .behindTunnel, nil:
            let isThere = interface.addresses.contains { $0.address.inZone(0) == address }
            return .trouble(isThere ? .routeGone : .addressGone)
        }
    }
}
