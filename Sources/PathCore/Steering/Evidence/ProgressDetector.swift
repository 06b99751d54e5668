// Whether a subflow's data gets through, from samples taken seldom.
//
// A packet is answered after one round trip, so what has waited for longer than `srtt + 4·rttvar` (RFC 6298's
// own measure of how long an answer ever takes) is suspect. The kernel waits 200 ms more, because it acts on
// its timer alone; a suspicion here only sends a probe, so it can afford to be wrong.
//
// Samples cost, so they are taken when a verdict could be due, not at a fixed rate. What makes that possible is
// to know since when the oldest unanswered byte has been waiting:
//  - the first write that no sample has seen yet is told to the microsecond, where the writer helps;
//  - acknowledgements that came since the last sample set the wait back to the newest one. `last_ack_recv`
//    alone would lie: what the peer sends again refreshes it. It only dates progress that a counter proves.
//
// One acknowledgement says nothing of what waits. A receiver answers every second segment at once, and a lone one 40 ms
// later (RFC 9293 section 3.8.6.3). An uplink that dies after an odd number of segments brings one more acknowledgement
// then: of what was there before it died. That none came with the one behind it speaks for the death.

/// Tells since when a subflow's data has been waiting for an acknowledgement.
struct ProgressDetector: Sendable {
    /// Since when sent bytes have been waiting for an acknowledgement; nil while none are.
    private(set) var waitingSince: MonotonicTime?
    /// Which sample showed first that they do.
    private(set) var seenAt: MonotonicTime?
    /// When a sample found last that the kernel has repeated something since they were sent.
    private(set) var repeatedAt: MonotonicTime?
    /// Whether it is watched from its beginning, though it has had no sample: nothing was written before that is told.
    var isNewborn = false
    private(set) var latest: SubflowSample?
    /// What round trips took since the sample before last.
    private(set) var recentRTT: Duration?
    /// Since when data goes this way.
    var carriesSince = MonotonicTime.zero
    /// When the latest sample was taken that found anything new.
    private(set) var progressAt: MonotonicTime?
    /// When what it found came in.
    private(set) var newsAt: MonotonicTime?
    /// Whether nothing was acknowledged since there was nothing to wait for.
    private var isUnanswered = false
    /// Whether the receiver's timer sent the latest acknowledgement, and whether the kernel repeated something until then.
    private var wasDelayed = false
    private var wasRepeating = false
    /// While that acknowledgement proves nothing: how long an answer took at most before it, without the receiver's delay.
    private var undelayedAnswerTime: Duration?

    /// - Parameter written: when the first bytes were written that no sample has seen; nil for none, or unknown.
    mutating func ingest(
        _ sample: SubflowSample, written: MonotonicTime?, at now: MonotonicTime, _ tuning: SteeringTuning
    ) -> Progress {
        var progress = Progress()
        if let latest {
            progress.hasAcknowledged =
                sample.acknowledged != latest.acknowledged || sample.delivered != latest.delivered
            progress.hasReceived = sample.bytesReceived > latest.bytesReceived
        }
        let acknowledgedAt = now.advanced(by: .zero - sample.sinceAcknowledgement)
        if progress.hasAcknowledged, let latest {
            let isDelayed = isDelayed(sample, acknowledgedAt, tuning)
            // Where segments come so seldom that each is acknowledged so, one more is one that got through.
            progress.hasAcknowledged = !isDelayed || wasDelayed
            undelayedAnswerTime = progress.hasAcknowledged ? nil : latest.answerTime(tuning)
            wasDelayed = isDelayed
            wasRepeating = sample.retransmissions != latest.retransmissions
        }
        if progress.hasAcknowledged || sample.unacknowledged == 0 { repeatedAt = nil }
        if let latest, waitingSince != nil, sample.retransmissions != latest.retransmissions,
            !progress.hasAcknowledged
        {
            repeatedAt = now
        }
        if sample.unacknowledged == 0 {
            waitingSince = nil
        } else if progress.hasAcknowledged || waitingSince == nil {
            let isDated = latest != nil || isNewborn && written != nil
            let acknowledged = isDated ? acknowledgedAt : now
            // One lone segment was the last that was sent.
            let sent =
                sample.unacknowledged == 1 ? now.advanced(by: .zero - sample.sinceDataSent) : acknowledged
            // What was written while another path carried did not wait here.
            waitingSince = max(acknowledged, sent, written ?? .zero, carriesSince)
            seenAt = now
            isUnanswered = !progress.hasAcknowledged
        }
        if progress.isAny {
            progressAt = now
            newsAt = max(
                progress.hasAcknowledged ? acknowledgedAt : .zero,
                progress.hasReceived ? now.advanced(by: .zero - sample.sinceDataReceived) : .zero)
        }
        if let latest, undelayedAnswerTime == nil { recentRTT = Self.recentRTT(latest, sample) ?? recentRTT }
        latest = sample
        return progress
    }

    /// Whether what was acknowledged is one segment that the receiver kept back until its timer fired: the next one, sent
    /// long before, has not come.
    private func isDelayed(
        _ sample: SubflowSample, _ acknowledgedAt: MonotonicTime, _ tuning: SteeringTuning
    ) -> Bool {
        guard let latest, let waitingSince, latest.unacknowledged > tuning.mostKeptBack,
            // (A selective one is sent at once.)
            sample.delivered == latest.delivered &+ 1, sample.acknowledged != latest.acknowledged,
            sample.unacknowledged > 0,
            sample.retransmissions == latest.retransmissions, !wasRepeating, repeatedAt == nil
        else { return false }
        // The first of a burst is answered a round trip later.
        let roundTrip = isUnanswered ? latest.smoothedRTT : .zero
        return waitingSince.duration(to: acknowledgedAt) >= roundTrip + tuning.leastDelayedAcknowledgement
    }

    /// Starts the wait again, after a false alarm.
    mutating func excuse(at now: MonotonicTime) {
        guard waitingSince != nil else { return }
        (waitingSince, seenAt, repeatedAt) = (now, now, nil)
    }

    /// How long an answer takes at most.
    func answerTime(_ tuning: SteeringTuning) -> Duration {
        undelayedAnswerTime ?? latest?.answerTime(tuning) ?? tuning.unknownAnswerTime
    }

    /// The mean of the round trips between two samples. The kernel's smoothed one gives each only an eighth
    /// (RFC 6298), so one of 500 ms is felt for a second after it is over; that can be reckoned back.
    private static func recentRTT(_ old: SubflowSample, _ new: SubflowSample) -> Duration? {
        let count = min(new.delivered &- old.delivered, mostCounted)
        guard count > 0, new.smoothedRTT > .zero else { return nil }
        var share = 1.0
        for _ in 0..<count { share *= 7.0 / 8 }
        let (before, after) = (old.smoothedRTT.inSeconds, new.smoothedRTT.inSeconds)
        let mean = (after - share * before) / (1 - share)
        return max(.seconds(mean), new.minimumRTT ?? .zero)
    }

    /// After so many round trips nothing is left of the smoothed value before.
    private static let mostCounted: UInt32 = 64
}

/// What a sample has found that is new.
struct Progress: Sendable {
    var hasAcknowledged = false
    var hasReceived = false
    var isAny: Bool { hasAcknowledged || hasReceived }
}

extension SubflowSample {
    /// How long an answer takes at most (RFC 6298 section 2: `srtt + 4·rttvar`).
    func answerTime(_ tuning: SteeringTuning) -> Duration {
        guard smoothedRTT > .zero else { return tuning.unknownAnswerTime }
        return smoothedRTT + max(rttVariation * 4, tuning.leastVariation)
    }
}
