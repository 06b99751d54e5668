import LinuxNet

/// Runs the snapshot reducer on the event thread: netlink in, snapshots out.
actor PathWatcher {
    nonisolated var unownedExecutor: UnownedSerialExecutor { thread.asUnownedSerialExecutor() }
    nonisolated let thread: EventThread

    let channel: PathChannel
    private let run: Int
    let recorder: PathRecorder?
    var reducer: SnapshotReducer
    var notifications: RouteNotifications?
    var tables: RouteTables?
    private var registration: EventThread.Token?
    var retry: EventThread.Token?
    private var coalescer: Coalescer
    private var delivery: EventThread.Token?
    /// Tables that are out of date, and are read before the next snapshot.
    var stale: KernelTables = []
    private var laterLooks: [Int: EventThread.Token] = [:]
    private var lateEvents: Set<Int> = []
    private var published: PathSnapshot?
    var lastResync = MonotonicTime.zero
    private var budget = ReadingBudget()
    /// When the tables are read that could not be within the budget.
    private var postponed: EventThread.Token?
    private let configuration: PathMonitor.Configuration
    let reader: TableReader
    /// Until the first reading: told where it fails for good.
    var opening: (@Sendable (PathMonitorError) -> Void)?
    let devices: DeviceFiles
    private var hints: HintWatch?
    private var networkManager: NetworkManagerWatch?
    /// What NetworkManager said last; nil before its first answer.
    private var managed: [String: NetworkManagerDevice]?
    /// Until when the first snapshot waits for files and drivers, and for NetworkManager; nil for no longer.
    private var awaited: (hints: MonotonicTime?, networkManager: MonotonicTime?)
    private var patience: EventThread.Token?
    private var lastOpened = MonotonicTime.zero
    /// What the tables counted when no other thread had them.
    private var ofTables = (interrupted: 0, malformed: 0)
    /// What sockets counted that are closed now.
    private var earlier = PathMonitor.Counters()
    nonisolated let shared = Locked(PathMonitor.Counters())

    init(
        overrides: InterfaceOverrides, configuration: PathMonitor.Configuration, channel: PathChannel,
        run: Int,
        recorder: PathRecorder? = nil
    ) {
        thread = channel.runtime.thread
        devices = DeviceFiles(on: channel.runtime.thread)
        reader = TableReader(on: channel.runtime.thread)
        self.recorder = recorder
        self.configuration = configuration
        coalescer = Coalescer(configuration: configuration.coalescing)
        reducer = SnapshotReducer(overrides: overrides)
        (self.channel, self.run) = (channel, run)
    }

    nonisolated var counters: PathMonitor.Counters { shared.withLock { $0 } }

    /// - Parameter failed: called before the stream ends, if the monitor can't start.
    nonisolated func start(failed: @escaping @Sendable (PathMonitorError) -> Void) {
        do throws(SystemError) {
            try thread.start()
        } catch {
            return failed(Self.error(error))
        }
        thread.submit {
            self.assumeIsolated { $0.open(failed) }
        }
    }

    nonisolated static func error(_ error: any Error) -> PathMonitorError {
        PathMonitorError("can't read this machine's paths: \(error)")
    }

    nonisolated func stop() {
        thread.submit {
            self.assumeIsolated { $0.close() }
        }
    }

    /// Joins the groups, then reads the tables; what changed meanwhile waits in the first's queue.
    ///
    /// - Parameter failed: told of what a later attempt would not mend. After anything else the tables are read later.
    private func open(_ failed: @escaping @Sendable (PathMonitorError) -> Void) {
        reader.start { [unowned self] result in self.assumeIsolated { $0.ingest(result) } }
        do {
            try openSockets()
        } catch {
            release()
            return failed(Self.error(error))
        }
        watchHints()
        opening = failed
        beginReading()
    }

    func opened() {
        // Drivers are asked now, so that their answers are awaited too.
        _ = hints?.read(links: reducer.allLinks)
        awaited.hints = .now.advanced(by: Self.hintsPatience)
        if networkManager != nil {
            awaited.networkManager = .now.advanced(by: configuration.waitsForNetworkManager)
        }
        awaitOthers()
    }

    /// Tells the first snapshot as soon as nothing is waited for any more.
    private func awaitOthers() {
        let now = MonotonicTime.now
        if let patience { thread.cancelTimer(patience) }
        patience = nil
        let isKnown = devices.isSettled && hints?.isComplete ?? true
        if isKnown || awaited.hints.map({ $0 <= now }) ?? false { awaited.hints = nil }
        let isManagerDue = awaited.networkManager.map { $0 <= now } ?? false
        if managed != nil || isManagerDue { awaited.networkManager = nil }
        let others = [awaited.hints, awaited.networkManager]
        guard let next = others.compactMap({ $0 }).min() else { return deliver() }
        patience = thread.schedule(at: next) { [unowned self] in
            self.assumeIsolated { $0.awaitOthers() }
        }
    }

    private func watchHints() {
        devices.start { [unowned self] in self.assumeIsolated { $0.devicesAnswered() } }
        if configuration.readsHints {
            let watch = HintWatch(on: thread)
            hints = watch
            watch.start { [unowned self] in self.assumeIsolated { $0.hintsChanged() } }
            // A signal that fades says something of connections that move data; else it is not worth a timer.
            channel.runtime.load.listen(self) { [weak watch] isActive in watch?.watchSignal(isActive) }
        }
        if configuration.asksNetworkManager {
            let watch = NetworkManagerWatch(on: thread) { [weak self] devices in
                self?.assumeIsolated { watcher in
                    watcher.managed = devices
                    watcher.hintsChanged()
                }
            }
            networkManager = watch
            watch.start()
        }
    }

    private func devicesAnswered() {
        for link in reducer.allLinks {
            let completed = devices.completed(link)
            if completed != link { stale.formUnion(reducer.apply(.link(completed))) }
        }
        if patience != nil {
            // What is a radio, or a wire, is known now, and is asked about.
            _ = hints?.read(links: reducer.allLinks)
            awaitOthers()
        } else if published != nil, retry == nil {
            look()
        }
    }

    private func hintsChanged() {
        if patience != nil { return awaitOthers() }
        guard published != nil else { return }
        // What the user says is obeyed at once: bytes that go on meanwhile may cost money.
        let isUsersWord = hints.map { $0.latestSettings != reducer.hints.settings } ?? false
        if coalescer.changed(isUrgent: isUsersWord, at: .now) { deliver() }
        setDeliveryTimer()
    }

    private func readHints() {
        var read = hints?.read(links: reducer.allLinks) ?? InterfaceHints()
        read.networkManager = managed ?? [:]
        if read != reducer.hints { reducer.hints = read }
    }

    func openSockets() throws {
        lastOpened = .now
        let notifications = try RouteNotifications(receiveBuffer: configuration.receiveBuffer)
        let tables = try RouteTables()
        recorder?.listen(to: devices, notifications)
        (self.notifications, self.tables) = (notifications, tables)
        try listen()
    }

    func listen() throws {
        guard let notifications, registration == nil else { return }
        registration = try thread.add(notifications.descriptor, for: .readable) { [unowned self] _ in
            self.assumeIsolated { $0.takeNotifications() }
        }
    }

    func stopListening() {
        if let registration { thread.remove(registration) }
        registration = nil
    }

    private func closeSockets() {
        earlier = count()
        stopListening()
        (notifications, tables, ofTables) = (nil, nil, (0, 0))
    }

    private func close() {
        release()
        channel.end(run)
    }

    func release() {
        closeSockets()
        channel.runtime.load.stopListening(self)
        reader.stop()
        devices.stop()
        hints?.stop()
        networkManager?.stop()
        for timer in [retry, delivery, patience, postponed].compactMap({ $0 }) + laterLooks.values {
            thread.cancelTimer(timer)
        }
        (retry, delivery, patience, postponed, laterLooks) = (nil, nil, nil, nil, [:])
        (hints, networkManager) = (nil, nil)
    }

    private func takeNotifications() {
        shared.withLock { $0.wakeups += 1 }
        let events: [KernelEvent]
        do {
            events = try notifications?.drain() ?? []
        } catch {
            // The socket itself is unwell, and so would stay readable for ever. A new one takes its place: at
            // once, but not again and again.
            closeSockets()
            stale = .all
            let wait = MonotonicTime.now.duration(to: lastOpened.advanced(by: Self.retryInterval))
            readLater(after: max(.zero, wait))
            return
        }
        recorder?.took(events)
        guard !events.isEmpty else { return }
        for event in events { stale.formUnion(reducer.apply(devices.completed(event))) }
        // All is read again soon: a kernel that is too busy now is not asked at each of its notifications.
        guard retry == nil else { return }
        if stale == .all, lastResync.duration(to: .now) < Self.resyncInterval {
            // Losses in a row come from a storm; the tables are read once it leaves room.
            readLater(after: Self.resyncInterval)
            return
        }
        if stale.contains(.routes) { lookAgain() }
        // What concerns no path of ours is not even looked up before its burst ends.
        if stale == .all || events.contains(where: concernsPaths) {
            look()
        } else {
            if coalescer.changed(isUrgent: false, at: .now) { deliver() }
            setDeliveryTimer()
        }
    }

    /// Reads what is out of date, and tells it now or when its burst ends. That the preferred path
    /// is gone is told at once, and that there is a path after none; all else can wait.
    func look() {
        guard postponed == nil, !reader.isReading else { return }
        if !stale.isEmpty, let next = budget.take(at: .now) {
            postponed = thread.schedule(at: next) { [unowned self] in
                self.assumeIsolated { watcher in
                    watcher.postponed = nil
                    if watcher.retry == nil { watcher.look() }
                }
            }
            return
        }
        guard refresh() else { return }
        let snapshot = reducer.snapshot()
        let isUrgent =
            published.map { old in
                old.primary.map { snapshot.path($0.index) == nil } ?? !snapshot.interfaces.isEmpty
            } ?? true
        // What kind a new interface is will be known in a moment, unless sysfs hangs; a loss does not wait for that.
        guard isUrgent || devices.isSettled else { return }
        if coalescer.changed(isUrgent: isUrgent, at: .now) { deliver() }
        setDeliveryTimer()
    }

    /// Reads the routes again a little later, twice.
    ///
    /// The kernel announces that an IPv4 route, or the address it depends on, is gone before it removes the
    /// route (fib_table_delete, __inet_del_ifa), and since Linux 6.10 nothing keeps a reader waiting that
    /// long. So what is read right after an announcement may be what was before it.
    private func lookAgain() {
        for (number, delay) in Self.laterLooks.enumerated() {
            guard laterLooks[number] == nil else {
                // The one that is due may come too early for this event.
                lateEvents.insert(number)
                continue
            }
            laterLooks[number] = thread.schedule(at: MonotonicTime.now.advanced(by: delay)) {
                [unowned self] in self.assumeIsolated { $0.takeLaterLook(number) }
            }
        }
    }

    private func takeLaterLook(_ number: Int) {
        laterLooks[number] = nil
        if lateEvents.remove(number) != nil { lookAgain() }
        stale.formUnion(.routes)
        guard retry == nil, postponed == nil, !reader.isReading else { return }
        guard budget.take(at: .now) == nil else { return look() }
        guard refresh() else { return }
        if published?.hasSameContent(as: reducer.snapshot()) != true { look() }
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
        if let delivery { thread.cancelTimer(delivery) }
        delivery = coalescer.nextDeadline.map { deadline in
            thread.schedule(at: deadline) { [unowned self] in
                self.assumeIsolated { watcher in
                    watcher.delivery = nil
                    if watcher.coalescer.timeReached(.now) { watcher.deliver() }
                    watcher.setDeliveryTimer()
                }
            }
        }
    }

    func deliver() {
        if patience == nil, refresh() { publish() }
    }

    /// The home directory may be one that doesn't answer, and a driver take its time.
    private static let hintsPatience = Duration.milliseconds(500)
    private static let resyncInterval = Duration.milliseconds(100)
    /// The first for speed, the second in case the kernel takes longer to remove the route.
    private static let laterLooks = [Duration.milliseconds(10), .milliseconds(100)]

    private func publish() {
        _ = count()
        readHints()
        recorder?.told(reducer.hints)
        published = channel.deliver(reducer.snapshot(), after: published)
    }

    /// Brings the counters up to date.
    private func count() -> PathMonitor.Counters {
        if let tables, !reader.isReading { ofTables = (tables.interrupted, tables.malformed) }
        return shared.withLock { counters in
            counters.overflows = earlier.overflows + (notifications?.overflows ?? 0)
            counters.interruptedDumps = earlier.interruptedDumps + ofTables.interrupted
            counters.malformed = earlier.malformed + (notifications?.malformed ?? 0) + ofTables.malformed
            counters.malformedHints =
                (hints?.counters.malformed ?? 0) + (networkManager?.counters.malformed ?? 0)
            return counters
        }
    }
}
