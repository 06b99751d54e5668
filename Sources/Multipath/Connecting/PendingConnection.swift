import LinuxNet

/// A connected socket on its way from the race to the caller: its descriptor is either taken or closed. All that is
/// known of the connection goes with it.
package struct PendingConnection: ~Copyable, Sendable {
    let socket: StreamSocket
    let facts: Facts
    /// Hears of the connection's end; nil where nothing observes it.
    let end: ConnectionEnd?

    init(_ socket: consuming StreamSocket, _ facts: Facts, _ end: ConnectionEnd?) {
        self.socket = socket
        self.facts = facts
        self.end = end
    }

    /// An object, because it is handed on many times.
    final class Facts: Sendable {
        let candidate: Candidate
        let transport: Transport
        /// How far the subflows of an MPTCP connection can be steered.
        let level: ControlLevel
        /// The socket's state as the handshake was complete.
        let sample: TransportSample?
        let established = MonotonicTime.now
        /// What is known of the destination's addresses.
        let addresses: [IPAddress]
        let request: ConnectRequest
        /// How far its packets bear the mark of their traffic class; nil for those without a wish.
        let marking: TrafficMarking?

        init(
            _ candidate: Candidate, _ transport: Transport, _ level: ControlLevel, _ sample: TransportSample?,
            _ addresses: [IPAddress], _ request: ConnectRequest, marking: TrafficMarking?
        ) {
            self.marking = marking
            self.candidate = candidate
            self.transport = transport
            self.level = level
            self.sample = sample
            self.addresses = addresses
            self.request = request
        }

        /// What brings the connection's end to its observers; nil where it has none.
        func makeEnd() -> ConnectionEnd? {
            guard !request.observations.isEmpty else { return nil }
            var meter = TransferMeter(
                transport: transport, level: level, path: candidate.path, started: established,
                marking: marking)
            if let sample { meter.ingest(sample, naming: .all) { nil } }
            return ConnectionEnd(meter)
        }

        var local: IPEndpoint? { sample?.subflows.first?.local }
        /// The handshake's round trip: of the first subflow, before anything else was carried.
        var handshakeRTT: Duration? { sample?.subflows.first?.smoothedRTT }
    }

    /// The peer's endpoint.
    package var remote: IPEndpoint { facts.candidate.endpoint }

    /// The descriptor, whose owner the caller becomes.
    package consuming func takeDescriptor() -> CInt { socket.release() }
}
