import PathCore

/// How much more may happen now: a token bucket, which time fills.
struct RateBudget: Sendable {
    private let rate: BrokerLimits.Rate
    /// In parts of a nanosecond's worth: whole numbers, so that nothing is lost to rounding.
    private var credit: Int64
    private var filled: MonotonicTime

    private static let one: Int64 = 1_000_000_000

    init(_ rate: BrokerLimits.Rate, at now: MonotonicTime) {
        self.rate = rate
        credit = Int64(rate.burst) * Self.one
        filled = now
    }

    private mutating func fill(at now: MonotonicTime) {
        let elapsed = max(0, now.nanoseconds - filled.nanoseconds)
        filled = max(filled, now)
        // Beyond this the bucket is full, however much longer it was.
        let fullAfter = Int64(rate.burst + rate.perSecond) * Self.one / Int64(max(1, rate.perSecond))
        credit = min(
            Int64(rate.burst) * Self.one, credit + min(elapsed, fullAfter) * Int64(rate.perSecond))
    }

    /// Whether one more may happen, which then has.
    mutating func spend(at now: MonotonicTime) -> Bool {
        fill(at: now)
        guard credit >= Self.one else { return false }
        credit -= Self.one
        return true
    }

    /// Whether anything is left.
    mutating func isSpent(at now: MonotonicTime) -> Bool {
        fill(at: now)
        return credit <= 0
    }

    /// Books what has happened, also where it was more than may be.
    mutating func book(_ count: Int, at now: MonotonicTime) {
        fill(at: now)
        // A debt is one burst at most: time pays it.
        credit = max(credit - Int64(min(count, 1_000_000_000)) * Self.one, -Int64(rate.burst) * Self.one)
    }

    /// Lets one more happen, and says how long it has to wait.
    mutating func borrow(at now: MonotonicTime) -> Duration {
        fill(at: now)
        credit -= Self.one
        return credit >= 0 ? .zero : .nanoseconds(-credit / Int64(max(1, rate.perSecond)))
    }

    /// Whether nothing was spent for so long that it is as a new one.
    mutating func isFull(at now: MonotonicTime) -> Bool {
        fill(at: now)
        return credit == Int64(rate.burst) * Self.one
    }
}
