import LinuxNet

/// Performs a race's actions on the event thread: sockets, timers and the name's resolution. What to do when
/// is `RaceMachine`'s alone.
actor RaceRunner {
    nonisolated let unownedExecutor = EventThread.shared.asUnownedSerialExecutor()

    /// How a race ended.
    struct Result: Sendable {
        var winner: Winner?
        var failure: RaceMachine.Failure?
        var attempts: [AttemptReport]
        var omissions: [CandidateList.Omission]
        var addresses: [IPAddress]
        var resolution: Duration
        var duration: Duration
    }

    /// The attempt that won. Its socket is taken once.
    struct Winner: Sendable {
        var candidate: Candidate
        var attempt: Attempt
        var transport: Transport
    }

    /// A running attempt's socket and registration; only the event thread and, after the race, the winner's
    /// taker touch it.
    final class Attempt: @unchecked Sendable {
        private var socket: StreamSocket?
        fileprivate var registration: EventThread.Token?

        fileprivate init(_ socket: consuming StreamSocket) { self.socket = consume socket }

        func take() -> StreamSocket? { socket.take() }

        fileprivate func with<Value>(_ body: (borrowing StreamSocket) -> Value) -> Value? {
            guard let socket = socket.take() else { return nil }
            let value = body(socket)
            self.socket = consume socket
            return value
        }
    }

    private let host: String
    private let port: UInt16
    private let configuration: ConnectionConfiguration
    private let snapshot: PathSnapshot
    private var machine: RaceMachine
    private var running: [RaceMachine.AttemptID: Attempt] = [:]
    private var timer: EventThread.Token?
    private var finish: CheckedContinuation<Result, Never>?
    private var begun = MonotonicTime.zero
    private var resolved: (addresses: [IPAddress], at: MonotonicTime)?
    private var omissions: [CandidateList.Omission] = []
    private var kernelSpeaksMPTCP = true
    /// How often the kernel had left MP_CAPABLE out of a SYN before this race.
    private var withheldBefore: UInt64 = 0

    init(host: String, port: UInt16, configuration: ConnectionConfiguration, snapshot: PathSnapshot) {
        self.host = host
        self.port = port
        self.configuration = configuration
        self.snapshot = snapshot
        machine = RaceMachine(configuration: configuration.race)
    }

    /// Runs the race to its end, once. A cancelled task ends it at once.
    func run() async -> Result {
        begun = .now
        machine.begin(at: begun)
        return await withTaskGroup(of: Void.self) { group in
            group.addTask { await self.resolve() }
            let result = await withTaskCancellationHandler {
                await withCheckedContinuation { continuation in
                    finish = continuation
                    perform([])
                    if Task.isCancelled { perform(machine.cancel(at: .now)) }
                }
            } onCancel: {
                EventThread.shared.submit {
                    self.assumeIsolated { $0.perform($0.machine.cancel(at: .now)) }
                }
            }
            group.cancelAll()
            return result
        }
    }

    // MARK: Inputs

    private func resolve() async {
        do throws(RaceMachine.ResolutionFailure) {
            let addresses = try await SystemResolver.addresses(of: host).map(\.asDestination)
            let now = MonotonicTime.now
            resolved = (addresses, now)
            let candidates = candidates(for: addresses)
            omissions = candidates.omissions
            let branches = candidates.branches.compactMap { branch in
                branch.first.map {
                    RaceMachine.Branch(
                        interface: $0.interface, candidates: branch,
                        attemptDelay: configuration.race.attemptDelay)
                }
            }
            perform(machine.plan(branches, isFinal: true, at: now))
        } catch {
            perform(machine.resolutionFailed(error, at: .now))
        }
    }

    private func candidates(for addresses: [IPAddress]) -> CandidateList {
        let wantsMPTCP = configuration.usesMPTCP && configuration.mode != .disabled
        kernelSpeaksMPTCP = wantsMPTCP && StreamSocket.kernelSpeaksMPTCP
        withheldBefore = kernelSpeaksMPTCP ? MPTCPCounters.withheldOptions() : 0
        let tables: RouteTables?
        let failure: String
        do throws(SystemError) {
            tables = try RouteTables()
            failure = ""
        } catch {
            tables = nil
            failure = "\(error)"
        }
        return CandidateList(
            snapshot: snapshot, policy: configuration.policy, addresses: addresses, port: port,
            protocols: kernelSpeaksMPTCP ? [.mptcp, .tcp] : [.tcp]
        ) { address, interface in
            do throws(SystemError) {
                return try tables?.route(to: address, through: interface) ?? .unreachable(failure)
            } catch {
                return .unreachable(error.words)
            }
        }
    }

    private func attemptIsReady(_ id: RaceMachine.AttemptID) {
        guard let attempt = running[id] else { return }
        if let error = attempt.with({ $0.takeError() }) ?? nil {
            end(id)
            perform(machine.failed(id, reason: error.words, at: .now))
        } else {
            perform(machine.connected(id, at: .now))
        }
    }

    // MARK: Actions

    private func perform(_ actions: [RaceMachine.Action]) {
        for action in actions {
            switch action {
            case .start(let id, let candidate): start(id, candidate)
            case .cancel(let id): end(id)
            case .confirm: break
            case .win(let id): win(id)
            case .fail(let failure): conclude(failure: failure)
            }
        }
        setTimer()
    }

    private func start(_ id: RaceMachine.AttemptID, _ candidate: Candidate) {
        do throws(SystemError) {
            let socket = try StreamSocket(candidate.endpoint.address.family, candidate.transport)
            try socket.bind(toInterface: candidate.interface)
            let isConnected = try socket.connect(to: candidate.endpoint)
            let number = socket.descriptor.number
            let attempt = Attempt(socket)
            running[id] = attempt
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

    /// Closes an attempt's socket.
    private func end(_ id: RaceMachine.AttemptID) {
        guard let attempt = running.removeValue(forKey: id) else { return }
        unregister(attempt)
        _ = attempt.take()
    }

    private func unregister(_ attempt: Attempt) {
        if let registration = attempt.registration { EventThread.shared.remove(registration) }
        attempt.registration = nil
    }

    private func win(_ id: RaceMachine.AttemptID) {
        guard let attempt = running.removeValue(forKey: id) else { return }
        unregister(attempt)
        let candidate = machine.attempts[id].candidate
        let isMPTCP = attempt.with { TransportSample.isMPTCP($0.descriptor.number) } ?? false
        let transport: Transport = isMPTCP ? .mptcp : .tcp(fallback: fallbackReason(of: candidate))
        conclude(winner: Winner(candidate: candidate, attempt: attempt, transport: transport))
    }

    private func fallbackReason(of winner: Candidate) -> FallbackReason {
        if winner.transport == .mptcp {
            return MPTCPCounters.withheldOptions() > withheldBefore ? .blackholeMemory : .peer
        }
        if !configuration.usesMPTCP || configuration.mode == .disabled { return .disabled }
        // A plain attempt takes part only beside its MPTCP twin, unless the kernel has none.
        return kernelSpeaksMPTCP ? .middlebox : .kernel
    }

    private func setTimer() {
        if let timer { EventThread.shared.cancelTimer(timer) }
        timer = machine.nextDeadline.map { deadline in
            EventThread.shared.schedule(at: deadline) {
                self.assumeIsolated { runner in
                    runner.timer = nil
                    runner.perform(runner.machine.timeReached(.now))
                }
            }
        }
    }

    private func conclude(winner: Winner? = nil, failure: RaceMachine.Failure? = nil) {
        let now = MonotonicTime.now
        finish?.resume(
            returning: Result(
                winner: winner, failure: failure,
                attempts: machine.attempts.map { AttemptReport($0, begun: begun, now: now) },
                omissions: omissions, addresses: resolved?.addresses ?? [],
                resolution: begun.duration(to: resolved?.at ?? now), duration: begun.duration(to: now)))
        finish = nil
    }
}
