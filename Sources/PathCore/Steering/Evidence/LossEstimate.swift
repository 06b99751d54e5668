// How much loss a path has, and how many probes it takes to tell a lossy path from a dead one.
//
// With a loss of p each way, an exchange goes unanswered with q = 1 - (1 - p)² though the path lives. The data
// that raised the suspicion and n probes all go unanswered with q^(n + 1). The number of probes is the
// least that keeps this below one in two thousand (a sequential test with a fixed bound, after Wald). A clean
// path takes one probe, one with 10 % loss takes five.

/// A path's loss rate, as far as its samples tell.
struct LossEstimate: Sendable {
    /// Retransmitted among sent segments, a moving average.
    private var rate = 0.0
    private var counted: (delivered: UInt32, retransmissions: UInt32)?

    /// A subflow's counters; those of a new subflow start again.
    mutating func ingest(_ sample: SubflowSample, _ tuning: SteeringTuning) {
        defer { counted = (sample.delivered, sample.retransmissions) }
        guard let counted, sample.delivered >= counted.delivered,
            sample.retransmissions >= counted.retransmissions
        else { return }
        let lost = Double(sample.retransmissions - counted.retransmissions)
        let delivered = Double(sample.delivered - counted.delivered)
        let sent = lost + delivered
        guard sent > 0 else { return }
        let weight = min(sent / tuning.lossMemory, tuning.mostLossWeight)
        rate += (lost / sent - rate) * weight
    }

    mutating func forgetCounters() { counted = nil }

    /// A probe was answered or not.
    mutating func probed(isAnswered: Bool, _ tuning: SteeringTuning) {
        rate += ((isAnswered ? 0 : tuning.unansweredLoss) - rate) * tuning.probeLossWeight
    }

    /// Probes that must go unanswered before a path has failed.
    func probes(_ tuning: SteeringTuning) -> Int {
        let loss = min(max(rate * tuning.lossMargin, tuning.leastLoss), tuning.mostLoss)
        let unanswered = 1 - (1 - loss) * (1 - loss)
        var (count, chance) = (1, unanswered * unanswered)
        while chance > tuning.falseVerdictChance, count < tuning.mostProbes {
            chance *= unanswered
            count += 1
        }
        return count
    }
}
