import LinuxNet

/// Runs the snapshot reducer on the event thread: netlink in, snapshots out.
actor PathWatcher {
    nonisolated let unownedExecutor = EventThread.shared.asUnownedSerialExecutor()

    private let channel: PathChannel
    private var reducer: SnapshotReducer
    private var notifications: RouteNotifications?
    private var tables: RouteTables?
    private var registration: EventThread.Token?
    private var retry: EventThread.Token?
    private var published: PathSnapshot?
    private var lastResync = MonotonicTime.zero
    private nonisolated let shared = Locked(PathMonitor.Counters())

    init(overrides: InterfaceOverrides, channel: PathChannel) {
        reducer = SnapshotReducer(overrides: overrides)
        self.channel = channel
    }

    nonisolated var counters: PathMonitor.Counters { shared.withLock { $0 } }

    /// - Parameter failed: called before the stream ends, if the monitor can't start.
    nonisolated func start(failed: @escaping @Sendable (PathMonitorError) -> Void) {
        EventThread.shared.submit {
            self.assumeIsolated { watcher in
                do {
                    try watcher.open()
                } catch {
                    failed(PathMonitorError("can't read this machine's paths: \(error)"))
                    watcher.channel.end()
                }
            }
        }
    }

    nonisolated func stop() {
        EventThread.shared.submit {
            self.assumeIsolated { $0.close() }
        }
    }

    /// Joins the groups, then reads the tables; what changed meanwhile waits in the first's queue.
    private func open() throws {
        let notifications = try RouteNotifications()
        tables = try RouteTables()
        self.notifications = notifications
        try read(.all)
        registration = try EventThread.shared.add(notifications.descriptor, for: .readable) {
            [unowned self] _ in
            self.assumeIsolated { $0.takeNotifications() }
        }
        publish()
    }

    private func close() {
        if let registration { EventThread.shared.remove(registration) }
        if let retry { EventThread.shared.cancelTimer(retry) }
        (registration, retry, notifications, tables) = (nil, nil, nil, nil)
        channel.end()
    }

    private func takeNotifications() {
        var stale: KernelTables = []
        do {
            for event in try notifications?.drain() ?? [] { stale.formUnion(reducer.apply(event)) }
        } catch {
            // The socket itself is unwell: treat what it held as lost.
            stale = .all
        }
        if stale == .all, lastResync.duration(to: .now) < Self.resyncInterval {
            // Losses in a row come from a storm; the tables are read once it leaves room.
            readLater(after: Self.resyncInterval)
            return
        }
        readAndPublish(stale)
    }

    private func readAndPublish(_ stale: KernelTables) {
        do {
            try read(stale)
            publish()
        } catch {
            shared.withLock { $0.failures += 1 }
            readLater(after: Self.retryInterval)
        }
    }

    private func readLater(after delay: Duration) {
        guard retry == nil else { return }
        retry = EventThread.shared.schedule(at: MonotonicTime.now.advanced(by: delay)) { [unowned self] in
            self.assumeIsolated { watcher in
                watcher.retry = nil
                watcher.readAndPublish(.all)
            }
        }
    }

    private static let resyncInterval = Duration.milliseconds(100)
    private static let retryInterval = Duration.seconds(1)

    private func read(_ stale: KernelTables) throws {
        guard let tables else { return }
        if stale == .all { lastResync = .now }
        if stale.contains(.links) { reducer.replaceLinks(try tables.links()) }
        if stale.contains(.addresses) { reducer.replaceAddresses(try tables.addresses()) }
        if stale.contains(.routes) { reducer.replaceRoutes(try tables.defaultRoutes()) }
    }

    private func publish() {
        shared.withLock { counters in
            counters.overflows = notifications?.overflows ?? 0
            counters.interruptedDumps = tables?.interrupted ?? 0
            counters.malformed = (notifications?.malformed ?? 0) + (tables?.malformed ?? 0)
        }
        var snapshot = reducer.snapshot()
        if let published, published.hasSameContent(as: snapshot) { return }
        snapshot.generation = (published?.generation ?? 0) + 1
        published = snapshot
        channel.publish(snapshot)
    }
}
