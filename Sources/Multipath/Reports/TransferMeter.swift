import LinuxNet

/// Counts a connection's bytes by path.
///
/// It holds a second descriptor of the socket. Whoever closes the first one calls `finish` at once: until
/// then the connection stays open.
public final class TransferMeter: Sendable {
    private struct State: ~Copyable {
        var descriptor: Descriptor?
        var transport: Transport
        var ended: MonotonicTime?
        var ledger = TransferLedger()
        var moves: MoveLedger
        var level: ControlLevel
        /// Who hears of the end.
        var observations: [any ConnectionObservation] = []
    }

    /// Who is at the other end.
    public let remote: IPEndpoint?

    private let state: Locked<State>
    private let started: MonotonicTime
    let pathMonitor: PathMonitor
    /// The interface the first subflow is bound to.
    private let firstInterface: String?
    /// The handshake's round trip: of the first subflow, before anything else was carried.
    let handshakeRTT: Duration?

    init(
        _ descriptor: CInt, transport: Transport, level: ControlLevel, interface: String?,
        monitor: PathMonitor
    ) throws(SystemError) {
        started = .now
        remote = SocketOption.remoteEndpoint(of: descriptor)
        state = Locked(
            State(
                descriptor: try Descriptor(duplicating: descriptor), transport: transport,
                moves: MoveLedger(first: level == .perConnection ? interface : nil), level: level))
        firstInterface = interface
        pathMonitor = monitor
        let first = TransportSample.read(descriptor)
        handshakeRTT = first?.subflows.first?.smoothedRTT
        if let first { state.withLock { record(first, &$0) } }
    }

    deinit {
        if state.withLock({ !$0.observations.isEmpty }) { finish() }
    }

    /// What was carried so far. After `finish`: all.
    public func report() -> TransferReport {
        state.withLock { state in
            sample(&state)
            let end = state.ended ?? .now
            var report = TransferReport(
                transport: state.transport,
                control: state.transport.isMPTCP ? state.level : .observeOnly(because: .plainTCP),
                duration: started.duration(to: end), paths: state.ledger.paths())
            state.moves.complete(&report, until: started.duration(to: end))
            return report
        }
    }

    /// The connection is somebody's now, who hears of its end: at once where it has ended already.
    func observations(_ observations: [any ConnectionObservation]) {
        guard !observations.isEmpty else { return }
        let isOpen = state.withLock { state in
            if state.ended == nil { state.observations = observations }
            return state.ended == nil
        }
        if isOpen { return }
        let report = report()
        for observation in observations { observation.closed(report) }
    }

    /// Takes in bytes that the connection's user sent or received.
    public func count(sent: Int = 0, received: Int = 0) {
        state.withLock { $0.ledger.count(sent: sent, received: received) }
    }

    /// Looks at the kernel's counters now: it forgets them with the subflow, and when a connection ends.
    public func sample() {
        state.withLock { sample(&$0) }
    }

    /// The same of the subflows that are known already. The address of one that is to be told of yet may be nobody's
    /// now.
    func sampleKnown() {
        state.withLock { sample(&$0, isKnown: true) }
    }

    /// How far the subflows can be steered, as far as that is known by now.
    var level: ControlLevel { state.withLock { $0.level } }

    func set(_ level: ControlLevel) { state.withLock { $0.level = level } }

    /// Something happened to the subflows.
    func note(_ event: SteeringEvent) {
        guard case .moved(let from, let to, let reason) = event else { return }
        let after = started.duration(to: .now)
        state.withLock {
            $0.moves.note(TransferReport.Move(after: after, from: from, to: to, reason: reason))
        }
    }

    /// Takes the last sample and lets go of the socket.
    public func finish() {
        var observations: [any ConnectionObservation] = []
        state.withLock { state in
            sample(&state)
            state.ended = state.ended ?? .now
            state.descriptor = nil
            swap(&observations, &state.observations)
        }
        if observations.isEmpty { return }
        let report = report()
        for observation in observations { observation.closed(report) }
    }

    private func sample(_ state: inout State, isKnown: Bool = false) {
        guard let number = state.descriptor?.number, let sample = TransportSample.read(number) else { return }
        record(sample, &state, isKnown: isKnown)
    }

    private func record(_ sample: TransportSample, _ state: inout State, isKnown: Bool = false) {
        // Fallback can come as late as the first data (RFC 8684 section 3.7).
        if case .tcp = sample.kind, state.transport.isMPTCP { state.transport = .tcp(fallback: .peer) }
        state.ledger.record(sample.subflows) { subflow, isFirst in
            if isKnown { return nil }
            if isFirst, let firstInterface { return firstInterface }
            guard let local = subflow.local?.address else { return "unknown" }
            return pathMonitor.latestPath?.interface(with: local)?.name ?? "\(local)"
        }
    }
}
