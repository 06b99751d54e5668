// How fast a path is, from what came over it.
//
// Theory: two exponentially weighted averages, a fast and a slow one, of which the lower counts: a path that gets slower is
// believed at once, one that gets faster after a while. So do Shaka Player and hls.js (`ewma-bandwidth-estimator.ts`), with these
// half-lives. Weights are seconds of transfer, so that a long segment says more than a short one.

/// Estimates a path's throughput, in bits per second.
struct ThroughputEstimator: Sendable, Equatable {
    private struct Average: Sendable, Equatable {
        let halfLife: Double
        private(set) var total = 0.0
        private(set) var weight = 0.0

        init(halfLife: Double) { self.halfLife = halfLife }

        mutating func ingest(_ value: Double, weight: Double) {
            let kept = Self.power(0.5, weight / halfLife)
            total = value * (1 - kept) + kept * total
            self.weight = self.weight * kept + (1 - kept)
        }

        /// Without the bias towards its beginning at nothing.
        var value: Double { total / weight }

        /// `base` to the power of `exponent`, by halving the exponent: the standard library has no such function.
        private static func power(_ base: Double, _ exponent: Double) -> Double {
            // 0.5^x = 2^-x; the fraction by a series of ln 2, which is exact to ten digits for less than 1.
            let whole = exponent.rounded(.down)
            guard whole < 1_000 else { return 0 }
            let fraction = (exponent - whole) * -0.693_147_180_559_945_3
            var (term, sum) = (1.0, 1.0)
            for step in 1...14 {
                term *= fraction / Double(step)
                sum += term
            }
            return Double(sign: .plus, exponent: -Int(whole), significand: sum)
        }
    }

    private var fast = Average(halfLife: 3)
    private var slow = Average(halfLife: 9)
    private var sampled = 0.0

    /// Takes in what came in so many seconds of transfer.
    mutating func ingest(bits: Double, seconds: Double) {
        guard seconds > 0, bits > 0 else { return }
        fast.ingest(bits / seconds, weight: seconds)
        slow.ingest(bits / seconds, weight: seconds)
        sampled += seconds
    }

    /// Nil before the first sample.
    var rate: Double? { sampled > 0 ? min(fast.value, slow.value) : nil }
}
