/// The pauses between attempts that fail. Each is random, from zero up to a limit: `base` after the first failure, twice as
/// long after each further one, and at most `longest`.
public struct Backoff: Sendable, Hashable {
    /// The limit of the pause after the first failure. 200 ms unless set.
    public var base: Duration
    /// What the limit does not grow beyond. 10 s unless set; zero for no pause at all.
    public var longest: Duration

    /// - Parameters:
    ///   - base: the limit of the pause after the first failure.
    ///   - longest: what the limit does not grow beyond.
    public init(base: Duration = .milliseconds(200), longest: Duration = .seconds(10)) {
        self.base = base
        self.longest = longest
    }
}

/// How long to wait before the next of several attempts: at random between nothing and a limit that doubles
/// (full jitter), so that clients that lost their server at one time don't come back at one time.
package struct BackoffMachine: Sendable, Hashable {
    private let configuration: Backoff
    /// Failures since the last success.
    package private(set) var failures = 0

    /// A machine that has seen no failure.
    package init(_ configuration: Backoff = Backoff()) { self.configuration = configuration }

    /// Something succeeded: the next pause is short again.
    package mutating func succeeded() { failures = 0 }

    /// - Parameter random: from 0 up to 1, not including it.
    /// - Returns: how long to wait now.
    package mutating func failed(random: Double) -> Duration {
        failures += 1
        let limit = min(
            configuration.base * (1 << min(failures - 1, 24)), max(configuration.longest, .zero))
        return .nanoseconds(Int64(Double(limit.wholeNanoseconds) * min(max(random, 0), 1)))
    }
}
