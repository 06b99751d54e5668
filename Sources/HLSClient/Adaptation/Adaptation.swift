// Which variant comes next.
//
// Theory. With little in the buffer the throughput decides, with much of it the buffer does: DYNAMIC (Spiteri, Sitaraman, Sparacio:
// "From Theory to Practice: Improving Bitrate Adaptation in the DASH Reference Player", MMSys 2018), with these parts:
//
//  1. Throughput: the highest variant that takes no more than 0.9 of what the path carries.
//  2. BOLA (Spiteri, Urgaonkar, Sitaraman: "BOLA: Near-Optimal Bitrate Adaptation for Online Videos", INFOCOM 2016; as dash.js's
//     `BolaRule`): the variant with the highest (V * (utility + g) - buffer) / rate.
//  3. A reservoir, as in BBA (Huang et al.: "A Buffer-Based Approach to Rate Adaptation", SIGCOMM 2014): while the buffer is low the
//     variant leaves room for it to grow, and the less the fuller it is. A path that ends in silence then finds it full.
//     What is played already is kept where the path carries it, so that the variant does not go up and down with the buffer.
//  4. Insufficient buffer (dash.js's rule of that name): a segment must be there before the buffer is empty.
//
// What the user said of the path comes before all of it: constrained means the lowest variant, expensive at most so much.

/// Chooses variants. Rates are in bits per second, times in seconds.
struct Adaptation: Sendable {
    /// Each number, with its reason.
    struct Tuning: Sendable {
        /// How much of the throughput a variant may take (dash.js's `bandwidthSafetyFactor`).
        var share = 0.9
        /// The same where the buffer is about to run out (dash.js's `InsufficientBufferRule`).
        var urgentShare = 0.7
        /// With so much in the buffer BOLA decides; with half of it no more (dash.js's `stableBufferTime`, `DynamicRule`).
        var stableBuffer = 12.0
        /// BOLA's smallest buffer, and what each variant adds to the one at which the highest is chosen (dash.js's
        /// `MINIMUM_BUFFER_S` and `MINIMUM_BUFFER_PER_BITRATE_LEVEL_S`).
        var bolaMinimum = 10.0
        var bolaPerVariant = 2.0
        /// Below so many seconds in the buffer a second of media may take a fourth of a second to fetch …
        var reservoir = 10.0
        var reservoirShare = 0.25
        /// … from there on half a second, and with each second more of it up to `share`, which is reached with so many: recorded
        /// cellular links fall silent for as long.
        var reservoirEnd = 30.0
        var fillingShare = 0.5
        /// With so many seconds the variant that is played is kept where the path carries it.
        var keeping = 15.0
        /// A cushion of so many seconds is to be full soon: 20 s of silence (an elevator), and the seconds that a connection takes
        /// to come back, then find it in a fast path's buffer …
        var cushion = 24.0
        /// … within so many seconds, where half of the ladder's quality is enough for that: the elevator's door closes soon after
        /// the stream began.
        var fillTime = 2.0
        /// What is assumed of a path of which nothing is known: the lowest of the usual mobile classes, so that the first
        /// segment is there soon.
        var unknownRate = 1_000_000.0
    }

    /// What is known as the choice is made.
    struct Situation: Sendable {
        /// Seconds of media ahead of the playhead.
        var buffer: Double
        /// Of the path; nil where nothing is known.
        var throughput: Double?
        var segmentDuration: Double
        var path: StreamPath?
        /// Of the variant before; nil for the first.
        var current: Int?
    }

    let tuning: Tuning
    /// In rising order; not empty.
    let rates: [Double]
    /// The highest rate that may be used at all; nil for any.
    let maximumRate: Double?
    /// The highest rate on expensive paths; nil for any.
    let expensiveRate: Double?
    private(set) var usesBuffer = false

    init(rates: [Double], maximumRate: Double? = nil, expensiveRate: Double? = nil, tuning: Tuning = Tuning())
    {
        self.rates = rates
        self.maximumRate = maximumRate
        self.expensiveRate = expensiveRate
        self.tuning = tuning
    }

    /// The highest variant that the user lets the path carry.
    func ceiling(on path: StreamPath?) -> Int {
        if path?.isConstrained == true { return 0 }
        var limit = maximumRate ?? .infinity
        if path?.isExpensive == true, let expensiveRate { limit = min(limit, expensiveRate) }
        return highest(below: limit)
    }

