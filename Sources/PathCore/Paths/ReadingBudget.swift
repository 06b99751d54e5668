/// Limits how often something is read: the kernel's tables, files that change.
///
/// Any router on the link can have the kernel change its routes as often as it likes (RFC 4861 section 6.3.4: a lifetime
/// of 0, then of 1,800 s, then of 0), and each change is an occasion to read the tables. Readings up to a burst go ahead
/// at once; beyond it there is one each interval.
package struct ReadingBudget: Sendable {
    /// How many readings may come without a pause between them.
    package var burst = 20
    /// After how long one more is allowed.
    package var interval = Duration.milliseconds(25)
    /// When the budget is whole again.
    private var wholeAt = MonotonicTime.zero

    package init() {}

    /// - Parameters:
    ///   - burst: how many readings may come without a pause between them.
    ///   - interval: after how long one more is allowed.
    package init(burst: Int, interval: Duration) {
        (self.burst, self.interval) = (burst, interval)
    }

    /// Takes one reading.
    /// - Returns: nil where it may be now, and otherwise when it may be.
    package mutating func take(at now: MonotonicTime) -> MonotonicTime? {
        let start = max(wholeAt, now)
        let allowed = start.advanced(by: interval * (1 - burst))
        guard allowed <= now else { return allowed }
        wholeAt = start.advanced(by: interval)
        return nil
    }
}
