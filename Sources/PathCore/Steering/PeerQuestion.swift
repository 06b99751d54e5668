// What the peer has of an upload whose path brings no acknowledgements any more.
//
// The acknowledgements that were under way on a path that has died never come, and what they were for would be sent again,
// in the small steps of a new window (see `Handoff`). A keepalive probe on a subflow that stands by (RFC 9293 section
// 3.8.4) is answered by an acknowledgement of all data that came in. The kernel sends one only where the subflow has been
// idle for a second or longer.

/// Asked over a subflow that stands by, and not answered yet.
struct PeerQuestion: Sendable {
    private let standby: SubflowID
    private let askedAt: MonotonicTime
    /// Until when the answer is waited for: whatever else waits is not to feel it.
    let due: MonotonicTime

    /// - Parameter pause: how much later it is asked.
    /// - Returns: nil where the kernel would not ask.
    init?(
        over standby: Subflow, after pause: Duration = .zero, at now: MonotonicTime, _ tuning: SteeringTuning
    ) {
        guard let sample = standby.progress.latest,
            min(sample.sinceAcknowledgement, sample.sinceDataReceived) >= tuning.keepaliveIdle
        else { return nil }
        self.standby = standby.id
        askedAt = now.advanced(by: pause)
        let trip = sample.smoothedRTT * tuning.handoffAllowance
        due = now.advanced(by: min(pause + trip + tuning.handoffMargin, tuning.longestHandoff))
    }

    /// A subflow over another path than these that can be asked over.
    static func standby(
        in subflows: SubflowTable, _ paths: PathTable, notOver isLost: (PathKey) -> Bool
    ) -> Subflow? {
        subflows.all.first { subflow in
            !isLost(subflow.path) && subflow.role == .data && subflow.isOpen && subflow.isBackup
                && !subflow.keepsPriority && paths[subflow.path].state.isGood
        }
    }

    /// Whether the answer is there, or will not come.
    ///
    /// - Parameter isLost: what is asked over may be lost meanwhile, too.
    func isDone(_ subflows: SubflowTable, at now: MonotonicTime, isLost: (PathKey) -> Bool) -> Bool {
        guard now < due, subflows.contains(standby), !isLost(subflows[standby].path),
            let sample = subflows[standby].progress.latest
        else { return true }
        guard now >= askedAt else { return false }
        return sample.sinceAcknowledgement < askedAt.duration(to: now)
    }
}
