import LinuxNet

/// What a heartbeat has to know of its connection.
package protocol HeartbeatSubject: AnyObject, Sendable {
    /// How long it has been silent; nil where it is closed.
    func heartbeatSilence() -> HeartbeatSilence?
    /// How long no byte had gone either way when it ended; nil where that is not known.
    func heartbeatSilenceAtEnd() -> Duration?
    /// The network that its data takes now; nil where that is not known.
    var heartbeatNetwork: HeartbeatNetwork? { get }
    /// What a round trip took lately; nil where that is not known.
    var heartbeatRoundTrip: Duration? { get }
    /// What earlier processes have found out; nil for a connection that leaves no trace.
    var heartbeatStore: HeartbeatStore? { get }
}

/// How long a connection has been silent.
package struct HeartbeatSilence: Sendable, Hashable {
    /// Since the last byte came.
    package var received: Duration
    /// Since the last packet came, an acknowledgement too.
    package var arrived: Duration
    /// Since the last byte was sent.
    package var sent: Duration

    package init(received: Duration, arrived: Duration, sent: Duration) {
        self.received = received
        self.arrived = arrived
        self.sent = sent
    }
}

extension ConnectionFollower: HeartbeatSubject {
    /// As the kernel counts it (tcpi_last_data_recv and its like, include/uapi/linux/tcp.h). So nothing is spent for it while
    /// bytes move. A byte of an MPTCP connection's peer counts whichever subflow it came over; packets prove something of the
    /// subflow that data takes.
    package func heartbeatSilence() -> HeartbeatSilence? {
        let subflows = currentSample()?.subflows.filter(\.state.carriesData) ?? []
        return HeartbeatSilence(subflows)
    }

    package func heartbeatSilenceAtEnd() -> Duration? {
        HeartbeatSilence(currentSample()?.subflows ?? []).map { min($0.received, $0.sent) }
    }

    package var heartbeatNetwork: HeartbeatNetwork? {
        guard let remote, let interface = carryingInterface else { return nil }
        return HeartbeatNetwork(interface, family: remote.address.family)
    }

    package var heartbeatRoundTrip: Duration? {
        (currentSample()?.subflows.filter(\.state.carriesData)).flatMap(HeartbeatSilence.carrying)?
            .smoothedRTT
    }

    /// Of this machine itself there is nothing to remember: no translator is on the way.
    package var heartbeatStore: HeartbeatStore? {
        carryingInterface.map { $0.type.value == .loopback } ?? true ? nil : .shared
    }
}

extension HeartbeatSilence {
    /// A connection's, by what the kernel knows of its subflows; nil for a connection without any.
    init?(_ subflows: [SubflowSample]) {
        guard let carrying = Self.carrying(subflows) else { return nil }
        // Of a subflow that never got a byte the kernel counts from its handshake, which says nothing of the service.
        let received = subflows.filter { $0.receivedSegments > 0 }.map(\.sinceDataReceived).min()
        self.init(
            received: received ?? carrying.sinceDataReceived,
            arrived: min(carrying.sinceDataReceived, carrying.sinceAcknowledgement),
            sent: carrying.sinceDataSent)
    }

    /// The subflow that was sent over last.
    static func carrying(_ subflows: [SubflowSample]) -> SubflowSample? {
        subflows.min { $0.sinceDataSent < $1.sinceDataSent }
    }
}
