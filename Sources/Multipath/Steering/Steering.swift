import LinuxNet

/// What it takes to steer a connection that has come about.
struct Steering: Sendable {
    var interface: InterfaceIndex
    var configuration: ConnectionConfiguration
    /// The destination's other addresses: what has no route to the first may have one to them.
    var otherRemotes: [IPEndpoint] = []

    /// - Parameter descriptor: the connection's, which stays its owner's.
    /// - Returns: nil for plain TCP.
    func supervise(
        _ descriptor: CInt, _ transport: Transport, _ meter: TransferMeter, hasHints: Bool
    ) throws -> Supervision? {
        guard transport.isMPTCP else { return nil }
        var mode = SteeringConfiguration(
            mode: configuration.mode, policy: configuration.policy, hasHints: hasHints)
        mode.disconnectedTimeout = configuration.disconnectedTimeout
        let supervision = Supervision(
            try SteeringRunner(
                descriptor, mode, isForeign: false, interface: interface, otherRemotes: otherRemotes,
                meter: meter))
        return supervision
    }
}

extension ConnectedSocket {
    /// Has the connection's subflows steered as its mode says, for as long as the result is kept. Ask for it
    /// before the descriptor is taken, and `stop` it with the connection.
    ///
    /// When a path is lost in an upload, SO_KEEPALIVE and TCP_KEEPIDLE (1 s) are on for 25 ms: so the peer is asked what
    /// it has (RFC 9293 section 3.8.4). Then they are what they were.
    ///
    /// - Parameter hasHints: whether `dataWasSent` and `dataWasReceived` will be said. Without them the
    ///   connection is looked at once a second while it is idle, and a path that dies is noticed later.
    /// - Returns: nil for plain TCP, which has one path and keeps it.
    public func supervise(hasHints: Bool = false) throws -> Supervision? {
        let supervision = try steering.supervise(
            socket.descriptor.number, report.transport, meter, hasHints: hasHints)
        supervision?.start()
        return supervision
    }
}

extension ConnectedSocket {
    /// Steers the connection as soon as `start` is said.
    package func supervision() throws -> Supervision? {
        try steering.supervise(socket.descriptor.number, report.transport, meter, hasHints: true)
    }
}

extension RaceEntrant {
    /// Steers the connection once it has won: say `start` then.
    package func supervision() throws -> Supervision? {
        try steering.supervise(socket.descriptor.number, transport, meter, hasHints: true)
    }
}

extension Supervision {
    /// Steers a connection that a listener accepted, or that somebody else opened.
    ///
    /// - Parameter descriptor: the connection's, which stays its owner's.
    /// - Returns: nil for plain TCP.
    package static func ofForeign(
        _ descriptor: CInt, _ configuration: SteeringConfiguration, maySteerAll: Bool, meter: TransferMeter
    ) throws -> Supervision? {
        guard TransportSample.isMPTCP(descriptor) else { return nil }
        return Supervision(
            try SteeringRunner(
                descriptor, configuration, isForeign: true, maySteerAll: maySteerAll, interface: 0,
                otherRemotes: [], meter: meter))
    }
}

extension TransferMeter {
    /// Counts for a connection that somebody else opened.
    package convenience init(
        ofForeign descriptor: CInt, in snapshot: PathSnapshot, monitor: PathMonitor
    ) throws {
        let transport =
            SocketInspection(of: descriptor, in: snapshot)?.transport ?? .tcp(fallback: .disabled)
        try self.init(
            descriptor, transport: transport, level: .observeOnly(because: .unsupervised), interface: nil,
            monitor: monitor)
    }
}
