import LinuxNet

/// What a heartbeat has to know of its connection.
package protocol HeartbeatSubject: AnyObject, Sendable {
    /// How long it has been silent; nil where it is closed.
    func heartbeatSilence() -> HeartbeatSilence?
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
    /// As the kernel counts it (tcpi_last_data_recv and its like, include/uapi/linux/tcp.h), of an MPTCP connection on the
    /// subflow that it sent over last. So nothing is spent for it while bytes move.
    package func heartbeatSilence() -> HeartbeatSilence? {
        guard let subflow = carryingSubflow() else { return nil }
        return HeartbeatSilence(
            received: subflow.sinceDataReceived,
            arrived: min(subflow.sinceDataReceived, subflow.sinceAcknowledgement),
            sent: subflow.sinceDataSent)
    }

    package var heartbeatNetwork: HeartbeatNetwork? {
        guard let remote, let interface = carryingInterface else { return nil }
        return HeartbeatNetwork(interface, family: remote.address.family)
    }

    package var heartbeatRoundTrip: Duration? { carryingSubflow()?.smoothedRTT }

    /// Of this machine itself there is nothing to remember: no translator is on the way.
    package var heartbeatStore: HeartbeatStore? {
        carryingInterface.map { $0.type.value == .loopback } ?? true ? nil : .shared
    }

    private func carryingSubflow() -> SubflowSample? {
        currentSample()?.subflows.filter(\.state.carriesData).min { $0.sinceDataSent < $1.sinceDataSent }
    }
}
