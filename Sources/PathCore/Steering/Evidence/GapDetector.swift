// Whether what arrives over the subflows also moves the connection on.
//
// When a subflow ends its sender's kernel sends again what was on it. Now and then Linux leaves out the first bytes of
// that, and never comes back to them while messages follow each other closely: its timer passes over a subflow that has
// anything in its TCP queue (mptcp_subflow_get_retrans, net/mptcp/protocol.c). All that comes after the gap arrives, and
// none of it can be read. The end of another subflow makes the kernel send everything once more.

/// Tells since when one direction of a connection has stood still though its subflows get data through.
struct GapDetector: Sendable {
    /// How far the connection has come: the next byte expected, or the first one not acknowledged.
    private var edge: UInt64?
    /// When data first got through, over whichever subflow, that did not move the edge.
    private(set) var since: MonotonicTime?

    /// - Parameters:
    ///   - edge: a data sequence number (RFC 8684 section 3.3).
    ///   - hasArrived: whether any subflow got data through since the sample before.
    mutating func ingest(edge: UInt64, hasArrived: Bool, at now: MonotonicTime) {
        if edge != self.edge {
            since = nil
        } else if hasArrived {
            since = since ?? now
        }
        self.edge = edge
    }

    mutating func forget() { since = nil }
}

/// The gaps that the end of a subflow leaves, in both directions.
struct Gaps: Sendable {
    private var incoming = GapDetector()
    private var outgoing = GapDetector()
    /// Until when a gap may come of what was ended last; nil where nothing was.
    private var watchedUntil: MonotonicTime?
    /// How often the kernels are made to send again, at most.
    private var attempts = 0
    /// What the subflows of one sample got through.
    private var progress = Progress()

    /// A subflow is ended that data was on.
    mutating func watch(at now: MonotonicTime, _ tuning: SteeringTuning) {
        watchedUntil = now.advanced(by: tuning.gapMemory)
        attempts = tuning.mostGapRepairs
        incoming.forget()
        outgoing.forget()
    }

    /// What one subflow got through.
    mutating func note(_ progress: Progress) {
        if progress.hasReceived { self.progress.hasReceived = true }
        if progress.hasAcknowledged { self.progress.hasAcknowledged = true }
    }

    /// How far the whole connection has come, after its subflows have told what they got through.
    mutating func ingest(_ connection: ConnectionSample, at now: MonotonicTime) {
        defer { progress = Progress() }
        guard isWatched(at: now) else { return }
        incoming.ingest(edge: connection.nextExpected, hasArrived: progress.hasReceived, at: now)
        outgoing.ingest(edge: connection.firstUnacknowledged, hasArrived: progress.hasAcknowledged, at: now)
    }

    func isWatched(at now: MonotonicTime) -> Bool { watchedUntil.map { now < $0 } ?? false }

    /// When a gap is one that the kernels don't close by themselves; nil where there is none.
    ///
    /// - Parameter answerTime: how long an answer takes at most.
    func due(answerTime: Duration, at now: MonotonicTime, _ tuning: SteeringTuning) -> MonotonicTime? {
        guard isWatched(at: now), attempts > 0 else { return nil }
        guard let since = [incoming.since, outgoing.since].compactMap({ $0 }).min() else { return nil }
        return since.advanced(by: max(answerTime * tuning.gapAnswers, tuning.leastGapTime))
    }

    /// Something is done against it, and given its time.
    mutating func repaired() {
        attempts -= 1
        incoming.forget()
        outgoing.forget()
    }
}
