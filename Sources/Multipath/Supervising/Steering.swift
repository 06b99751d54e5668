import LinuxNet

/// What it takes to steer a connection that has come about.
struct Steering: Sendable {
    var level: ControlLevel
    var interface: InterfaceIndex
    var configuration: ConnectionConfiguration
    /// The destination's other addresses: what has no route to the first may have one to them.
    var otherRemotes: [IPEndpoint] = []

    /// - Parameter descriptor: the connection's, which stays its owner's.
    /// - Returns: nil for plain TCP.
    func supervise(
        _ descriptor: CInt, _ transport: Transport, _ meter: ConnectionMeter, hasHints: Bool
    ) throws -> Supervision? {
        guard transport.isMPTCP else { return nil }
        var mode = ModeConfiguration(
            mode: configuration.mode, policy: configuration.policy, hasHints: hasHints)
        mode.disconnectedTimeout = configuration.disconnectedTimeout
        let supervision = Supervision(
            try SupervisedConnection(
                descriptor, mode, level: level, interface: interface, otherRemotes: otherRemotes,
                meter: meter))
        return supervision
    }
}

extension ConnectedSocket {
    /// Has the connection's subflows steered as its mode says, for as long as the result is kept. Ask for it
    /// before the descriptor is taken, and `stop` it with the connection.
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
