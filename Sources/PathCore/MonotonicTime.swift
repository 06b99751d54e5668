/// A point on a clock that only goes forward, counted from an arbitrary start.
///
/// `PathCore` never reads a clock: whoever runs a machine passes the time in. On Linux the runner passes
/// `CLOCK_MONOTONIC`, which stands still while the machine sleeps; a test passes whatever it likes.
public struct MonotonicTime: InstantProtocol, Sendable {
    /// Nanoseconds since the clock's start.
    public var nanoseconds: Int64

    public init(nanoseconds: Int64) {
        self.nanoseconds = nanoseconds
    }

    /// The clock's start.
    public static let zero = MonotonicTime(nanoseconds: 0)

    /// The time so much later. It stops at the clock's limits, so that a timeout of `.seconds(.max)` means
    /// for ever.
    public func advanced(by duration: Duration) -> MonotonicTime {
        let step = duration.wholeNanoseconds
        let (sum, overflow) = nanoseconds.addingReportingOverflow(step)
        return MonotonicTime(nanoseconds: overflow ? (step < 0 ? .min : .max) : sum)
    }

    public func duration(to other: MonotonicTime) -> Duration {
        .nanoseconds(other.nanoseconds) - .nanoseconds(nanoseconds)
    }

    public static func < (left: MonotonicTime, right: MonotonicTime) -> Bool {
        left.nanoseconds < right.nanoseconds
    }

    /// Seconds since the clock's start, for output.
    public var seconds: Double { Double(nanoseconds) / 1e9 }
}

extension Duration {
    /// The duration in nanoseconds; fractions are dropped, and what does not fit stops at the limit.
    public var wholeNanoseconds: Int64 {
        // Limited first: `components` itself traps on what 64 bits of seconds can't hold.
        let limited = min(max(self, .nanoseconds(Int64.min)), .nanoseconds(Int64.max))
        let (seconds, attoseconds) = limited.components
        return seconds * 1_000_000_000 + attoseconds / 1_000_000_000
    }

    /// The duration in seconds, for output.
    public var inSeconds: Double { Double(wholeNanoseconds) / 1e9 }

    /// The duration in milliseconds, for output.
    public var inMilliseconds: Double { Double(wholeNanoseconds) / 1e6 }
}
