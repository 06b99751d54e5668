// What the peer has of an upload whose path brings no acknowledgements any more.
//
// The acknowledgements that were under way on a path that has died never come, and what they were for would be sent again,
// in the small steps of a new window (see `Handoff`). A keepalive probe on a subflow that stands by (RFC 9293 section
// 3.8.4) is answered by an acknowledgement of all data that came in. The kernel sends one only on subflows that have been
// idle for a second or longer.

/// Keepalive probes on the subflows that stand by, which are not answered yet.
struct StandbyProbe: Sendable {
    private let standbys: [SubflowID]
    private let sentAt: MonotonicTime
    /// Until when an answer is waited for: whatever else waits is not to feel it.
    let due: MonotonicTime

    /// - Parameters:
    ///   - isLost: the paths that are not asked.
    ///   - pause: how much later it is sent.
    /// - Returns: nil where the kernel would send none.
    init?(
        _ subflows: SubflowTable, _ paths: PathTable, notOver isLost: (PathKey) -> Bool,
        after pause: Duration = .zero, at now: MonotonicTime, _ tuning: SteeringTuning
    ) {
        let idle = Self.standbys(subflows, paths, notOver: isLost).filter { subflow in
            subflow.progress.latest.map {
                min($0.sinceAcknowledgement, $0.sinceDataReceived) >= tuning.handoff.keepaliveIdle
            } ?? false
        }
        guard let least = idle.compactMap({ $0.progress.latest?.smoothedRTT }).min() else { return nil }
        standbys = idle.map(\.id)
        sentAt = now.advanced(by: pause)
        due = now.advanced(
            by: min(
                pause + least * tuning.handoff.allowance + tuning.handoff.margin, tuning.handoff.longest))
    }

    /// The subflows that could take over, over other paths than these.
    static func standbys(
        _ subflows: SubflowTable, _ paths: PathTable, notOver isLost: (PathKey) -> Bool
    ) -> [Subflow] {
        subflows.all.filter { subflow in
            !isLost(subflow.path) && subflow.role == .data && subflow.isOpen && subflow.isBackup
                && !subflow.keepsPriority && paths[subflow.path].state.isGood
        }
    }

    /// Whether an answer is there, or none will come.
    ///
    /// - Parameter isLost: what is asked over may be lost meanwhile, too.
    func isDone(_ subflows: SubflowTable, at now: MonotonicTime, isLost: (PathKey) -> Bool) -> Bool {
        let left = standbys.filter { subflows.contains($0) && !isLost(subflows[$0].path) }
        guard now < due, !left.isEmpty else { return true }
        guard now >= sentAt else { return false }
        return left.contains { id in
            subflows[id].progress.latest.map { $0.sinceAcknowledgement < sentAt.duration(to: now) } ?? false
        }
    }
}
