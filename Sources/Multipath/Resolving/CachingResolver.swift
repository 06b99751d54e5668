import LinuxNet

/// Keeps the answers of another resolver for their times to live, so that a second connection to a host asks nothing.
///
/// ```swift
/// let monitor = PathMonitor()
/// let connector = Connector(
///     monitor: monitor, resolver: CachingResolver(InterfaceResolver(), monitor: monitor))
/// ```
///
/// - An answer holds on the network on which it was given: the interface, its routers, its Wi-Fi name, its name servers. It
///   is forgotten when that network goes, and never told on another.
/// - After its time to live it is told once more, at once, while it is asked for again; so it is while the servers are dead,
///   for a day unless set (RFC 8767). The race finds out whether the addresses still hold; where none works, the name is
///   asked for again, and the race waits for that answer.
/// - The system's resolver tells no time to live: its answers count as fresh for 60 s unless set. That is what browsers
///   take for getaddrinfo's. c-ares tells those of the records, and the shortest of an answer counts.
/// - A failure is kept for 5 s at most, and so is the answer that a name has no address. That a name does not exist any more
///   ends a stale answer.
/// - While one caller's question is under way, others with the same wait for its answer.
///
/// It keeps 1,024 questions unless set, and of each at most 64 addresses. Copies share what they know.
public struct CachingResolver: Resolver, Hashable {
    /// How long what is kept.
    public struct Configuration: Sendable, Hashable {
        /// How long an answer without a time to live of its own is fresh.
        public var assumedTimeToLive: Duration = .seconds(60)
        /// How long after its time to live an answer is told while it is asked for again; zero for never.
        public var staleness: Duration = .seconds(24 * 3600)
        /// How long a failure is told without asking again. More than 5 s counts as 5 s.
        public var failureTime: Duration = .seconds(5)
        /// How many questions are kept; what was of use longest ago goes first.
        public var capacity = 1024

        /// The defaults.
        public init() {}

        fileprivate func cache<Answer: Sendable>() -> NameCache<NameQuestion, Answer>.Configuration {
            var cache = NameCache<NameQuestion, Answer>.Configuration()
            cache.assumedTimeToLive = assumedTimeToLive
            cache.staleness = staleness
            cache.failureTime = min(failureTime, cache.failureTime)
            cache.capacity = max(capacity, 1)
            return cache
        }
    }

    private let inner: any Resolver
    private let kept: Kept
    private let level: Int
    /// Whether stale answers are none: the caller has found that one holds no more.
    private let asksAfresh: Bool

    /// At most so many addresses of an answer are kept: a race tries a few.
    private static let mostAddresses = 64

    /// - Parameters:
    ///   - inner: asked for what is not known.
    ///   - monitor: tells which networks there are; best the connector's own.
    ///   - configuration: how long what is kept.
    public init(
        _ inner: any Resolver, monitor: PathMonitor, configuration: Configuration = Configuration()
    ) {
        self.inner = inner
        kept = Kept(monitor, configuration)
        level = 0
        asksAfresh = false
    }

    private init(_ inner: any Resolver, _ kept: Kept, level: Int, asksAfresh: Bool) {
        (self.inner, self.kept, self.level, self.asksAfresh) = (inner, kept, level, asksAfresh)
    }

    /// Copies are equal: they share what they know.
    public static func == (one: CachingResolver, other: CachingResolver) -> Bool {
        one.kept === other.kept && one.level == other.level && one.asksAfresh == other.asksAfresh
    }

    public func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(kept)) }

    public var asksEachPath: Bool { inner.asksEachPath }

    /// The inner resolver's.
    public var name: String { inner.name }

    /// Where a stale answer about the host was told, this resolver again, which asks afresh; then the inner resolver's, whose
    /// answers are kept as well.
    public func fallback(for host: String) -> (any Resolver)? {
        if !asksAfresh, kept.addresses.hasToldStale(of: host.lowercased()) {
            return CachingResolver(inner, kept, level: level, asksAfresh: true)
        }
        return inner.fallback(for: host).map {
            CachingResolver($0, kept, level: level + 1, asksAfresh: false)
        }
    }

    public func addresses(
        of host: String, family: IPAddress.Family, over path: PathInterface?
    ) async throws(ResolutionError) -> [IPAddress] {
        try await answer(for: host, family: family, over: path).addresses
    }

    /// The answer, with the time to live that it came with.
    public func answer(
        for host: String, family: IPAddress.Family, over path: PathInterface?
    ) async throws(ResolutionError) -> AddressAnswer {
        let inner = inner
        return try await kept.addresses.answer(
            to: question(host, .addresses(family), path), takesStale: !asksAfresh
        ) { () async throws(ResolutionError) in
            var answer = try await inner.answer(for: host, family: family, over: path)
            if answer.addresses.count > Self.mostAddresses {
                answer.addresses = Array(answer.addresses.prefix(Self.mostAddresses))
            }
            return AnswerCache<AddressAnswer>.Found(
                answer: answer, timeToLive: answer.timeToLive, isEmpty: answer.addresses.isEmpty)
        }
    }

    public func serviceRecords(
        of host: String, port: UInt16, over path: PathInterface?
    ) async throws(ResolutionError) -> ServiceAnswer {
        let inner = inner
        return try await kept.services.answer(to: question(host, .services(port), path)) {
            () async throws(ResolutionError) in
            let answer = try await inner.serviceRecords(of: host, port: port, over: path)
            // Most hosts have none: that is kept as long as any answer.
            return AnswerCache<ServiceAnswer>.Found(answer: answer, timeToLive: answer.timeToLive)
        }
    }

    private func question(_ host: String, _ kind: NameQuestion.Kind, _ path: PathInterface?) -> NameQuestion {
        kept.monitor.lifetime.start()
        return NameQuestion(
            host: host.lowercased(), kind: kind,
            network: path.map(AnswerNetwork.init) ?? AnswerNetwork(machine: kept.monitor.latestPath),
            level: level)
    }

    /// What copies share.
    private final class Kept: Sendable {
        let addresses: AnswerCache<AddressAnswer>
        let services: AnswerCache<ServiceAnswer>
        let monitor: PathMonitor
        private let observation: UInt64

        init(_ monitor: PathMonitor, _ configuration: Configuration) {
            let (addresses, services) = (
                AnswerCache<AddressAnswer>(configuration.cache()),
                AnswerCache<ServiceAnswer>(configuration.cache())
            )
            (self.addresses, self.services, self.monitor) = (addresses, services, monitor)
            // What the last snapshot had. A question may be older than the first one.
            let last = Locked((networks: Set<AnswerNetwork>(), resumes: monitor.latestPath?.resumes))
            observation = monitor.channel.observe { snapshot in
                let networks = AnswerNetwork.all(in: snapshot)
                let (gone, hasSlept) = last.withLock { last in
                    defer { last = (networks, snapshot.resumes) }
                    return (
                        last.networks.subtracting(networks),
                        last.resumes.map { $0 != snapshot.resumes } ?? false
                    )
                }
                addresses.forget(gone)
                services.forget(gone)
                guard hasSlept else { return }
                addresses.expire()
                services.expire()
            }
        }

        deinit { monitor.channel.endObservation(observation) }
    }
}
