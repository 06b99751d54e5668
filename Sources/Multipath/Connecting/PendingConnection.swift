import LinuxNet

/// A connected socket on its way from the race to the caller: its descriptor is either taken or closed. All that is
/// known of the connection goes with it.
package struct PendingConnection: ~Copyable, Sendable {
    let socket: StreamSocket
    let facts: Facts

    struct Facts: Sendable {
        var candidate: Candidate
        var transport: Transport
        /// How far the subflows of an MPTCP connection can be steered.
        var level: ControlLevel
        /// The socket's state as the handshake was complete.
        var sample: TransportSample?
        var established: MonotonicTime
        /// What is known of the destination's addresses.
        var addresses: [IPAddress]
        var configuration: ConnectionConfiguration
        var monitor: PathMonitor
        /// Hears of the connection's end; nil where nothing observes it.
        var end: ConnectionEnd?

        var local: IPEndpoint? { sample?.subflows.first?.local }
        /// The handshake's round trip: of the first subflow, before anything else was carried.
        var handshakeRTT: Duration? { sample?.subflows.first?.smoothedRTT }
    }

    /// The peer's endpoint.
    package var remote: IPEndpoint { facts.candidate.endpoint }

    /// The descriptor, whose owner the caller becomes.
    package consuming func takeDescriptor() -> CInt { socket.release() }
}
