/// Why there is no connection, with every attempt that was made.
public struct ConnectionError: Error, Sendable, Hashable {
    /// What went wrong. More codes may come.
    public struct Code: Sendable, Hashable {
        private enum Value: Sendable, Hashable {
            case resolution, noAllowedPath, noRoute, allAttemptsFailed, timedOut, cancelled, paths,
                invalidPort
        }

        private let value: Value

        /// The name has no address.
        public static let resolution = Code(value: .resolution)
        /// There are paths to the destination, but the caller's rules allow none of them.
        public static let noAllowedPath = Code(value: .noAllowedPath)
        /// No path leads to the destination: there is none at all, or none of its address family.
        public static let noRoute = Code(value: .noRoute)
        public static let allAttemptsFailed = Code(value: .allAttemptsFailed)
        public static let timedOut = Code(value: .timedOut)
        public static let cancelled = Code(value: .cancelled)
        /// This machine's paths can't be read.
        public static let paths = Code(value: .paths)
        /// The port is no number from 1 to 65535.
        public static let invalidPort = Code(value: .invalidPort)
    }

    public var code: Code
    public var host: String
    public var port: UInt16
    /// The resolver's, the kernel's or the clock's words.
    public var reason: String
    public var attempts: [AttemptReport]
    /// The interfaces that took no part, and why.
    public var omissions: [CandidateList.Omission]

    init(
        _ code: Code, host: String, port: UInt16, reason: String, attempts: [AttemptReport] = [],
        omissions: [CandidateList.Omission] = []
    ) {
        self.code = code
        self.host = host
        self.port = port
        self.reason = reason
        self.attempts = attempts
        self.omissions = omissions
    }

    package init(invalidPort port: Int, host: String) {
        self.init(
            .invalidPort, host: host, port: 0,
            reason: "port \(port) is out of range; ports go from 1 to 65535")
    }
}

extension ConnectionError: CustomStringConvertible {
    /// One line: the destination, what went wrong, and for a lack of paths every interface with its reason.
    public var description: String {
        let destination = HostPort(host: host, port: port)
        guard attempts.isEmpty, !omissions.isEmpty else { return "\(destination): \(reason)" }
        let list = omissions.map { "\($0.interface): \($0.reason)" }.joined(separator: "; ")
        return "\(destination): \(reason) (\(list))"
    }
}
