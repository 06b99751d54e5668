/// Whether round trips over a path have become longer or shorter lately.
///
/// It keeps the least and the most that was measured in the half second under way and in the one before.
struct Wandering: Sendable {
    private static let window = Duration.milliseconds(500)
    private static let ratio = 1.25
    /// Short round trips differ by more than a quarter for no reason.
    private static let least = Duration.milliseconds(5)

    private struct Range: Sendable {
        var begin: MonotonicTime
        var end: MonotonicTime
        var low: Duration
        var high: Duration
    }

    private var current: Range?
    private var before: Range?

    mutating func note(_ latency: Duration, at now: MonotonicTime) {
        if let range = current, range.begin.duration(to: now) < Self.window {
            current?.end = now
            current?.low = min(range.low, latency)
            current?.high = max(range.high, latency)
        } else {
            before = current
            current = Range(begin: now, end: now, low: latency, high: latency)
        }
    }

    /// Whether the measurements of the latest second or so differ by more than a quarter.
    func wanders(at now: MonotonicTime) -> Bool {
        let recent = [before, current].compactMap { $0 }.filter {
            $0.end.duration(to: now) < Self.window * 2
        }
        guard let low = recent.map(\.low).min(), let high = recent.map(\.high).max() else { return false }
        return high > low * Self.ratio + Self.least
    }
}
