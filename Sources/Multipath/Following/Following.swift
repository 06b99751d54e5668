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
        let isMPTCP = facts.transport.isMPTCP
        var followed = ConnectionFollower.Facts(transport: facts.transport, level: facts.level)
        if case .mptcp(let token)? = facts.sample?.kind { followed.token = ConnectionToken(token) }
        followed.local = facts.local
        followed.remote = candidate.endpoint
        followed.interface = candidate.interface
        followed.interfaceName = candidate.interfaceName
        followed.established = facts.established
        if isMPTCP {
            followed.otherRemotes = facts.addresses.map { IPEndpoint($0, port: candidate.endpoint.port) }
            followed.steering = SteeringConfiguration(
                mode: configuration.mode, policy: configuration.policy,
                pathLossTimeout: configuration.pathLossTimeout, hasHints: hasHints)
        }
        followed.viability = ViabilityRunner.Subject(
            interface: candidate.interfaceName, local: facts.local, remote: candidate.endpoint,
            families: families ?? facts.addresses.families, isMPTCP: isMPTCP,
            policy: policy ?? configuration.policy)
        return try ConnectionFollower(
            socket.descriptor.number, followed, sample: facts.sample,
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
    /// Follows a connection that a listener accepted, or that other code opened, as soon as `begin` is said. Its own
    /// path is not judged: it has no choice of paths.
    ///
    /// - Parameters:
    ///   - descriptor: the connection's, which stays its owner's.
    ///   - maySteerAll: whether the endpoints of the whole network namespace may be changed for it.
    ///   - fallbackReason: why it is plain TCP, if it is.
    package convenience init(
        adopting descriptor: CInt, _ configuration: SteeringConfiguration, maySteerAll: Bool = false,
        fallbackReason: FallbackReason? = nil, monitor: PathMonitor
    ) throws {
        let sample = TransportSample.read(descriptor)
        var facts = Facts(
            transport: Transport(of: descriptor, sample, fallbackReason: fallbackReason),
            level: .observeOnly(because: .unsupervised))
        if case .mptcp(let token)? = sample?.kind {
            facts.token = ConnectionToken(token)
            facts.steering = configuration
        }
        facts.local = SocketOption.localEndpoint(of: descriptor)
        facts.remote = SocketOption.remoteEndpoint(of: descriptor)
        facts.permissions = SteeringRegistry.Permissions(
            isForeign: true, isAcceptor: configuration.isAcceptor, maySteerAll: maySteerAll)
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
