// Whether what is sent arrives, from samples of TCP_INFO.
//
// Three signatures of a path that carries nothing (measured, Linux 6.18):
//   silent drop      segments unacknowledged, timeouts and retransmissions rise
//   carrier lost     timeouts rise, retransmissions don't: none leaves the machine
//   address deleted  nothing unacknowledged, only the unsent bytes and the backoff rise
// All have one thing in common: bytes wait, nothing is acknowledged, and the kernel's timer has run out at
// least once. The timer (RFC 6298) is at least 200 ms above the round trip, so it is a sign that is seldom
// wrong; the retransmission it sends gets the time of an answer before it is called proof. Nothing else is
// proof: a quiet peer, a full receive window and a lost packet all look like silence at first.
//
// Hysteresis: each alarm that proves false doubles the time that the next one takes.

/// Decides from samples whether a connection's sent bytes get through.
struct SendingWatch: Sendable {
    private(set) var trouble: PathTrouble?
    /// When the next sample is worth taking; nil while nothing is outstanding.
    private(set) var nextSample: MonotonicTime?

    /// What the peer had, by the sample before.
    private var latest: (acknowledged: UInt64, delivered: UInt32)?
    private var retransmissionsAtProgress: UInt32 = 0
    /// When a sample first showed a timeout that nothing was acknowledged after.
    private var signSince: MonotonicTime?
    private var falseAlarms = 0

    /// The least time a retransmission gets to be answered. A path whose round trip jumps from 20 to 300 ms
    /// (a queue fills up) is slow, not dead.
    private static let floor = Duration.milliseconds(150)

    mutating func ingest(_ sample: SubflowSample, at now: MonotonicTime) {
        defer { latest = (sample.acknowledged, sample.delivered) }
        let patience = patience(sample)
        guard sample.isOutstanding, !isProgress(sample), !isHeldBack(sample) else {
            if trouble != nil { falseAlarms = min(falseAlarms + 1, 3) }
            (trouble, signSince) = (nil, nil)
            retransmissionsAtProgress = sample.retransmissions
            nextSample = sample.isOutstanding ? now.advanced(by: calmInterval(sample)) : nil
            return
        }
        guard isSign(sample) else {
            nextSample = now.advanced(by: calmInterval(sample))
            return
        }
        let since = signSince ?? now
        signSince = since
        let verdict = since.advanced(by: patience)
        if now >= verdict {
            trouble = trouble ?? kind(of: sample)
            // From here on only recovery is looked for.
            nextSample = now.advanced(by: max(patience, .milliseconds(200)))
        } else {
            nextSample = verdict
        }
    }

    private func isProgress(_ sample: SubflowSample) -> Bool {
        guard let latest else { return true }
        return sample.acknowledged != latest.acknowledged || sample.delivered != latest.delivered
    }

    /// The peer has said that it takes nothing now, and answers when asked again (RFC 9293 section 3.8.6.1).
    private func isHeldBack(_ sample: SubflowSample) -> Bool {
        sample.unacknowledged == 0 && sample.sendWindow == 0 && sample.unansweredProbes < 2
    }

    private func isSign(_ sample: SubflowSample) -> Bool {
        sample.timeouts > 0 || sample.backoff > 0 || sample.unansweredProbes > 0
    }

    private func kind(of sample: SubflowSample) -> PathTrouble {
        let left = sample.retransmissions &- retransmissionsAtProgress
        let isStuck =
            sample.unacknowledged == 0 ? sample.sendWindow > 0 : left < UInt32(sample.timeouts)
        return isStuck ? .cannotSend : .noAcknowledgement
    }

    private func patience(_ sample: SubflowSample) -> Duration {
        max(sample.smoothedRTT + sample.rttVariation * 4, Self.floor) * (1 << falseAlarms)
    }

    /// While all is well: often enough to see the timer's first run soon after it.
    private func calmInterval(_ sample: SubflowSample) -> Duration {
        min(max(sample.smoothedRTT + sample.rttVariation * 4, .milliseconds(25)), .milliseconds(250))
    }
}
