import LinuxNet

extension ConnectedSocket {
    /// Follows this connection: counts its bytes by path, tells of its path, and steers its subflows as its mode says.
    /// Ask for it before the descriptor is taken, and `stop` it as soon as you have closed that.
    ///
    /// - Parameter hasHints: whether `didSend` and `didReceive` will be said. Without them an MPTCP connection is looked
    ///   at once a second while it is idle, and a path that dies is noticed later.
    /// - Throws: the kernel's error where there is no descriptor left.
    public func follow(hasHints: Bool = false) throws -> ConnectionFollower {
        try follow(hasHints: hasHints, policy: nil)
    }

    /// - Parameter policy: which paths the connection may use, where that is more than its attempt was allowed.
    func follow(hasHints: Bool, policy: PathPolicy?) throws -> ConnectionFollower {
        let follower = try pending.makeFollower(
            hasHints: hasHints, families: report.addresses.families, policy: policy)
        follower.begin(report)
        return follower
    }
}

extension ConnectedSocket {
    /// Follows this connection as soon as `begin` is said.
    package func makeFollower(policy: PathPolicy) throws -> ConnectionFollower {
        try pending.makeFollower(families: report.addresses.families, policy: policy)
    }
}

extension PendingConnection {
    /// Follows this connection as soon as `begin` is said.
    ///
    /// - Parameters:
    ///   - families: in which its destination has addresses.
    ///   - policy: which paths it may use, where that is more than its attempt was allowed.
    package func makeFollower(
        hasHints: Bool = true, families: Set<IPAddress.Family>? = nil, policy: PathPolicy? = nil
    ) throws -> ConnectionFollower {
        let (candidate, configuration) = (facts.candidate, facts.request.configuration)
        let steering = SteeringConfiguration(
            mode: configuration.mode, policy: configuration.policy,
            pathLossTimeout: configuration.pathLossTimeout, hasHints: hasHints)
        let isMPTCP = facts.transport.isMPTCP
        return try ConnectionFollower(
            socket.descriptor.number,
            FollowedFacts(
                transport: facts.transport, level: facts.level, token: facts.sample?.token,
                local: facts.local, remote: candidate.endpoint, path: candidate.path,
                interface: candidate.interface,
                otherRemotes: isMPTCP ? facts.otherRemotes : [], established: facts.established,
                marking: facts.marking,
                steering: isMPTCP ? steering : nil,
                viability: FollowedFacts.Viability(
                    families: families ?? facts.addresses.families, policy: policy ?? configuration.policy,
                    whenRefused: configuration.whenPathIsRefused)),
            sample: facts.sample,
            monitor: facts.request.connector.monitor,
            end: end)
    }
}

/// Follows the connections that a listener accepts.
public struct AcceptedConnections: Sendable {
    let monitor: PathMonitor
    let fallbackReason: FallbackReason

    /// Follows an accepted connection.
    ///
    /// - Parameters:
    ///   - descriptor: the accepted connection's; it stays its owner's.
    ///   - mode: what to do when a path goes bad. The end that connects makes the subflows; this one gives up those that
    ///     are dead. It takes CAP_NET_ADMIN, and the network namespace's path manager set to `userspace`.
    /// - Throws: the kernel's error where there is no descriptor left.
    public func follow(_ descriptor: CInt, mode: MultipathMode = .handover) throws -> ConnectionFollower {
        let follower = try makeFollower(descriptor, mode)
        follower.begin(nil)
        return follower
    }

    /// Follows as soon as `begin` is said.
    package func makeFollower(_ descriptor: CInt, _ mode: MultipathMode) throws -> ConnectionFollower {
        try ConnectionFollower(
            adopting: descriptor, SteeringConfiguration(mode: mode, isAcceptor: true),
            fallbackReason: fallbackReason, monitor: monitor)
    }
}

extension ListeningSocket {
    /// What follows the connections this socket accepts. Ask for it before the descriptor is taken.
    public var acceptedConnections: AcceptedConnections {
        AcceptedConnections(monitor: monitor, fallbackReason: fallbackReason)
    }
}

extension ConnectionFollower {
    /// Follows a connection that a listener accepted, or that other code opened, as soon as `begin` is said. An accepted
    /// one's own path is not judged: it has no choice of paths.
    ///
    /// - Parameters:
    ///   - descriptor: the connection's, which stays its owner's.
    ///   - maySteerAll: whether the endpoints of the whole network namespace may be changed for it.
    ///   - fallbackReason: why it is plain TCP, if it is.
    ///   - whenRefused: what happens where its path is not allowed any more.
    package convenience init(
        adopting descriptor: CInt, _ configuration: SteeringConfiguration, maySteerAll: Bool = false,
        fallbackReason: FallbackReason? = nil, whenRefused: PathRefusalAction = .report, monitor: PathMonitor
    ) throws {
        let sample = TransportSample.read(descriptor)
        let token = sample?.token
        let remote = SocketOption.remoteEndpoint(of: descriptor)
        var viability: FollowedFacts.Viability?
        if !configuration.isAcceptor, let remote {
            viability = FollowedFacts.Viability(
                families: [remote.address.family], policy: configuration.policy, whenRefused: whenRefused)
        }
        let facts = FollowedFacts(
            transport: Transport(of: descriptor, sample, fallbackReason: fallbackReason),
            level: .observeOnly(because: .notRequested), token: token,
            local: SocketOption.localEndpoint(of: descriptor),
            remote: remote, steering: token == nil ? nil : configuration,
            permissions: SteeringRegistry.Permissions(
                isForeign: true, isAcceptor: configuration.isAcceptor, maySteerAll: maySteerAll),
            viability: viability)
        try self.init(descriptor, facts, sample: sample, monitor: monitor)
    }
}

extension Transport {
    /// What a socket's sample shows.
    /// - Parameter fallbackReason: why it is plain TCP, if it is; found by its socket where this is nil.
    init(of descriptor: CInt, _ sample: TransportSample?, fallbackReason: FallbackReason?) {
        if case .mptcp? = sample?.kind {
            self = .mptcp
        } else {
            self = .tcp(
                fallback: fallbackReason ?? (SocketOption.isOpenedForMPTCP(descriptor) ? .peer : .disabled))
        }
    }
}

extension TransportSample {
    /// By which the kernel's path manager names the connection; nil for plain TCP.
    fileprivate var token: ConnectionToken? {
        if case .mptcp(let token) = kind { ConnectionToken(token) } else { nil }
    }
}

extension PendingConnection.Facts {
    /// The destination's other addresses, at the same port.
    fileprivate var otherRemotes: [IPEndpoint] {
        addresses.filter { $0 != candidate.endpoint.address }
            .map { IPEndpoint($0, port: candidate.endpoint.port) }
    }
}
