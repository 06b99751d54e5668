// What happens before a lost path is left in the middle of a transfer. At the most it takes moments.
//
// Upload: a subflow's end makes the kernel send again what is unacknowledged, 64 KB at a stretch
// (MPTCP_SEND_BURST_SIZE, net/mptcp/protocol.c), from the last word it had of the peer on. The acknowledgements that
// were under way when the path was lost never come, so the peer has the most of that already; and a path that stood
// by sends it in the steps of a new window, 10 segments, 20, 40. Nothing new arrives until the third, two round trips
// later. To learn first what the peer has takes one (`StandbyProbe`). It can be asked once a second, so it is asked when
// the last that is on the lost path's way will have arrived: where queues are full that takes longer than the probe
// does over an idle path, and what came after it would be sent again in vain.
//
// Download: without a route nothing can be sent over the path, but what is on its way to us still arrives, for a round
// trip: without acknowledgements the peer sends no more. A subflow that is ended in the middle of that loses a segment,
// and the peer, which can't be told what came after it, sends all of it again. So the subflow first brings the rest.

/// A path is lost, and not left yet.
struct Handoff: Sendable {
    private enum Wait: Sendable {
        /// For the peer's word on what it has.
        case word(StandbyProbe)
        /// For the rest of what is on its way, on this subflow.
        case rest(on: SubflowID)
    }

    private let wait: Wait
    /// Since when what is waited for may come.
    private let began: MonotonicTime
    /// When the path is left in any case.
    let due: MonotonicTime
    /// When the peer is to be asked, by keepalive probes, what it has; nil where it is not, or has been.
    private(set) var asksAt: MonotonicTime?

    /// The peer is asked now.
    mutating func asks() { asksAt = nil }

    /// - Parameters:
    ///   - lost: why each path is lost that is.
    ///   - outstanding: bytes that the peer has not acknowledged.
    ///   - sent: what it has been asked already, and has not answered yet: the kernel asks no second time.
    /// - Returns: nil where nothing is worth waiting for.
    init?(
        of lost: [PathKey: MoveReason], _ subflows: SubflowTable, _ paths: PathTable, outstanding: UInt64,
        sent: StandbyProbe?, at now: MonotonicTime, _ tuning: SteeringTuning
    ) {
        let all = subflows.all
        guard let left = all.first(where: { lost[$0.path] != nil && $0.role == .data && !$0.isBackup }),
            case .trouble(let trouble) = lost[left.path],
            let other = StandbyProbe.standbys(subflows, paths, notOver: { lost[$0] != nil }).first
        else { return nil }
        if left.stream.isBulk {
            guard trouble == .routeGone, let sample = left.progress.latest else { return nil }
            let trip = (sample.minimumRTT ?? sample.smoothedRTT) * tuning.handoff.allowance
            wait = .rest(on: left.id)
            began = now
            due = now.advanced(
                by: min(trip + tuning.handoff.dryTime + tuning.handoff.margin, tuning.handoff.longest))
            return
        }
        guard let sample = other.progress.latest, Self.isWorthAsking(left, outstanding, tuning)
        else { return nil }
        let pause = sent == nil ? Self.pauseBeforeAsking(left, sample, tuning) : .zero
        guard
            let probe = sent
                ?? StandbyProbe(subflows, paths, notOver: { lost[$0] != nil }, after: pause, at: now, tuning)
        else { return nil }
        wait = .word(probe)
        began = now.advanced(by: pause)
        asksAt = sent == nil ? began : nil
        due = probe.due
    }

    /// How much longer the last of what is on its way takes to the peer than a probe over a path that stands by.
    ///
    /// - Parameter other: of the subflow that stands by.
    private static func pauseBeforeAsking(
        _ left: Subflow, _ other: SubflowSample, _ tuning: SteeringTuning
    ) -> Duration {
        guard let sample = left.progress.latest, let least = sample.minimumRTT else { return .zero }
        // The way back is empty: acknowledgements are small.
        let rest = max(sample.smoothedRTT, left.progress.recentRTT ?? .zero) - least / 2
        let probe = (other.minimumRTT ?? other.smoothedRTT) / 2
        guard rest > probe else { return .zero }
        return min(rest - probe + tuning.handoff.askMargin, tuning.handoff.longestAskPause)
    }

    /// Whether so much was acknowledged on the way that the first steps of a new window would carry nothing else.
    private static func isWorthAsking(
        _ left: Subflow, _ outstanding: UInt64, _ tuning: SteeringTuning
    ) -> Bool {
        guard outstanding >= UInt64(tuning.handoff.firstWindows), let sample = left.progress.latest,
            let rtt = sample.minimumRTT
        else { return false }
        return Double(sample.deliveryRate) * rtt.inSeconds / 2 >= tuning.handoff.firstWindows
    }

    /// Whether what was waited for is there, or will not come.
    func isDone(
        _ lost: [PathKey: MoveReason], _ subflows: SubflowTable, at now: MonotonicTime,
        _ tuning: SteeringTuning
    ) -> Bool {
        guard now < due else { return true }
        switch wait {
        case .word(let probe): return probe.isDone(subflows, at: now) { lost[$0] != nil }
        case .rest(let id):
            let waited = began.duration(to: now)
            guard subflows.contains(id), case .trouble(.routeGone) = lost[subflows[id].path],
                let heard = subflows[id].stream.silence.heardAt
            else { return true }
            return heard.duration(to: now) >= tuning.handoff.dryTime && waited >= tuning.handoff.dryTime
        }
    }
}
