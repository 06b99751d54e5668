import LinuxNet

/// A live view of this machine's paths to the Internet.
///
/// ```swift
/// let monitor = PathMonitor()
/// let now = try await monitor.currentPath()
/// for await path in monitor.updates { print(path.status, path.interfaces.map(\.name)) }
/// ```
///
/// It needs no privilege. It starts at first use and stops when the monitor and its iterators are gone. It
/// watches the network namespace the process was in when this library first waited for anything.
public final class PathMonitor: Sendable {
    /// What a monitor is told beside what the kernel says.
    public struct Configuration: Sendable {
        /// What is known better about an interface, by its name.
        public var overrides: [String: InterfaceOverride] = [:]
        /// Whether the environment's `MULTIPATH_INTERFACES` is read too. Overrides given here win.
        public var readsEnvironment = true
        /// How long changes are gathered. The loss of the preferred path, and the first path after none, are
        /// told at once whatever is set here.
        public var coalescing = Coalescing()
        /// Whether the user's settings (`mppaths set`), DHCP leases and the radio's word count for the tags.
        public var readsHints = true
        /// Whether NetworkManager is asked over D-Bus, where there is one.
        public var asksNetworkManager = true
        /// How long the first snapshot waits for NetworkManager's first answer: not at all unless set, for a
        /// connection can't wait for a guess about costs. It comes as an update then.
        public var waitsForNetworkManager = Duration.zero
        /// Room for so many bytes of notifications instead of the system's default; a test has them overflow.
        package var receiveBuffer: Int?

        /// The defaults.
        public init() {}
    }

    /// What went wrong and was mended, since the monitor started.
    public struct Counters: Sendable, Hashable {
        /// Notifications that the kernel dropped because the queue was full; all was read again.
        public var overflows = 0
        /// Tables read again because they changed while they were read.
        public var interruptedDumps = 0
        /// Messages or attributes that could not be read.
        public var malformed = 0
        /// Lines of settings and leases, and answers of NetworkManager and nl80211, that could not be read.
        public var malformedHints = 0
        /// Readings that failed and were tried again later.
        public var failures = 0
        /// Sockets that broke and were opened again; all was read again.
        public var reopened = 0
        /// How often tables were read.
        public var readings = 0
        /// How often notifications woke the monitor.
        public var wakeups = 0

        /// Nothing has gone wrong yet.
        public init() {}
    }

    package let runtime: Runtime
    let lifetime: Lifetime
    /// What connections over its paths have found out by themselves.
    let suspicions = SuspicionBoard()
    /// What connections over its paths ask of other ones.
    let probes: SharedProbes
    let candidatePaths = LatestCandidatePaths()

    /// Reads nothing yet: that happens at first use, and so do its errors.
    public convenience init(_ configuration: Configuration = Configuration()) {
        self.init(configuration, recorder: nil)
    }

    /// - Parameters:
    ///   - recorder: gets all that the kernel and others tell the monitor; nil for none.
    ///   - runtime: where the monitor lives, and with it the connectors and connections that use it.
    package init(
        _ configuration: Configuration = Configuration(), recorder: PathRecorder?,
        runtime: Runtime = .process
    ) {
        let kernel = KernelPaths(configuration, recorder: recorder)
        self.runtime = runtime
        probes = SharedProbes(runtime.thread)
        lifetime = Lifetime(kernel, runtime, mayStartAgain: true) { kernel.counters }
    }

    /// A monitor of whatever the source tells; what the kernel says is not asked for.
    public convenience init(source: some PathSource) {
        self.init(source: source, runtime: .process)
    }

    /// - Parameter hasBudgets: whether the user's budgets count on these paths.
    package init(source: some PathSource, runtime: Runtime = .process, hasBudgets: Bool = true) {
        self.runtime = runtime
        probes = SharedProbes(runtime.thread)
        lifetime = Lifetime(source, runtime, hasBudgets: hasBudgets) { Counters() }
    }

    /// The paths now.
    ///
    /// - Throws: `PathMonitorError` where the kernel refuses a netlink socket or its tables, or where
    ///   `MULTIPATH_INTERFACES` can't be read; what a source of one's own fails with; `CancellationError`.
    public func currentPath() async throws -> PathSnapshot {
        if !lifetime.mayStartAgain, let failure = lifetime.failure { throw failure }
        for await path in updates { return path }
        try Task.checkCancellation()
        throw lifetime.failure ?? PathMonitorError("the path monitor has stopped")
    }

    /// The current value first, then every change; for any number of consumers. The stream ends only when
    /// its task is cancelled, or if the monitor can't start at all: `currentPath()` says why. A source of
    /// one's own may end it too.
    public var updates: PathUpdates { PathUpdates(channel: lifetime.channel, lifetime: lifetime) }

    /// What went wrong and was mended, since the monitor started.
    public var counters: Counters { lifetime.counters }

    var channel: PathChannel { lifetime.channel }

    /// Why the updates ended, if by an error.
    package var failure: PathMonitorError? { lifetime.failure }

    /// The newest snapshot without waiting; nil before the first.
    var latestPath: PathSnapshot? { lifetime.channel.latest }

    /// Runs the source from first use until the monitor and its iterators are gone.
    final class Lifetime: Sendable {
        let channel: PathChannel
        private let source: any PathSource
        private let readCounters: @Sendable () -> Counters
        private let isStarted = Locked(false)
        /// Whether a source that failed to start is started again at the next use: what it lacked may be there then.
        let mayStartAgain: Bool

        init(
            _ source: any PathSource, _ runtime: Runtime, mayStartAgain: Bool = false,
            hasBudgets: Bool = true,
            counters: @escaping @Sendable () -> Counters
        ) {
            self.source = source
            self.mayStartAgain = mayStartAgain
            channel = PathChannel(runtime, hasBudgets: hasBudgets)
            readCounters = counters
        }

        deinit { if isStarted.withLock({ $0 }) { source.stop() } }

        var failure: PathMonitorError? { channel.failure }

        var counters: Counters { readCounters() }

        func start() {
            let isDue = isStarted.withLock { isStarted in
                defer { isStarted = true }
                guard isStarted else { return true }
                return mayStartAgain && channel.reopen()
            }
            if isDue { source.start(PathSink(channel)) }
        }
    }
}

/// Why a monitor can't start, or why its source gave up.
public struct PathMonitorError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The reason, in words.
    public let description: String

    /// An error with its reason.
    public init(_ description: String) { self.description = description }
}
