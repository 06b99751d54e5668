// Whether a subflow's data gets through, from samples taken seldom.
//
// A packet is answered after one round trip, so what has waited for longer than `srtt + 4·rttvar` (RFC 6298's
// own measure of how long an answer ever takes) is suspect. The kernel waits 200 ms more, because it acts on
// its timer alone; a suspicion here only asks a probe, so it can afford to be wrong.
//
// Samples cost, so they are taken when a verdict could be due, not at a fixed rate. What makes that possible is
// to know since when the oldest unanswered byte has been waiting:
//  - the first write that no sample has seen yet is told to the microsecond, where the writer helps;
//  - acknowledgements that came since the last sample set the wait back to the newest one. `last_ack_recv`
//    alone would lie: what the peer sends again refreshes it. It only dates progress that a counter proves.
//
// A receiver has nothing outstanding. For it silence counts: a stream that came steadily and stops.

/// Judges one subflow.
struct SubflowWatch: Sendable {
    /// Since when sent bytes have been waiting for an acknowledgement; nil while none are.
    private(set) var waitingSince: MonotonicTime?
    /// When bytes last came in that carried the stream on, and when any did: behind a lost segment the kernel counts
    /// none until it is sent again.
    private(set) var receivedAt: MonotonicTime?
    private(set) var heardAt: MonotonicTime?
    /// How many samples in a row found new bytes, each soon after the one before, and nothing sent between: a stream,
    /// not answers.
    private(set) var run = 0
    private var sentBefore: UInt64?
    /// Whether it is watched from its beginning, though it has had no sample: nothing was written before that is told.
    var isNewborn = false
    private(set) var latest: SubflowSample?
    /// Whether much came in between the latest two samples.
    private(set) var isBulk = false
    /// What round trips took since the sample before last.
    private(set) var recentRTT: Duration?
    /// Since when data goes this way.
    var carriesSince = MonotonicTime.zero
    /// When the latest sample was taken that found anything new.
    private(set) var progressAt: MonotonicTime?
    /// When what it found came in.
    private(set) var newsAt: MonotonicTime?

    struct Progress: Sendable {
        var hasAcknowledged = false
        var hasReceived = false
        var isAny: Bool { hasAcknowledged || hasReceived }
    }

    /// - Parameter written: when the first bytes were written that no sample has seen; nil for none, or unknown.
    mutating func take(
        _ sample: SubflowSample, written: MonotonicTime?, at now: MonotonicTime
    ) -> Progress {
        var progress = Progress()
        if let latest {
            progress.hasAcknowledged =
                sample.acknowledged != latest.acknowledged || sample.delivered != latest.delivered
            progress.hasReceived = sample.bytesReceived > latest.bytesReceived
        }
        if sample.unacknowledged == 0 {
            waitingSince = nil
        } else if progress.hasAcknowledged || waitingSince == nil {
            let isDated = latest != nil || isNewborn && written != nil
            let acknowledged = isDated ? now.advanced(by: .zero - sample.sinceAcknowledgement) : now
            // One lone segment was the last that was sent.
            let sent =
                sample.unacknowledged == 1 ? now.advanced(by: .zero - sample.sinceDataSent) : acknowledged
            // What was written while another path carried did not wait here.
            waitingSince = max(acknowledged, sent, written ?? .zero, carriesSince)
        }
        isBulk = sample.bytesReceived &- (latest?.bytesReceived ?? sample.bytesReceived) > 32 * 1024
        if progress.hasReceived {
            let before = receivedAt
            receivedAt = now.advanced(by: .zero - sample.sinceDataReceived)
            heardAt = receivedAt
            let soon = Self.answerTime(sample) * 2 + .milliseconds(250)
            let isSoon = before.map { $0.duration(to: now) < soon } ?? false
            run = isSoon && sentBefore == sample.bytesSent ? run + 1 : 1
            sentBefore = sample.bytesSent
        } else {
            // The time of these isn't told; it is between the samples.
            if let latest, sample.receivedSegments != latest.receivedSegments { heardAt = now }
        }
        if progress.isAny {
            progressAt = now
            let acknowledged =
                progress.hasAcknowledged ? now.advanced(by: .zero - sample.sinceAcknowledgement) : .zero
            newsAt = max(acknowledged, progress.hasReceived ? receivedAt ?? .zero : .zero)
        }
        if let latest { recentRTT = Self.recentRTT(latest, sample) ?? recentRTT }
        latest = sample
        return progress
    }

    /// From now on bytes are to come in.
    mutating func expect(at now: MonotonicTime) {
        (receivedAt, heardAt) = (now, now)
    }

    /// Starts the wait again, after a false alarm.
    mutating func excuse(at now: MonotonicTime) {
        if waitingSince != nil { waitingSince = now }
    }

    /// The mean of the round trips between two samples. The kernel's smoothed one gives each only an eighth
    /// (RFC 6298), so one of 500 ms is felt for a second after it is over; that can be reckoned back.
    private static func recentRTT(_ old: SubflowSample, _ new: SubflowSample) -> Duration? {
        let count = min(new.delivered &- old.delivered, 64)
        guard count > 0, new.smoothedRTT > .zero else { return nil }
        var share = 1.0
        for _ in 0..<count { share *= 7.0 / 8 }
        let (before, after) = (old.smoothedRTT.inSeconds, new.smoothedRTT.inSeconds)
        let mean = (after - share * before) / (1 - share)
        return max(.seconds(mean), new.minimumRTT ?? .zero)
    }

    /// How long an answer takes at most.
    var answerTime: Duration { latest.map(Self.answerTime) ?? .milliseconds(250) }

    static func answerTime(_ sample: SubflowSample) -> Duration {
        guard sample.smoothedRTT > .zero else { return .milliseconds(250) }
        return sample.smoothedRTT + max(sample.rttVariation * 4, .milliseconds(5))
    }
}
