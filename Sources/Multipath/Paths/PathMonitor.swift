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
        public var coalescing = Coalescer.Configuration()
        /// Room for so many bytes of notifications instead of the system's default; a test has them overflow.
        package var receiveBuffer: Int?

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
        /// Readings that failed and were tried again later.
        public var failures = 0
        /// Sockets that broke and were opened again; all was read again.
        public var reopened = 0
        /// How often notifications woke the monitor.
        public var wakeups = 0

        public init() {}
    }

    let lifetime: Lifetime

    /// Reads nothing yet: that happens at first use, and so do its errors.
    public init(_ configuration: Configuration = Configuration()) {
        lifetime = Lifetime(configuration)
    }

    /// The paths now.
    ///
    /// - Throws: `PathMonitorError` where the kernel refuses a netlink socket or its tables, or where
    ///   `MULTIPATH_INTERFACES` can't be read; `CancellationError`.
    public func currentPath() async throws -> PathSnapshot {
        for await path in updates { return path }
        try Task.checkCancellation()
        throw lifetime.failure ?? PathMonitorError("the path monitor has stopped")
    }

    /// The current value first, then every change; for any number of consumers. The stream ends only when
    /// its task is cancelled, or if the monitor can't start at all: `currentPath()` says why.
    public var updates: PathUpdates { PathUpdates(channel: lifetime.channel, lifetime: lifetime) }

    public var counters: Counters { lifetime.counters }

    var channel: PathChannel { lifetime.channel }

    /// The newest snapshot without waiting; nil before the first.
    var latestPath: PathSnapshot? { lifetime.channel.latest }

    /// Runs the watcher from first use until nobody is left who could ask.
    final class Lifetime: Sendable {
        let channel = PathChannel()
        private let configuration: Configuration
        private let state = Locked(State())

        private struct State {
            var watcher: PathWatcher?
            var failure: PathMonitorError?
        }

        init(_ configuration: Configuration) { self.configuration = configuration }

        deinit { state.withLock { $0.watcher }?.stop() }

        var failure: PathMonitorError? { state.withLock { $0.failure } }

        var counters: Counters { state.withLock { $0.watcher }?.counters ?? Counters() }

        func start() {
            let watcher: PathWatcher? = state.withLock { state in
                guard state.watcher == nil, state.failure == nil else { return nil }
                do throws(PathMonitorError) {
                    state.watcher = PathWatcher(
                        overrides: try overrides(), coalescing: configuration.coalescing,
                        receiveBuffer: configuration.receiveBuffer, channel: channel)
                } catch {
                    state.failure = error
                }
                return state.watcher
            }
            if let watcher {
                watcher.start { [weak self] failure in
                    self?.state.withLock { $0.failure = failure }
                }
            } else if failure != nil {
                channel.end()
            }
        }

        private func overrides() throws(PathMonitorError) -> InterfaceOverrides {
            var overrides = InterfaceOverrides(configuration: configuration.overrides)
            let name = InterfaceOverrides.environmentVariable
            if configuration.readsEnvironment, let text = ProcessEnvironment.value(name) {
                do throws(InterfaceOverrides.Malformed) {
                    overrides.environment = try InterfaceOverrides.parse(text)
                } catch {
                    throw PathMonitorError(error.description)
                }
            }
            return overrides
        }
    }
}

/// Why a monitor can't start.
public struct PathMonitorError: Error, Sendable, Hashable, CustomStringConvertible {
    public let description: String

    init(_ description: String) { self.description = description }
}
