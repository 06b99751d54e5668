// Whether what arrives over the subflows can be read.
//
// When a path that carried is left, what was on it comes again over another, behind what that one carries itself. If the
// receive buffer is full by then, of what comes after the gap, the kernel takes nothing more from any subflow, not even
// what the gap lacks (__mptcp_move_skbs_from_subflow, net/mptcp/protocol.c). The peer sends that again and again, it arrives,
// and the connection never goes on. More room does it.

/// Tells since when a connection has stood still though its subflows receive.
struct GapDetector: Sendable {
    /// The next byte of the connection that is expected (RFC 8684 section 3.3).
    private var expected: UInt64?
    /// When bytes first came in that did not move that.
    private var since: MonotonicTime?
    /// Until when a gap may come of what was left last; nil where nothing was.
    private var watchedUntil: MonotonicTime?
    /// When to look next though nothing asks for it, and how long after that again.
    private var look: (at: MonotonicTime, pause: Duration)?
    /// How often more room may still be made.
    private var attempts = 0
    /// Whether any subflow of the sample that is being taken has received something.
    private var hasReceived = false

    /// A path is left that data was on, or its subflow has ended.
    mutating func watch(at now: MonotonicTime, _ tuning: SteeringTuning) {
        watchedUntil = now.advanced(by: tuning.gapMemory)
        attempts = tuning.mostGapRepairs
        since = nil
        look = (now.advanced(by: tuning.leastGapTime), tuning.leastGapTime)
    }

    /// What one subflow got through.
    mutating func note(_ progress: Progress) {
        if progress.hasReceived { hasReceived = true }
    }

    /// How far the whole connection has come, after its subflows have told what they got through.
    mutating func ingest(_ connection: ConnectionSample, at now: MonotonicTime) {
        if connection.nextExpected != expected {
            since = nil
        } else if hasReceived {
            since = since ?? now
        }
        expected = connection.nextExpected
        hasReceived = false
    }

    /// What is to be done about a gap.
    enum Step: Sendable, Hashable {
        /// A sample may show one.
        case look
        /// It does not close by itself.
        case makeRoom
    }

    /// - Parameter answerTime: how long an answer takes at most.
    /// - Returns: what is to be done next, and when; nil where nothing is.
    func step(
        answerTime: Duration, at now: MonotonicTime, _ tuning: SteeringTuning
    ) -> (step: Step, due: MonotonicTime)? {
        guard attempts > 0, let watchedUntil, now < watchedUntil else { return nil }
        if let since {
            return (.makeRoom, since.advanced(by: max(answerTime * tuning.gapAnswers, tuning.leastGapTime)))
        }
        return look.map { (.look, $0.at) }
    }

    /// Looked: the next time is twice as far away.
    mutating func looked(at now: MonotonicTime) {
        look = look.map { (now.advanced(by: $0.pause * 2), $0.pause * 2) }
    }

    /// Room was made, and is given its time.
    mutating func madeRoom() {
        attempts -= 1
        since = nil
    }
}
