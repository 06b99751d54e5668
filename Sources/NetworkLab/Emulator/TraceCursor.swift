import PathCore

/// Where a transmitter stands in a rate trace: which opportunity comes next, and what is left of the one in use. What a
/// link has nothing to send for is lost.
struct TraceCursor: Sendable {
    private let trace: RateTrace
    private let start: MonotonicTime
    private let length: Int64
    /// The next opportunity: its place in the trace, and how often that was gone through before.
    private var index = 0
    private var round: Int64 = 0
    private var current = MonotonicTime.zero
    /// Bytes left of the current opportunity.
    private var left = 0

    init(_ trace: RateTrace, from start: MonotonicTime) {
        self.trace = trace
        self.start = start
        length = Int64(trace.opportunities.last ?? 1)
    }

    /// Sends bytes, from a time on that is no earlier than that of the call before.
    /// - Returns: when the last has been sent.
    mutating func send(_ bytes: Int, from now: MonotonicTime) -> MonotonicTime {
        if now > current {
            left = 0
            skip(to: now)
        }
        var rest = bytes
        while rest > left {
            rest -= left
            current = time(round, index)
            left = RateTrace.bytesAtOnce
            index += 1
            if index == trace.opportunities.count { (index, round) = (0, round + 1) }
        }
        left -= rest
        return current
    }

    private func time(_ round: Int64, _ index: Int) -> MonotonicTime {
        start.advanced(by: .milliseconds(round * length + Int64(trace.opportunities[index])))
    }

    /// Passes over the opportunities before a time.
    private mutating func skip(to now: MonotonicTime) {
        // Rounded up: an opportunity of this millisecond's beginning is over.
        let elapsed = (now.nanoseconds - start.nanoseconds + 999_999) / 1_000_000
        guard elapsed > 0 else { return }
        let target = (elapsed - 1) / length
        let offset = elapsed - target * length
        guard target >= round else { return }
        var (low, high) = (target == round ? index : 0, trace.opportunities.count)
        while low < high {
            let middle = (low + high) / 2
            if Int64(trace.opportunities[middle]) < offset { low = middle + 1 } else { high = middle }
        }
        (round, index) = low == trace.opportunities.count ? (target + 1, 0) : (target, low)
    }
}
