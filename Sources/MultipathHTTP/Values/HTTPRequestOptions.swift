#if HTTP
    public import HTTPTypes
    public import Multipath
    import NIOHTTPCompression

    /// What one request may do. The client's own options hold where a request says nothing else. The names are URLSession's
    /// where it has one.
    ///
    /// ```swift
    /// try await client.get("https://media.example/a.jpg") { $0.allowsExpensiveNetworkAccess = false }
    /// ```
    public struct HTTPRequestOptions: Sendable {
        /// Which paths the request may use, and which it likes best. `allowsExpensiveNetworkAccess` and
        /// `allowsConstrainedNetworkAccess` are part of it.
        public var policy = PathPolicy() {
            didSet { if trafficClass == .background { policy.isDiscretionary = true } }
        }
        /// What happens to an MPTCP connection when its path goes bad.
        public var mode = MultipathMode.handover
        /// What the request is for, as its connection's packets tell the networks on the way (DSCP). With `.background` it is
        /// discretionary, too, and uses no expensive path unless `policy.allowsExpensivePaths` says so.
        public var trafficClass = TrafficClass.bestEffort {
            didSet {
                guard (trafficClass == .background) != (oldValue == .background) else { return }
                policy.isDiscretionary = trafficClass == .background
            }
        }
        /// Finds the addresses of the host, and of a proxy; nil for the connector's own.
        ///
        /// Requests share connections where their resolvers are equal: the same object, or equal values of a type that is
        /// `Hashable`. Any other value is equal only to itself in copies of these options: set it once, for the client.
        public var resolver: (any Resolver)? {
            get { resolving?.resolver }
            set { resolving = newValue.map { Resolving($0) } }
        }
        /// The same, with what tells it from another one.
        var resolving: Resolving?

        /// Whether paths that cost money may be used. True unless set.
        public var allowsExpensiveNetworkAccess: Bool {
            get { policy.allowsExpensivePaths }
            set { policy.allowsExpensivePaths = newValue }
        }
        /// Whether paths on which the user asked to save data (Low Data Mode) may be used. True unless set.
        public var allowsConstrainedNetworkAccess: Bool {
            get { policy.allowsConstrainedPaths }
            set { policy.allowsConstrainedPaths = newValue }
        }
        /// Whether to wait where no path is allowed or there is none, as long as `requestTimeout` lets it. Otherwise that is an
        /// error at once.
        public var waitsForConnectivity = false

        /// How long it may take until there is a connection, TLS included. 10 s unless set.
        public var connectTimeout = Duration.seconds(10)
        /// From the call until the answer's last byte, with all redirects and repetitions; nil for as long as it takes.
        public var requestTimeout: Duration?
        /// How long not a byte may come once the request is sent, and of its body no 64 KiB may go. A body that the caller does not
        /// read is no stall. 60 s unless set.
        public var stallTimeout = Duration.seconds(60)

        /// Urgency and whether parts of the answer are useful on their own (RFC 9218), for servers that heed it; nil to say
        /// nothing. It is a field of the request (section 5) and holds for all of it: a priority that changes while the answer
        /// comes would be a PRIORITY_UPDATE frame (section 7), and swift-nio-http2 sends no frame that it does not know.
        public var priority: Priority?
        /// How many redirects are followed; 0 hands each to the caller. 10 unless set.
        public var maximumRedirects = 10
        /// Fields that authorize at the request's origin, such as an API's key: a redirect to another origin leaves them out, as it
        /// does with `Authorization`, `Cookie` and `Proxy-Authorization`. None unless set.
        public var credentialFields: Set<HTTPField.Name> = []
        /// Whether gzip and deflate are asked for and undone.
        public var decompression = Decompression.enabled()
        /// How often a request is sent again that broke where that is safe (RFC 9110 section 9.2.2). Twice unless set.
        public var maximumRetries = 2

        /// The defaults.
        public init() {}

        /// A request's priority (RFC 9218 section 4).
        public struct Priority: Sendable, Hashable {
            /// From 0, the most urgent, to 7.
            public var urgency: Int
            /// Whether the answer is useful while it arrives.
            public var isIncremental: Bool

            /// A priority. What is outside of 0 to 7 counts as the nearest of them.
            public init(urgency: Int = 3, isIncremental: Bool = false) {
                self.urgency = min(max(urgency, 0), 7)
                self.isIncremental = isIncremental
            }

            var field: String { isIncremental ? "u=\(urgency), i" : "u=\(urgency)" }
        }

        /// What is done about compressed bodies. The answer's fields stay as the server sent them.
        public struct Decompression: Sendable, Hashable {
            /// How many times its size a body may swell; nil where it is not undone.
            var ratio: Int?

            /// gzip and deflate are asked for and undone.
            ///
            /// - Parameter maximumRatio: how many times its size a body may swell. 200 unless set; deflate can do some 1,000.
            public static func enabled(maximumRatio: Int = 200) -> Decompression {
                Decompression(ratio: max(maximumRatio, 1))
            }

            /// Bodies are handed on as they come, and `identity` is asked for.
            public static let disabled = Decompression(ratio: nil)

            var limit: NIOHTTPDecompression.DecompressionLimit? { ratio.map { .ratio($0) } }
        }
    }

    extension HTTPRequestOptions {
        /// How a connection for this request is made.
        var connectionConfiguration: ConnectionConfiguration {
            var configuration = ConnectionConfiguration()
            configuration.mode = mode
            configuration.trafficClass = trafficClass
            // After the class, which has its own idea of what is discretionary.
            configuration.policy = policy
            configuration.connectTimeout = connectTimeout
            // Only what the caller forbids ends a request in the middle.
            configuration.whenPathIsRefused = .close
            return configuration
        }
    }
#endif
