/// A point on a clock that only goes forward, counted from an arbitrary start.
///
/// `PathCore` never reads a clock: the runner of a machine passes the time in. On Linux the runner passes
/// `CLOCK_MONOTONIC`, which stands still while the machine sleeps; a test passes whatever it likes.
public struct MonotonicTime: InstantProtocol, Sendable {
    /// Nanoseconds since the clock's start.
    public var nanoseconds: Int64

    /// The point so many nanoseconds after the clock's start.
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

    /// The time from here to another point; negative where that is earlier.
    public func duration(to other: MonotonicTime) -> Duration {
        let (difference, overflow) = other.nanoseconds.subtractingReportingOverflow(nanoseconds)
        if overflow { return .nanoseconds(other.nanoseconds) - .nanoseconds(nanoseconds) }
        // What `.nanoseconds` does, without a conversion from any integer there may be.
        let (seconds, rest) = difference.quotientAndRemainder(dividingBy: 1_000_000_000)
        return Duration(secondsComponent: seconds, attosecondsComponent: rest * 1_000_000_000)
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
        if self >= Self.longest { return .max }
        if self <= Self.shortest { return .min }
        let (seconds, attoseconds) = components
        return seconds * 1_000_000_000 + attoseconds / 1_000_000_000
    }

    private static let longest = Duration.nanoseconds(Int64.max)
    private static let shortest = Duration.nanoseconds(Int64.min)

    /// The duration in seconds, for output.
    public var inSeconds: Double { Double(wholeNanoseconds) / 1e9 }

    /// The duration in milliseconds, for output.
    public var inMilliseconds: Double { Double(wholeNanoseconds) / 1e6 }
}
