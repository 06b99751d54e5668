/// Whether round trips over a path have become longer or shorter lately.
///
/// It keeps the least and the most that was measured in the half second under way and in the one before.
struct Wandering: Sendable {
    private struct Range: Sendable {
        var begin: MonotonicTime
        var end: MonotonicTime
        var low: Duration
        var high: Duration
    }

    private var current: Range?
    private var before: Range?

    mutating func note(_ latency: Duration, at now: MonotonicTime, _ tuning: SteeringTuning) {
        if let range = current, range.begin.duration(to: now) < tuning.latencyWindow {
            current?.end = now
            current?.low = min(range.low, latency)
            current?.high = max(range.high, latency)
        } else {
            before = current
            current = Range(begin: now, end: now, low: latency, high: latency)
        }
    }

    /// Whether the measurements of the latest second or so differ by more than a quarter.
    func wanders(at now: MonotonicTime, _ tuning: SteeringTuning) -> Bool {
        var low: Duration?
        var high: Duration?
        for range in [before, current] {
            guard let range, range.end.duration(to: now) < tuning.latencyWindow * 2 else { continue }
            low = min(low ?? range.low, range.low)
            high = max(high ?? range.high, range.high)
        }
        guard let low, let high else { return false }
        // Short round trips differ by more than a quarter for no reason.
        return high > low * tuning.latencyRatio + tuning.leastLatencyChange
    }
}