    /// How many times as long a second of the highest variant takes that the path may carry as one of this variant.
    func headroom(over variant: Int, on path: StreamPath?) -> Double {
        max(rates[ceiling(on: path)] / max(rates[variant], 1), 1)
    }

    /// The variant of the next segment.
    mutating func choose(_ situation: Situation) -> Int {
        let ceiling = ceiling(on: situation.path)
        let throughput = situation.throughput ?? tuning.unknownRate
        var choice = highest(below: throughput * share(situation.buffer))
        usesBuffer = situation.buffer > (usesBuffer ? tuning.stableBuffer / 2 : tuning.stableBuffer)
        if usesBuffer {
            // Never above what the path carries: BOLA-O's cap against switching up and down again.
            let sustainable = highest(below: throughput * tuning.share)
            let bola = bola(situation.buffer)
            choice = max(
                choice, bola > sustainable ? max(sustainable, min(bola, situation.current ?? 0)) : bola)
        }
        if situation.buffer < tuning.reservoirEnd, situation.throughput != nil {
            var growing = highest(below: throughput * share(situation.buffer))
            if situation.buffer > tuning.keeping, let current = situation.current {
                growing = max(growing, min(current, highest(below: throughput * tuning.share)))
            }
            choice = min(choice, growing)
        }
        if situation.buffer < tuning.cushion {
            let filling = throughput * tuning.fillTime / (tuning.cushion - situation.buffer)
            choice = min(choice, max(highest(below: filling), rates.count / 2))
        }
        if situation.current != nil {
            let room = situation.buffer / max(situation.segmentDuration, 0.1)
            choice = min(choice, highest(below: throughput * tuning.urgentShare * max(room, 0)))
        }
        return min(choice, ceiling)
    }

    /// Whether a segment that is under way is better begun anew in a lower variant (as hls.js's `_abandonRulesCheck`), and in
    /// which.
    ///
    /// - Parameters:
    ///   - remaining: bytes that are still to come.
    ///   - rate: at which they come.
    func alternative(
        to variant: Int, remaining: Double, rate: Double, _ situation: Situation
    ) -> Int? {
        guard variant > 0, rate > 0 else { return nil }
        let needed = remaining * 8 / rate
        // It comes in time.
        guard needed > situation.buffer else { return nil }
        let lower = min(highest(below: rate * tuning.urgentShare), variant - 1, ceiling(on: situation.path))
        let other = rates[lower] * situation.segmentDuration / rate
        return other < needed * 0.8 ? lower : nil
    }

    private func share(_ buffer: Double) -> Double {
        if buffer < tuning.reservoir { return tuning.reservoirShare }
        let progress = (buffer - tuning.reservoir) / (tuning.reservoirEnd - tuning.reservoir)
        return tuning.fillingShare + (tuning.share - tuning.fillingShare) * min(progress, 1)
    }

    private func highest(below limit: Double) -> Int { (rates.lastIndex { $0 <= limit }) ?? 0 }

    private func bola(_ buffer: Double) -> Int {
        guard rates.count > 1 else { return 0 }
        let utilities = rates.map { 1 + Self.logarithm($0 / rates[0]) }
        let time = max(tuning.stableBuffer, tuning.bolaMinimum + tuning.bolaPerVariant * Double(rates.count))
        guard let highest = utilities.last, highest > 1 else { return 0 }
        let gain = (highest - 1) / (time / tuning.bolaMinimum - 1)
        let control = tuning.bolaMinimum / gain
        var best = (score: -Double.infinity, variant: 0)
        for (variant, utility) in utilities.enumerated() {
            let score = (control * (utility + gain) - buffer) / rates[variant]
            if score >= best.score { best = (score, variant) }
        }
        return best.variant
    }

    /// The natural logarithm of a number from 1 on: the standard library has none.
    private static func logarithm(_ value: Double) -> Double {
        guard value > 0, value.isFinite else { return 0 }
        // ln(m * 2^e) = e ln 2 + 2 artanh((m - 1) / (m + 1)).
        let ratio = (value.significand - 1) / (value.significand + 1)
        var (power, sum) = (ratio, 0.0)
        for step in stride(from: 1.0, through: 41, by: 2) {
            sum += power / step
            power *= ratio * ratio
        }
        return Double(value.exponent) * 0.693_147_180_559_945_3 + 2 * sum
    }
}
