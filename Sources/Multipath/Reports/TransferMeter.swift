import LinuxNet

/// Counts a connection's bytes by path: the kernel's counters as samples bring them, the caller's own count, and the
/// moves from path to path.
struct TransferMeter: Sendable {
    /// Which subflows that are new a sample may bring into the books.
    enum Naming {
        /// None: the address of one that has not been told yet may be no interface's now.
        case none
        /// Those whose address an interface has.
        case known
        /// Every one; where no interface has the address, the address stands for it.
        case all
    }

    private let started: MonotonicTime
    /// The path of the first subflow.
    private let firstPath: PathID?
    private var ended: MonotonicTime?
    private(set) var transport: Transport
    /// How far the subflows can be steered, as far as that is known by now.
    var level: ControlLevel
    /// Whether the first subflow has ended.
    var hasLostFirstSubflow = false
    private var ledger = TransferLedger()
    private var moves: MoveLedger
    private let marking: TrafficMarking?

    init(
        transport: Transport, level: ControlLevel, path: PathID?, started: MonotonicTime,
        marking: TrafficMarking? = nil
    ) {
        self.marking = marking
        self.transport = transport
        self.level = level
        self.started = started
        firstPath = path
        moves = MoveLedger(first: level.isPerConnection ? path : nil)
    }

    /// How far the connection can be steered now.
    var control: ControlLevel { transport.isMPTCP ? level : .observeOnly(because: .plainTCP) }

    /// Takes in bytes that the connection's user sent or received.
    mutating func count(sent: Int, received: Int) { ledger.count(sent: sent, received: received) }

    mutating func ingest(_ sample: TransportSample, naming: Naming, in snapshot: () -> PathSnapshot?) {
        if case .tcp = sample.kind, transport.isMPTCP, !sample.wasResetAtOnce {
            transport = .tcp(fallback: .afterHandshake)
        }
        ledger.record(sample.subflows, unmarked: marking?.unmarkedFamily) { subflow, isFirst in
            if naming == .none { return nil }
            if isFirst, let firstPath { return firstPath }
            guard let local = subflow.local?.address else { return "unknown" }
            if let path = snapshot()?.interface(with: local)?.id { return path }
            return naming == .all ? PathID(local) : nil
        }
    }

    /// Something happened to the subflows.
    mutating func note(_ event: SteeringEvent) {
        guard case .moved(let from, let to, let reason) = event else { return }
        moves.note(
            TransferReport.Move(after: started.duration(to: .now), from: from, to: to, reason: reason))
    }

    /// The connection has ended; its duration counts no further.
    mutating func end() { ended = ended ?? .now }

    /// The bytes that each path has carried, as the kernel counts them: both directions, and what was sent again.
    var carried: [(path: PathID, bytes: UInt64)] { ledger.carried }

    /// What was carried so far.
    func report() -> TransferReport {
        let duration = started.duration(to: ended ?? .now)
        var report = TransferReport(
            transport: transport, control: control, duration: duration, paths: ledger.paths())
        moves.complete(&report, until: duration)
        report.isBetterOnNewConnection = hasLostFirstSubflow
        report.marking = marking
        return report
    }
}

extension TransportSample {
    /// Whether the first that came after the handshake was a reset. The kernel takes that, too, for a peer that has fallen back
    /// (check_fully_established in net/mptcp/options.c).
    fileprivate var wasResetAtOnce: Bool {
        guard let subflow = subflows.first, subflow.state == .closed else { return false }
        // The SYN is counted. What has ended in both directions has no counters any more, and no round trip either.
        return subflow.smoothedRTT > .zero && subflow.acknowledged <= 1 && subflow.bytesReceived == 0
    }
}
