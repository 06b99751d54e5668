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
    private var coalescer: Coalescer
    private var delivery: EventThread.Token?
    /// Tables that are out of date, and are read before the next snapshot.
    private var stale: KernelTables = []
    private var published: PathSnapshot?
    private var lastResync = MonotonicTime.zero
    private nonisolated let shared = Locked(PathMonitor.Counters())

    init(overrides: InterfaceOverrides, coalescing: Coalescer.Configuration, channel: PathChannel) {
        coalescer = Coalescer(configuration: coalescing)
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
        let devices = DeviceFiles()
        let notifications = try RouteNotifications(devices: devices)
        tables = try RouteTables(devices: devices)
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
        for timer in [retry, delivery] {
            if let timer { EventThread.shared.cancelTimer(timer) }
        }
        (registration, retry, delivery, notifications, tables) = (nil, nil, nil, nil, nil)
        channel.end()
    }

    private func takeNotifications() {
        let events: [KernelEvent]
        do {
            events = try notifications?.drain() ?? []
        } catch {
            // The socket itself is unwell: treat what it held as lost.
            events = [.lost]
        }
        guard !events.isEmpty else { return }
        for event in events { stale.formUnion(reducer.apply(event)) }
        if stale == .all, lastResync.duration(to: .now) < Self.resyncInterval {
            // Losses in a row come from a storm; the tables are read once it leaves room.
            readLater(after: Self.resyncInterval)
            return
        }
        // Who has a path wants to know at once that it is gone, and who has none that there is one. All else
        // can wait for its burst to end; what concerns no path of ours is not even looked up before.
        let concerned = stale == .all || events.contains { concernsPaths($0) }
        var isUrgent = false
        if concerned {
            guard refresh() else { return }
            let snapshot = reducer.snapshot()
            isUrgent =
                published.map { old in
                    old.primary.map { snapshot.path($0.index) == nil } ?? !snapshot.interfaces.isEmpty
                } ?? true
        }
        if coalescer.changed(isUrgent: isUrgent, at: .now) { deliver() }
        setDeliveryTimer()
    }

    private func concernsPaths(_ event: KernelEvent) -> Bool {
        switch event {
        case .defaultRouteChanged, .lost: true
        case .link(let link): published?.path(link.index) != nil
        case .linkGone(let index): published?.path(index) != nil
        case .address(let fact), .addressGone(let fact): published?.path(fact.interface) != nil
        }
    }

    private func setDeliveryTimer() {
        if let delivery { EventThread.shared.cancelTimer(delivery) }
        delivery = coalescer.nextDeadline.map { deadline in
            EventThread.shared.schedule(at: deadline) { [unowned self] in
                self.assumeIsolated { watcher in
                    watcher.delivery = nil
                    if watcher.coalescer.timeReached(.now) { watcher.deliver() }
                    watcher.setDeliveryTimer()
                }
            }
        }
    }

    private func deliver() {
        if refresh() { publish() }
    }

    /// Reads what is out of date.
    /// - Returns: whether that went well; if not, it is tried again later.
    private func refresh() -> Bool {
        do {
            try read(stale)
            stale = []
            return true
        } catch {
            shared.withLock { $0.failures += 1 }
            stale = .all
            readLater(after: Self.retryInterval)
            return false
        }
    }

    private func readLater(after delay: Duration) {
        guard retry == nil else { return }
        retry = EventThread.shared.schedule(at: MonotonicTime.now.advanced(by: delay)) { [unowned self] in
            self.assumeIsolated { watcher in
                watcher.retry = nil
                watcher.stale = .all
                watcher.deliver()
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
        guard stale.contains(.routes) else { return }
        let routes = try tables.internetRoutes(through: reducer.interfacesWorthAsking)
        reducer.replaceRoutes(routes.defaults, reach: routes.reach)
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
