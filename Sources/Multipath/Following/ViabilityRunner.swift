import LinuxNet
import Synchronization

/// Runs a `ViabilityMachine` on the event thread: snapshots, timers, samples and probes.
actor ViabilityRunner: DeferredStart {
    nonisolated let unownedExecutor = EventThread.shared.asUnownedSerialExecutor()

    private struct Wishes {
        var expectsData = false
        var isStopped = false
        /// The paths when it was started.
        var snapshot: PathSnapshot?
        var hasBegun = false
        /// Who is not heard of yet.
        var observers: [@Sendable (ConnectionWatch.Event) -> Void] = []
    }

    /// The second descriptor. `stop` closes it from any thread; a sample holds the lock while it asks.
    private nonisolated let descriptor: Locked<Descriptor?>
    private nonisolated let wishes = Locked(Wishes())
    /// Whether the machine knows that data was sent, so that a write need not tell it again.
    private nonisolated let isAware = Atomic(false)
    private nonisolated let monitor: PathMonitor
    private nonisolated let remote: IPEndpoint?
    private nonisolated let local: IPEndpoint?
    private nonisolated let isMPTCP: Bool
    private let interface: String?
    private let families: Set<IPAddress.Family>
    private let policy: PathPolicy

    private var machine: ViabilityMachine?
    private var index: InterfaceIndex = 0
    private var observers: [@Sendable (ConnectionWatch.Event) -> Void] = []
    private var observation: UInt64?
    private var timer: EventThread.Token?
    private let probes = TCPProbes()
    /// The last sample of bytes that arrived, and when it was taken.
    private var arrived: (acknowledged: UInt64, received: UInt64, at: MonotonicTime)?
    private var isStopped = false

    init(
        _ descriptor: CInt, isMPTCP: Bool, interface: String?, families: Set<IPAddress.Family>,
        policy: PathPolicy, monitor: PathMonitor
    ) throws(SystemError) {
        self.descriptor = Locked(try Descriptor(duplicating: descriptor))
        remote = SocketOption.remoteEndpoint(of: descriptor)
        local = SocketOption.localEndpoint(of: descriptor)
        self.isMPTCP = isMPTCP
        self.interface = interface
        self.families = families
        self.policy = policy
        self.monitor = monitor
    }

    // MARK: From any thread

    nonisolated func start() {
        let latest = monitor.latestPath
        wishes.withLock { $0.snapshot = latest }
        DeferredStarts.shared.add(self)
    }

    nonisolated func observe(_ body: @escaping @Sendable (ConnectionWatch.Event) -> Void) {
        let hasBegun = wishes.withLock { wishes in
            wishes.observers.append(body)
            return wishes.hasBegun
        }
        if hasBegun { EventThread.shared.submit { self.onEventThread { $0.takeObservers() } } }
    }

    nonisolated func dataWasSent() {
        guard !isMPTCP, !isAware.exchange(true, ordering: .relaxed) else { return }
        EventThread.shared.submit {
            self.onEventThread { runner in
                runner.hurry()
                runner.machine?.dataWasSent(at: .now)
                runner.settle()
            }
        }
    }

    nonisolated var expectsData: Bool {
        get { wishes.withLock { $0.expectsData } }
        set {
            let isNew = wishes.withLock { wishes in
                defer { wishes.expectsData = newValue }
                return wishes.expectsData != newValue
            }
            guard isNew else { return }
            EventThread.shared.submit {
                self.onEventThread { runner in
                    runner.hurry()
                    runner.takeWish()
                }
            }
        }
    }

    nonisolated func stop() {
        descriptor.withLock { $0 = nil }
        let isFirst = wishes.withLock { wishes in
            defer { wishes.isStopped = true }
            wishes.observers = []
            return !wishes.isStopped
        }
        guard isFirst, !DeferredStarts.shared.remove(self) else { return }
        EventThread.shared.submit { self.onEventThread { $0.end() } }
    }

    // MARK: On the event thread

    nonisolated func startFollowing() { onEventThread { $0.begin() } }

    /// There is something to see.
    private func hurry() { if DeferredStarts.shared.remove(self) { begin() } }

    private func begin() {
        guard !isStopped else { return }
        monitor.lifetime.start()
        observation = monitor.channel.observe { [weak self] snapshot in
            // A source of somebody's own tells from its own thread.
            guard let self else { return }
            EventThread.shared.submit { self.onEventThread { $0.take(snapshot) } }
        }
        let first = wishes.withLock { wishes in
            wishes.hasBegun = true
            return wishes.snapshot
        }
        if let first { take(first) }
        // What was lost since then is lost to it.
        if let latest = monitor.latestPath, latest.generation != first?.generation { take(latest) }
        takeObservers()
    }

    private func end() {
        isStopped = true
        if let observation { monitor.channel.endObservation(observation) }
        if let timer { EventThread.shared.cancelTimer(timer) }
        (observation, timer) = (nil, nil)
        probes.endAll()
        observers = []
        machine = nil
    }

    private func takeObservers() {
        let bodies = wishes.withLock { wishes in
            defer { wishes.observers = [] }
            return wishes.observers
        }
        guard !isStopped else { return }
        observers += bodies
        for body in bodies {
            if let trouble = machine?.trouble { body(.viability(false, trouble)) }
            if let better = machine?.betterPath { body(.betterPath(better)) }
        }
    }

    private func take(_ snapshot: PathSnapshot) {
        guard !isStopped, let remote else { return }
        if machine == nil {
            let own =
                interface.map { snapshot.interface(named: $0) }
                ?? local.flatMap { snapshot.interface(with: $0.address) }
            guard let own else { return }
            index = own.index
            var configuration = ViabilityMachine.Configuration()
            configuration.policy = policy
            machine = ViabilityMachine(
                FollowedConnection(
                    interface: own.index, local: local?.address, remote: remote.address, families: families,
                    isTCP: !isMPTCP), configuration: configuration)
        }
        perform(machine?.snapshot(snapshot, at: .now))
        takeWish()
    }

    private func takeWish() {
        perform(machine?.expectData(expectsData, at: .now))
    }

    private func timeReached() {
        timer = nil
        guard !isStopped, machine != nil else { return }
        let now = MonotonicTime.now
        if machine?.needsSample(at: now) == true {
            // First: what is sent after the sample is to be told again.
            isAware.store(false, ordering: .relaxed)
            let sample: SubflowSample? = descriptor.withLock { descriptor in
                guard let number = descriptor?.number else { return nil }
                return SubflowSample.readTCP(number)
            }
            // No descriptor, no more samples: `end` is under way.
            guard let sample else { return }
            lookForLife(sample, at: now)
            perform(machine?.sample(sample, at: now))
        }
        perform(machine?.timeReached(now))
    }

    private func perform(_ actions: [ViabilityMachine.Action]?) {
        for action in actions ?? [] {
            switch action {
            case .viability(let isViable, let trouble): tell(.viability(isViable, trouble))
            case .betterPath(let name): tell(.betterPath(name))
            case .probe: probe()
            }
        }
        settle()
    }

    /// Bytes that arrived at either end clear the path of what others suspect.
    private func lookForLife(_ sample: SubflowSample, at now: MonotonicTime) {
        if let arrived,
            (arrived.acknowledged, arrived.received) != (sample.acknowledged, sample.receivedSequence)
        {
            monitor.suspicions.alive(index, since: arrived.at)
        }
        arrived = (sample.acknowledged, sample.receivedSequence, now)
    }

    private func tell(_ event: ConnectionWatch.Event) {
        if case .viability(false, let trouble?) = event, trouble.isSilence,
            let path = monitor.latestPath?.interface(index)
        {
            monitor.suspicions.silent(path, at: .now)
        }
        for observer in observers { observer(event) }
    }

    private func settle() {
        if let timer { EventThread.shared.cancelTimer(timer) }
        timer = machine?.nextDeadline.map { deadline in
            EventThread.shared.schedule(at: deadline) { [weak self] in
                self?.onEventThread { $0.timeReached() }
            }
        }
    }

    private func probe() {
        guard let remote else { return }
        probes.start(to: remote, over: index) { [weak self] in
            self?.onEventThread { runner in
                runner.monitor.suspicions.alive(runner.index, since: .now)
                runner.perform(runner.machine?.probeAnswered(at: .now))
            }
        }
    }
}
