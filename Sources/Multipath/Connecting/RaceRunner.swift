import LinuxNet

/// Performs a race's actions on the event thread: sockets, timers, name resolution and the paths' changes.
/// What to do when is decided by `RaceMachine` and `ResolutionMachine` alone.
actor RaceRunner {
    nonisolated let unownedExecutor = EventThread.shared.asUnownedSerialExecutor()

    /// How a race ended.
    struct Result: Sendable {
        var winner: Winner?
        var failure: RaceMachine.Failure?
        var attempts: [AttemptReport]
        var omissions: [CandidateList.Omission]
        var addresses: [IPAddress]
        /// The paths as they were at the end.
        var snapshot: PathSnapshot
        var resolution: Duration
        var duration: Duration
    }

    /// The attempt that won. Its socket is taken once.
    struct Winner: Sendable {
        var candidate: Candidate
        var attempt: RaceAttempt
        var transport: Transport
        /// What the confirmation made, where there was one.
        var value: (any Sendable)?
    }

    /// What makes a complete handshake usable, such as TLS.
    struct Confirmation: Sendable {
        /// Takes the attempt's socket over. Cancelled when another attempt has won.
        var run: @Sendable (RaceAttempt, Candidate, Transport) async throws -> any Sendable
        /// Closes what `run` made for an attempt that lost in the end.
        var discard: @Sendable (any Sendable) -> Void
    }

    private let host: String
    private let configuration: ConnectionConfiguration
    private let resolver: any Resolver
    private let history: ConnectionHistory
    private let destination: PathHistory.Destination
    private let updates: PathChannel
    private let suspicions: SuspicionBoard
    private let confirmation: Confirmation?
    private var planner: RacePlanner
    private var machine: RaceMachine
    private var running: [RaceMachine.AttemptID: RaceAttempt] = [:]
    private var confirmations: [RaceMachine.AttemptID: Task<Void, Never>] = [:]
    private var values: [RaceMachine.AttemptID: any Sendable] = [:]
    private var delays: [InterfaceIndex: Duration] = [:]
    private var timer: (token: EventThread.Token, deadline: MonotonicTime)?
    private var result: Result?
    /// When the connection was asked for.
    private let begun: MonotonicTime
    private var resolvedAt: MonotonicTime?
    private var omissions: [CandidateList.Omission] = []
    private var kernelSpeaksMPTCP = true
    private var isWaiting = false

    /// A name's resolution by one who asks.
    private struct Resolution {
        var machine: ResolutionMachine
        /// Answers to a question that no longer counts are told by it.
        var number: Int
        var network: Network?
        /// Asked while no path was allowed, so that a failure says nothing.
        var hadNoPath: Bool
        var isOpen = true
    }

    /// What an answer depends on: another network, or other servers, may answer otherwise.
    private struct Network: Equatable {
        var network: PathHistory.Network
        var servers: [IPAddress]
    }

    // By who asks: a path, or (nil) the machine.
    private var resolutions: [RacePlanner.Scope: Resolution] = [:]
    private var questions = 0
    /// Who has asked whether its network translates, and is not answered yet.
    private var translationsOpen: Set<RacePlanner.Scope> = []
    private var translationsAsked: Set<RacePlanner.Scope> = []

    /// What has to wait somewhere else: lookups and confirmations. They are child tasks of `run`.
    private let jobs: AsyncStream<@Sendable () async -> Void>
    private let addJob: AsyncStream<@Sendable () async -> Void>.Continuation

    init(
        host: String, port: UInt16, configuration: ConnectionConfiguration, snapshot: PathSnapshot,
        resolver: any Resolver, history: ConnectionHistory, updates: PathChannel,
        suspicions: SuspicionBoard, begun: MonotonicTime, confirmation: Confirmation? = nil
    ) {
        self.host = host
        self.configuration = configuration
        self.resolver = resolver
        self.history = history
        self.updates = updates
        self.begun = begun
        self.suspicions = suspicions
        self.confirmation = confirmation
        destination = PathHistory.Destination(host: host, port: port)
        let wantsMPTCP = configuration.usesMPTCP && configuration.mode != .disabled
        kernelSpeaksMPTCP = wantsMPTCP && StreamSocket.kernelSpeaksMPTCP
        planner = RacePlanner(
            port: port, configuration: configuration, protocols: kernelSpeaksMPTCP ? [.mptcp, .tcp] : [.tcp],
            snapshot: snapshot)
        var race = configuration.race
        race.needsConfirmation = confirmation != nil
        machine = RaceMachine(configuration: race)
        (jobs, addJob) = AsyncStream.makeStream(of: (@Sendable () async -> Void).self)
    }

    /// Runs the race to its end, once. A cancelled task ends it at once.
    func run() async -> Result {
        begin()
        let observation = updates.observe { [weak self] snapshot in
            guard let self else { return }
            EventThread.shared.submit { self.assumeIsolated { $0.pathsChanged(snapshot) } }
        }
        let doubts = suspicions.observe { [weak self] in
            guard let self else { return }
            EventThread.shared.submit { self.assumeIsolated { $0.perform($0.suspect(at: .now)) } }
        }
        defer {
            updates.endObservation(observation)
            suspicions.endObservation(doubts)
        }
        // What changed before anybody observed.
        if let latest = updates.latest, latest.generation != planner.snapshot.generation {
            pathsChanged(latest)
        }
        await withTaskCancellationHandler {
            await withTaskGroup(of: Void.self) { group in
                for await job in jobs { group.addTask { await job() } }
                group.cancelAll()
            }
        } onCancel: {
            EventThread.shared.submit { self.assumeIsolated { $0.perform($0.machine.cancel(at: .now)) } }
        }
        // A cancelled task leaves the loop before the machine has heard of it.
        perform(machine.cancel(at: .now))
        return result ?? makeResult()
    }

    private func begin() {
        machine.begin(at: begun)
        if let literal = IPAddress(host) {
            resolvedAt = begun
            planner.addresses[.none] = [literal.asDestination]
            plan()
        } else {
            resolve()
            // Where nobody may ask there is nothing to wait for.
            if isResolved { plan() }
        }
        perform([])
    }

    private var isResolved: Bool { !resolutions.values.contains { $0.isOpen } }

    // MARK: Resolution

    /// Asks for the name: every path that may for itself, or the system once for all. Who has asked does not ask
    /// again.
    private func resolve() {
        guard IPAddress(host) == nil else { return }
        if resolver.asksEachPath {
            for path in planner.askingPaths { ask(path.index, over: path) }
        } else if planner.mayAskTheSystem(for: host) {
            ask(nil, over: nil)
        }
    }

    private func ask(_ scope: RacePlanner.Scope, over path: PathInterface?) {
        guard resolutions[scope] == nil else { return }
        questions += 1
        let number = questions
        let families = IPAddress.Family.allCases
        var machine = ResolutionMachine()
        machine.begin(Set(families))
        resolutions[scope] = Resolution(
            machine: machine, number: number, network: path.map(network(of:)),
            hadNoPath: planner.allowedPaths.isEmpty)
        for family in families {
            addJob.yield { [host, resolver] in
                let answer: Swift.Result<[IPAddress], ResolutionError>
                do throws(ResolutionError) {
                    answer = .success(try await resolver.addresses(of: host, family: family, over: path))
                } catch {
                    answer = .failure(error)
                }
                await self.answered(scope, number, family, answer)
            }
        }
    }

    private func answered(
        _ scope: RacePlanner.Scope, _ number: Int, _ family: IPAddress.Family,
        _ answer: Swift.Result<[IPAddress], ResolutionError>
    ) {
        guard resolutions[scope]?.number == number else { return }
        let now = MonotonicTime.now
        let action: ResolutionMachine.Action? =
            switch answer {
            case .success(let addresses):
                resolutions[scope]?.machine.answered(family, addresses.map(\.asDestination), at: now)
            case .failure(let error):
                resolutions[scope]?.machine.failed(family, reason: error.reason, at: now)
            }
        take(action, scope)
        perform([])
    }

    private func take(_ action: ResolutionMachine.Action?, _ scope: RacePlanner.Scope) {
        switch action {
        case .use(let addresses, let isFinal):
            resolvedAt = resolvedAt ?? .now
            planner.addresses[scope] = IPAddress.Family.allCases.reversed().flatMap { addresses[$0] ?? [] }
            resolutions[scope]?.isOpen = !isFinal
            plan()
        case .fail(let error):
            resolutions[scope]?.isOpen = false
            resolutionFailed(error, scope)
        case nil: break
        }
    }

    private func resolutionFailed(_ error: ResolutionError, _ scope: RacePlanner.Scope) {
        if !planner.addresses.isEmpty { return plan() }
        if resolutions[scope]?.hadNoPath == true {
            // Without a path no resolver can answer: it is asked again as soon as there is one.
            if !planner.allowedPaths.isEmpty {
                resolutions[scope] = nil
                return resolve()
            }
            if configuration.waitsForPath {
                resolutions[scope] = nil
                return plan()
            }
        }
        guard isResolved else { return }
        perform(machine.resolutionFailed(error, at: .now))
    }

    /// Forgets what was answered on networks that are gone.
    private func forgetGoneNetworks() {
        for (scope, resolution) in resolutions {
            guard let scope else { continue }
            let path = planner.askingPaths.first { $0.index == scope }
            guard path.map(network(of:)) != resolution.network else { continue }
            resolutions[scope] = nil
            planner.addresses[scope] = nil
            forgetTranslation(scope)
        }
        for scope in translationsAsked where planner.translations[scope] == nil { forgetTranslation(scope) }
    }

    private func forgetTranslation(_ scope: RacePlanner.Scope) {
        planner.translations[scope] = nil
        translationsAsked.remove(scope)
        translationsOpen.remove(scope)
    }

    private func network(of path: PathInterface) -> Network {
        Network(network: PathHistory.Network(path), servers: path.nameServers)
    }

    /// Where a path has IPv6 only and the destination IPv4 only, asks whether its network translates. The
    /// system's resolver can't say for which path its answer holds: it is asked where there is only one.
    private func askForTranslations() {
        guard planner.snapshot.interfaces.contains(where: planner.needsTranslation) else { return }
        let needy = planner.allowedPaths.filter(planner.needsTranslation)
        guard resolver.asksEachPath || needy.count == 1 else { return }
        for path in needy where translationsAsked.insert(path.index).inserted {
            translationsOpen.insert(path.index)
            addJob.yield { [resolver] in
                let answer = try? await resolver.addresses(
                    of: NAT64Prefix.discoveryName, family: .ipv6, over: resolver.asksEachPath ? path : nil)
                await self.translationFound(path.index, NAT64Prefix(discoveredIn: answer ?? []))
            }
        }
    }

    private func translationFound(_ scope: RacePlanner.Scope, _ prefix: NAT64Prefix?) {
        guard translationsOpen.remove(scope) != nil else { return }
        planner.translations[scope] = prefix
        plan()
        perform([])
    }

    // MARK: The plan

    private func pathsChanged(_ snapshot: PathSnapshot) {
        guard result == nil else { return }
        planner.snapshot = snapshot
        forgetGoneNetworks()
        resolve()
        if !planner.addresses.isEmpty || isResolved { plan() }
        perform([])
    }

    private func plan() {
        guard result == nil else { return }
        askForTranslations()
        let now = MonotonicTime.now
        let candidates = planner.candidates()
        omissions = candidates.omissions
        let branches = candidates.branches.compactMap { candidates -> RaceMachine.Branch? in
            guard let interface = candidates.first?.interface else { return nil }
            let known = planner.snapshot.path(interface).flatMap {
                history.attemptDelay($0, destination, at: now)
            }
            // The first delay counts: it is what the attempts that already run were given.
            let delay = delays[interface] ?? known ?? configuration.race.attemptDelay
            delays[interface] = delay
            return RaceMachine.Branch(interface: interface, candidates: candidates, attemptDelay: delay)
        }
        let waits = configuration.waitsForPath && branches.isEmpty
        let isComplete = isResolved && translationsOpen.isEmpty
        perform(machine.plan(branches, isFinal: isComplete && !waits, at: now) + suspect(at: now))
        if waits, isComplete, !isWaiting, result == nil {
            isWaiting = true
            configuration.whenWaiting?(omissions)
        } else if !waits {
            isWaiting = false
        }
    }

    /// Waits no longer for paths that connections have found silent.
    private func suspect(at now: MonotonicTime) -> [RaceMachine.Action] {
        machine.suspect(suspicions.suspects(in: planner.snapshot, at: now), at: now)
    }

    // MARK: Attempts

    private func attemptIsReady(_ id: RaceMachine.AttemptID) {
        guard let attempt = running[id] else { return }
        let (now, error) = (MonotonicTime.now, attempt.with { $0.takeError() } ?? nil)
        // A refusal is an answer too.
        if error?.isRefusal ?? true {
            suspicions.alive(machine.attempts[id].candidate.interface, since: now)
        }
        if let error {
            end(id)
            perform(machine.failed(id, reason: error.words, at: now))
        } else {
            perform(machine.connected(id, at: now))
        }
    }

    private func confirm(_ id: RaceMachine.AttemptID) {
        guard let confirmation, let attempt = running[id] else { return }
        attempt.unregister()
        let candidate = machine.attempts[id].candidate
        let transport = transport(of: attempt, candidate)
        // Here, on the event thread: a race that ends meanwhile finds nothing to close.
        guard let socket = attempt.take() else { return }
        let entrant = RaceAttempt(socket, attempt.level)
        let task = Task {
            do {
                let value = try await confirmation.run(entrant, candidate, transport)
                confirmed(id, value)
            } catch {
                confirmations[id] = nil
                end(id)
                perform(machine.failed(id, reason: "\(error)", at: .now))
            }
        }
        confirmations[id] = task
        addJob.yield {
            await withTaskCancellationHandler {
                await task.value
            } onCancel: {
                task.cancel()
            }
        }
    }

    private func confirmed(_ id: RaceMachine.AttemptID, _ value: any Sendable) {
        confirmations[id] = nil
        guard machine.attempts[id].outcome == .pending else {
            confirmation?.discard(value)
            return
        }
        values[id] = value
        perform(machine.confirmed(id, at: .now))
    }

    // MARK: Actions

    private func perform(_ actions: [RaceMachine.Action]) {
        for action in actions {
            switch action {
            case .start(let id, let candidate): start(id, candidate)
            case .cancel(let id): end(id)
            case .confirm(let id): confirm(id)
            case .win(let id): win(id)
            case .fail(let failure): conclude(failure: failure)
            }
        }
        setTimer()
    }

    private func start(_ id: RaceMachine.AttemptID, _ candidate: Candidate) {
        do throws(SystemError) {
            let attempt = try attempt(for: candidate)
            running[id] = attempt
            let (number, isConnected) = try attempt.connect(to: candidate)
            if isConnected {
                // Not from inside the machine's own list of actions.
                EventThread.shared.submit { self.assumeIsolated { $0.attemptIsReady(id) } }
                return
            }
            attempt.registration = try EventThread.shared.add(number, for: .writable) { _ in
                self.assumeIsolated { $0.attemptIsReady(id) }
            }
        } catch {
            end(id)
            let reason = error.words
            EventThread.shared.submit {
                self.assumeIsolated { $0.perform($0.machine.failed(id, reason: reason, at: .now)) }
            }
        }
    }

    private func attempt(for candidate: Candidate) throws(SystemError) -> RaceAttempt {
        let family = candidate.endpoint.address.family
        guard candidate.transport == .mptcp, configuration.mode != .disabled else {
            return RaceAttempt(
                try StreamSocket(family, candidate.transport), .observeOnly(because: .plainTCP))
        }
        let isMapped = family == .ipv4 && planner.mayNeedBothFamilies
        return try Supervisor.shared.assumeIsolated { $0.attempt(family, isMapped: isMapped) }.get()
    }

    /// Closes an attempt's socket, or what its confirmation has made of it.
    private func end(_ id: RaceMachine.AttemptID) {
        confirmations.removeValue(forKey: id)?.cancel()
        guard let attempt = running.removeValue(forKey: id) else { return }
        attempt.unregister()
        _ = attempt.take()
    }

    private func win(_ id: RaceMachine.AttemptID) {
        guard let attempt = running.removeValue(forKey: id) else { return }
        attempt.unregister()
        let candidate = machine.attempts[id].candidate
        history.record(
            machine.attempts, destination, in: planner.snapshot, delays: delays, at: .now)
        conclude(
            winner: Winner(
                candidate: candidate, attempt: attempt, transport: transport(of: attempt, candidate),
                value: values.removeValue(forKey: id)))
    }

    private func transport(of attempt: RaceAttempt, _ candidate: Candidate) -> Transport {
        if let known = attempt.transport { return known }
        let isMPTCP = attempt.with { TransportSample.isMPTCP($0.descriptor.number) } ?? false
        let transport: Transport = isMPTCP ? .mptcp : .tcp(fallback: fallbackReason(of: candidate))
        // Asked once: a confirmation takes the socket away.
        attempt.transport = transport
        return transport
    }

    private func fallbackReason(of winner: Candidate) -> FallbackReason {
        if winner.transport == .mptcp {
            return StreamSocket.kernelWithholdsMPTCP ? .blackholeMemory : .peer
        }
        if !configuration.usesMPTCP || configuration.mode == .disabled { return .disabled }
        // A plain attempt takes part only beside its MPTCP twin, unless the kernel has none.
        return kernelSpeaksMPTCP ? .middlebox : .kernel
    }

    private func setTimer() {
        var next = result == nil ? machine.nextDeadline : nil
        if result == nil {
            for resolution in resolutions.values {
                if let other = resolution.machine.nextDeadline { next = min(next ?? other, other) }
            }
        }
        if next == timer?.deadline { return }
        if let timer { EventThread.shared.cancelTimer(timer.token) }
        timer = next.map { deadline in
            let token = EventThread.shared.schedule(at: deadline) {
                self.assumeIsolated { runner in
                    runner.timer = nil
                    for scope in Array(runner.resolutions.keys) {
                        runner.take(runner.resolutions[scope]?.machine.timeReached(.now), scope)
                    }
                    runner.perform(runner.machine.timeReached(.now))
                }
            }
            return (token, deadline)
        }
    }

    private func conclude(winner: Winner? = nil, failure: RaceMachine.Failure? = nil) {
        guard result == nil else { return }
        result = makeResult(winner: winner, failure: failure)
        addJob.finish()
    }

    private func makeResult(winner: Winner? = nil, failure: RaceMachine.Failure? = nil) -> Result {
        let now = MonotonicTime.now
        return Result(
            winner: winner, failure: failure,
            attempts: machine.attempts.map { AttemptReport($0, begun: begun, now: now) },
            omissions: omissions, addresses: planner.found, snapshot: planner.snapshot,
            resolution: begun.duration(to: resolvedAt ?? now), duration: begun.duration(to: now))
    }
}
