import LinuxNet

/// Performs a race's actions on the event thread: sockets, timers, name resolution and the paths' changes.
/// What to do when is decided by `RaceMachine` and `ResolutionMachine` alone. How names are asked for stands in
/// RaceRunner+Resolving.swift, how attempts are made in RaceRunner+Attempts.swift.
///
/// While it runs, it is kept by those it waits for.
actor RaceRunner: EventThreadActor {
    nonisolated var unownedExecutor: UnownedSerialExecutor { thread.asUnownedSerialExecutor() }
    nonisolated let thread: EventThread
    let monitor: PathMonitor
    var runtime: Runtime { monitor.runtime }

    /// How a race ended.
    struct Result: Sendable {
        var winner: Winner?
        var failure: RaceMachine.Failure?
        var attempts: [AttemptReport]
        var omissions: [PathOmission]
        var addresses: [IPAddress]
        var serviceRecords: [ServiceRecord]
        var refutedAnswers: [RefutedAnswer]
        /// The paths as they were at the end.
        var snapshot: PathSnapshot
        var resolution: Duration
        var duration: Duration
    }

    /// The attempt that won. Its socket is taken once.
    struct Winner: Sendable {
        var attempt: RaceAttempt
        var facts: PendingConnection.Facts
        /// What the confirmation made, where there was one.
        var value: (any Sendable)?
    }

    /// What makes a complete handshake usable, such as TLS.
    struct Confirmation: Sendable {
        /// Takes the attempt's socket over. Cancelled when another attempt has won.
        var run: @Sendable (RaceAttempt, PendingConnection.Facts) async throws -> any Sendable
        /// Closes what `run` made for an attempt that lost in the end.
        var discard: @Sendable (any Sendable) -> Void
    }

    let request: ConnectRequest
    let host: String
    let configuration: ConnectionConfiguration
    let names: RaceNames
    let history: ConnectionHistory
    let destination: PathHistory.Destination
    /// By which the paths and the suspicions are heard, from the beginning to the end.
    private var observations: (paths: SnapshotListener, suspicions: UInt64)?
    let suspicions: SuspicionBoard
    let confirmation: Confirmation?
    var planner: RacePlanner
    var machine: RaceMachine
    /// By their numbers.
    var running: [Running?] = []
    private var delays = ShortDictionary<InterfaceIndex, Duration>()
    private var timer: (token: EventThread.Token, deadline: MonotonicTime)?
    private var result: Result?
    /// Whether there is a result: asked so often that not even to look at that is worth it.
    private(set) var isOver = false
    /// When the connection was asked for.
    private let begun: MonotonicTime
    var resolvedAt: MonotonicTime?
    private var omissions: [PathOmission] = []
    var kernelSpeaksMPTCP = true
    private var isWaiting = false

    /// A name's resolution, asked for once: by a path, or by the machine.
    final class Resolution {
        var machine = ResolutionMachine()
        /// Answers to a question that no longer counts are told by it.
        let number: Int
        let network: AnswerNetwork?
        /// Asked while no path was allowed, so that a failure says nothing.
        let hadNoPath: Bool
        var isOpen = true

        init(number: Int, network: AnswerNetwork?, hadNoPath: Bool) {
            self.number = number
            self.network = network
            self.hadNoPath = hadNoPath
        }
    }

    /// By what asks: a path, or (nil) the machine.
    var resolutions = ShortDictionary<RacePlanner.Scope, Resolution>()
    var questions = 0
    /// The paths that have asked whether their networks translate, and are not answered yet.
    var translationsOpen: Set<RacePlanner.Scope> = []
    var translationsAsked: Set<RacePlanner.Scope> = []

    typealias Job = @Sendable () async -> Void
    /// The caller's code, which takes its time: resolvers and confirmations. They are child tasks of `run`. Nil
    /// for a race that needs neither, and with that no task.
    nonisolated let jobs: (stream: AsyncStream<Job>, continuation: AsyncStream<Job>.Continuation)?
    private var completion: (@Sendable (Result) -> Void)?
    /// Hears why the race waits for a path; nil where nothing observes it.
    private let waiting: (@Sendable ([PathOmission]) -> Void)?

    /// An attempt that may still win.
    struct Running {
        let attempt: RaceAttempt
        var confirmation: Task<Void, Never>?
        /// What the confirmation made.
        var value: (any Sendable)?
    }

    init(
        _ request: ConnectRequest, _ snapshot: PathSnapshot, begun: MonotonicTime,
        confirmation: Confirmation? = nil
    ) {
        let (connector, configuration) = (request.connector, request.configuration)
        let (monitor, host, port) = (connector.monitor, request.host, request.port)
        self.request = request
        self.host = host
        waiting = request.waiting
        self.configuration = configuration
        self.monitor = monitor
        names = RaceNames(host, connector.resolver)
        history = connector.history
        thread = monitor.runtime.thread
        self.begun = begun
        suspicions = monitor.suspicions
        self.confirmation = confirmation
        destination = PathHistory.Destination(host: host, port: port)
        kernelSpeaksMPTCP = configuration.wantsMPTCP && StreamSocket.kernelSpeaksMPTCP
        planner = RacePlanner(
            port: port, configuration: configuration,
            protocols: Self.protocols(configuration.protocols, kernelSpeaksMPTCP),
            snapshot: snapshot, monitor: monitor, history: history)
        var race = RaceMachine.Configuration()
        race.timeout = configuration.connectTimeout
        race.attemptDelay = configuration.attemptDelay
        race.needsConfirmation = confirmation != nil
        machine = RaceMachine(configuration: race)
        jobs =
            confirmation == nil && connector.resolver == nil ? nil : AsyncStream.makeStream(of: Job.self)
    }

    /// What is attempted, the preferred one first. A kernel without MPTCP leaves plain TCP.
    private static func protocols(_ wanted: Set<TransportProtocol>, _ hasMPTCP: Bool) -> [TransportProtocol] {
        guard hasMPTCP else { return [.tcp] }
        return wanted.contains(.tcp) ? [.mptcp, .tcp] : [.mptcp]
    }

    // MARK: From any thread

    /// Runs the race to its end, once. A cancelled task ends it at once.
    nonisolated func run() async -> Result {
        await withTaskCancellationHandler {
            guard let jobs else {
                return await withCheckedContinuation { continuation in
                    start { continuation.resume(returning: $0) }
                }
            }
            start { _ in jobs.continuation.finish() }
            await withTaskGroup(of: Void.self) { group in
                for await job in jobs.stream { group.addTask { await job() } }
                group.cancelAll()
            }
            return await end()
        } onCancel: {
            submit { $0.cancel() }
        }
    }

    /// Starts the race, once: one that has no jobs, unless `run` does it.
    ///
    /// - Parameter completion: called at its end, on the event thread.
    nonisolated func start(_ completion: @escaping @Sendable (Result) -> Void) {
        submit { $0.begin(completion) }
    }

    // MARK: On the event thread

    private func begin(_ completion: @escaping @Sendable (Result) -> Void) {
        // Cancelled before it began.
        if let result { return completion(result) }
        self.completion = completion
        // While names are resolved, for one.
        if kernelSpeaksMPTCP { runtime.steering.begin() }
        machine.begin(at: begun)
        if let literal = IPAddress(host) {
            resolvedAt = begun
            planner.addresses[.none] = [literal.asDestination]
            plan()
        } else {
            resolve()
            // Where no path may ask there is nothing to wait for.
            if isResolved { plan() } else { setTimer() }
        }
        observe()
    }

    private func observe() {
        guard !isOver else { return }
        let paths = SnapshotListener { [self] snapshot in onEventThread { $0.pathsChanged(snapshot) } }
        monitor.channel.attach(paths)
        observations = (
            paths,
            suspicions.observe { [self] in submit { $0.perform($0.suspect(at: .now)) } }
        )
        // What changed before the race listened.
        if let latest = monitor.latestPath, latest.generation != planner.snapshot.generation {
            pathsChanged(latest)
        }
    }

    func cancel() { perform(machine.cancel(at: .now)) }

    /// A cancelled task leaves its jobs before the machine has heard of it.
    private func end() -> Result {
        cancel()
        return result ?? makeResult()
    }

    var isResolved: Bool { !resolutions.contains { $0.value.isOpen } }

    // MARK: The plan

    private func pathsChanged(_ snapshot: PathSnapshot) {
        guard !isOver else { return }
        planner.snapshot = snapshot
        forgetGoneNetworks()
        resolve()
        if !planner.addresses.isEmpty || isResolved { plan() }
        perform([])
    }

    func plan() {
        guard !isOver else { return }
        askForTranslations()
        let now = MonotonicTime.now
        let candidates = planner.candidates(awaiting: unansweredPaths(at: now), at: now)
        omissions = candidates.omissions
        var branches: [RaceMachine.Branch] = []
        branches.reserveCapacity(candidates.branches.count)
        for candidates in candidates.branches {
            guard let interface = candidates.first?.interface else { continue }
            branches.append(
                RaceMachine.Branch(
                    interface: interface, candidates: candidates,
                    attemptDelay: delay(of: interface, at: now)))
        }
        let waits = configuration.waitsForPath && branches.isEmpty
        let isComplete = isResolved && translationsOpen.isEmpty
        perform(
            machine.plan(
                branches, awaiting: candidates.awaited, isFinal: isComplete && !waits && !mayAskNext,
                at: now)
                + suspect(at: now))
        if waits, isComplete, !isWaiting, !isOver {
            isWaiting = true
            waiting?(omissions)
        } else if !waits {
            isWaiting = false
        }
    }

    /// The first delay counts: it is what the attempts that already run were given.
    private func delay(of interface: InterfaceIndex, at now: MonotonicTime) -> Duration {
        if let known = delays[interface] { return known }
        var delay = configuration.attemptDelay
        if let network = planner.paths.network(of: interface),
            let learnt = history.attemptDelay(network, destination, at: now)
        {
            delay = learnt
        }
        delays[interface] = delay
        return delay
    }

    /// Waits no longer for paths that connections have found silent.
    private func suspect(at now: MonotonicTime) -> [RaceMachine.Action] {
        machine.suspect(suspicions.suspects(in: planner.snapshot, at: now), at: now)
    }

    // MARK: Actions

    func perform(_ actions: [RaceMachine.Action]) {
        for action in actions {
            switch action {
            case .start(let id, let candidate): start(id, candidate)
            case .cancel(let id): end(id)
            case .confirm(let id): confirm(id)
            case .win(let id): win(id)
            case .fail(let failure): conclude(failure: failure)
            }
        }
        if !isOver, machine.hasNothingLeft, isResolved, mayAskNext { return askNextResolver() }
        setTimer()
    }

    private func win(_ id: RaceMachine.AttemptID) {
        guard let winner = running[id] else { return }
        running[id] = nil
        winner.attempt.unregister(from: thread)
        let candidate = machine.attempts[id].candidate
        history.record(
            machine.attempts, destination, over: planner.paths, hasChoice: planner.found.count > 1,
            delays: delays,
            at: .now)
        conclude(
            winner: Winner(
                attempt: winner.attempt, facts: facts(of: winner.attempt, candidate), value: winner.value))
    }

    func setTimer() {
        var next = isOver ? nil : machine.nextDeadline
        if !isOver {
            for (_, resolution) in resolutions {
                if let other = resolution.machine.nextDeadline { next = min(next ?? other, other) }
            }
        }
        // An earlier timer does no harm: it finds nothing to do, and sets the next.
        if let timer, let next, timer.deadline <= next { return }
        if let timer { thread.cancelTimer(timer.token) }
        timer = next.map { deadline in
            let token = thread.schedule(at: deadline) {
                self.onEventThread { runner in
                    runner.timer = nil
                    for (scope, resolution) in runner.resolutions
                    where runner.resolutions[scope] === resolution {
                        runner.perform(resolution.machine.timeReached(.now), scope)
                    }
                    runner.perform(runner.machine.timeReached(.now))
                }
            }
            return (token, deadline)
        }
    }

    private func conclude(winner: Winner? = nil, failure: RaceMachine.Failure? = nil) {
        guard !isOver else { return }
        let result = makeResult(winner: winner, failure: failure)
        self.result = result
        isOver = true
        if let observations {
            monitor.channel.detach(observations.paths)
            suspicions.endObservation(observations.suspicions)
        }
        // What listens keeps this.
        observations = nil
        completion?(result)
        completion = nil
    }

    private func makeResult(winner: Winner? = nil, failure: RaceMachine.Failure? = nil) -> Result {
        let now = MonotonicTime.now
        return Result(
            winner: winner, failure: failure,
            attempts: machine.attempts.map { AttemptReport($0, begun: begun, now: now) },
            omissions: omissions, addresses: planner.found, serviceRecords: names.records,
            refutedAnswers: winner.map { names.refuted(by: $0.facts.candidate.endpoint.address) }
                ?? names.refuted,
            snapshot: planner.snapshot,
            resolution: begun.duration(to: resolvedAt ?? now), duration: begun.duration(to: now))
    }
}
