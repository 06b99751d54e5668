/// Why there is no connection, with every attempt that was made.
public struct ConnectionError: Error, Sendable, Hashable {
    /// What went wrong. More codes may come.
    public struct Code: Sendable, Hashable, CustomStringConvertible {
        /// Its name in JSON, such as "timed_out".
        public let name: String

        public var description: String { name }

        /// The name has no address.
        public static let resolution = Code(name: "resolution")
        /// There are paths to the destination, but the caller's rules allow none of them.
        public static let noAllowedPath = Code(name: "no_allowed_path")
        /// No path leads to the destination: there is none at all, or none of its address family.
        public static let noRoute = Code(name: "no_route")
        /// Every attempt failed; each one's error is among the attempts.
        public static let allAttemptsFailed = Code(name: "all_attempts_failed")
        /// There was no connection within `connectTimeout`.
        public static let timedOut = Code(name: "timed_out")
        /// The task that connected was cancelled.
        public static let cancelled = Code(name: "cancelled")
        /// This machine's paths can't be read.
        public static let paths = Code(name: "paths")
        /// The port is no number from 1 to 65535.
        public static let invalidPort = Code(name: "invalid_port")

        /// Whether there was no path to try: one that appears may change that.
        package var isWithoutPath: Bool { self == .noAllowedPath || self == .noRoute }
    }

    /// What went wrong.
    public var code: Code
    /// The host as the caller named it.
    public var host: String
    /// The port; 0 where the caller's was none.
    public var port: UInt16
    /// The resolver's, the kernel's or the clock's words.
    public var reason: String
    /// From the call until it was given up.
    public var duration: Duration
    /// What was tried, in the order in which it started.
    public var attempts: [AttemptReport]
    /// The interfaces that took no part, and why.
    public var omissions: [PathOmission]

    init(
        _ code: Code, host: String, port: UInt16, reason: String, duration: Duration = .zero,
        attempts: [AttemptReport] = [], omissions: [PathOmission] = []
    ) {
        self.code = code
        self.host = host
        self.port = port
        self.reason = reason
        self.duration = duration
        self.attempts = attempts
        self.omissions = omissions
    }

    package init(invalidPort port: Int, host: String) {
        self.init(
            .invalidPort, host: host, port: 0,
            reason: "port \(port) is out of range; ports go from 1 to 65535")
    }
}
