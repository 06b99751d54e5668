/// How long to wait before the next of several attempts: at random between nothing and a limit that doubles
/// (full jitter), so that clients that lost their server at one time don't come back at one time.
public struct BackoffMachine: Sendable, Hashable {
    /// The limits of the pauses.
    public struct Configuration: Sendable, Hashable {
        /// The first limit.
        public var base: Duration = .milliseconds(200)
        /// What the limit does not grow beyond.
        public var longest: Duration = .seconds(10)

        /// The defaults.
        public init() {}
    }

    private let configuration: Configuration
    /// Failures since the last success.
    public private(set) var failures = 0

    /// A machine that has seen no failure.
    public init(_ configuration: Configuration = Configuration()) { self.configuration = configuration }

    /// Something succeeded: the next pause is short again.
    public mutating func succeeded() { failures = 0 }

    /// - Parameter random: from 0 up to 1, not including it.
    /// - Returns: how long to wait now.
    public mutating func failed(random: Double) -> Duration {
        failures += 1
        let limit = min(
            configuration.base * (1 << min(failures - 1, 24)), max(configuration.longest, .zero))
        return .nanoseconds(Int64(Double(limit.wholeNanoseconds) * min(max(random, 0), 1)))
    }
}
