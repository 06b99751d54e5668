import LinuxNet

/// What a `SteeringRunner` needs of the connection's follower. All on the event thread.
protocol SteeringHost: AnyObject {
    /// Looks at the socket now.
    /// - Parameter mayGlance: whether it is enough to know that nothing waits for an acknowledgement.
    func look(mayGlance: Bool) -> SteeringLook
    /// Books what the subflows have carried so far.
    func book(_ naming: TransferMeter.Naming)
    /// Has the kernel send a keepalive probe on each subflow that is idle.
    /// - Returns: false where it sends none, by all that is known now.
    func probeIdle() -> Bool
    /// The subflow that the connection came about with has ended.
    func firstSubflowEnded()
    /// How far the connection can be steered has changed.
    func set(_ level: ControlLevel)
    /// Calls a closure with the connection's descriptor, where it is open; later where it has to be borrowed.
    func withDescriptor(_ body: @escaping (CInt) -> Void)
    func tell(_ event: SteeringEvent)
    /// The kernel has told of the connection's end.
    func connectionEnded()
    /// Something was said to the machine that its host does not know of.
    func settle()
}

/// What a look at the socket showed.
enum SteeringLook {
    /// Nothing that was written waits for an acknowledgement.
    case nothingWaits
    /// All the kernel counts, and when the first bytes were written that no sample before has seen.
    case sample(TransportSample, written: MonotonicTime?)
    case closed
}

/// Runs one connection's `SteeringMachine`: brings it snapshots, events, samples and the time, and performs what it
/// wants. It lives on the event thread.
final class SteeringRunner: SteeringMember, @unchecked Sendable {
    let token: ConnectionToken
    private var machine: SteeringMachine
    private let control: any SubflowControl
    private let monitor: PathMonitor
    /// Made for the first probe.
    private var probes: TCPProbes?
    private unowned let host: any SteeringHost
    /// Whether samples are taken now.
    private var isActive = false
    /// The paths that the machine suspects and probes: what others hear over them matters.
    private var sought: [(path: PathKey, way: PathToHost)] = []
    private var hasEnded = false
    /// Who waits to send no more until another path stands by.
    private var whenPrepared: [@Sendable () -> Void] = []

    init(
        _ machine: SteeringMachine, of token: ConnectionToken, control: any SubflowControl,
        monitor: PathMonitor, host: any SteeringHost
    ) {
        self.machine = machine
        self.token = token
        self.control = control
        self.monitor = monitor
        self.host = host
    }

    private var runtime: Runtime { monitor.runtime }

    var agenda: SteeringAgenda { machine.agenda }

    /// - Parameters:
    ///   - first: the paths when the connection came about.
    ///   - snapshot: the paths now. What was lost in between is lost to the connection.
    func begin(_ first: PathSnapshot, now snapshot: PathSnapshot) {
        perform(machine.begin(first, at: .now))
        if first.generation != snapshot.generation { ingest(snapshot) }
    }

    func ingest(_ snapshot: PathSnapshot) { perform(machine.snapshot(snapshot, at: .now)) }

    func ingest(_ verdict: PathVerdict) {
        machine.sharedVerdict(verdict, at: .now)
        host.settle()
    }

    func ingest(_ event: SubflowEvent) {
        perform(machine.event(event, at: .now))
        host.settle()
        if event == .closed(token) { host.connectionEnded() }
    }

    func ingest(_ outcome: Result<SubflowOutcome, SystemError>, of action: SubflowAction) {
        perform(conclusions(outcome, of: action))
        host.settle()
    }

    func ingest(_ limit: ControlLimit) { host.set(.observeOnly(because: limit)) }

    func withDescriptor(_ body: @escaping (CInt) -> Void) { host.withDescriptor(body) }

    /// Says when this end may send no more without losing the other paths: its kernel makes no subflow after that.
    func prepareToEndSending(_ body: @escaping @Sendable () -> Void) {
        whenPrepared.append(body)
        perform(machine.prepareToEnd(at: .now))
        host.settle()
    }

    private func endPreparation() {
        let waiting = whenPrepared
        whenPrepared = []
        if !waiting.isEmpty { machine.hasEndedSending() }
        for body in waiting { body() }
    }

    func dataMoves() { machine.dataMoves(at: .now) }

    func expect(_ expectsData: Bool) { machine.expectData(expectsData, at: .now) }

    /// Notes that data moves where a glance is enough to know of it.
    /// - Returns: when to take that (`glance`); nil where it is not enough (`dataMoves`).
    func dataMovesCalmly() -> MonotonicTime? {
        machine.dataMovesCalmly(pace: runtime.load.pace, at: .now)
    }

    /// Whether a glance is still enough.
    var mayGlance: Bool { machine.agenda.pauseBeforeGlance(at: .now) != nil }

    func timeReached() { perform(machine.timeReached(.now)) }

    /// - Returns: false where the connection is closed.
    func takeDueSample() -> Bool {
        let mayGlance = machine.agenda.mayGlance(at: .now)
        var look = host.look(mayGlance: mayGlance)
        if !machine.isReady, case .sample(let sample, _) = look, sample.connection?.acknowledged ?? 0 > 0 {
            // The kernel takes orders from now on. What it has said by now of the peer's wishes comes first (the C flag).
            runtime.steering.drainEvents()
            look = host.look(mayGlance: false)
        }
        return ingest(look)
    }

    /// - Returns: false where the connection is closed.
    func ingest(_ look: SteeringLook) -> Bool {
        switch look {
        case .nothingWaits: machine.glance()
        case .sample(let sample, let written):
            machine.pace = runtime.load.pace
            for (path, way) in sought {
                if let sign = runtime.steering.signs.latest(over: way, besides: token) {
                    machine.heardElsewhere(path, sign)
                }
            }
            let now = MonotonicTime.now
            perform(machine.sample(sample, written: written, at: now))
            if runtime.steering.signs.areSought {
                for (way, sign) in machine.news(at: now) {
                    runtime.steering.signs.note(sign, over: way, by: token)
                }
            }
        case .closed: return false
        }
        return true
    }

    /// Says whether samples are taken now.
    func note(isActive: Bool) {
        guard isActive != self.isActive else { return }
        self.isActive = isActive
        runtime.load.active += isActive ? 1 : -1
    }

    func end() {
        note(isActive: false)
        hasEnded = true
        seekSigns()
        endPreparation()
        probes?.endAll()
        runtime.steering.remove(self)
    }

    // MARK: Actions

    /// What the machine wants because an order failed comes after what it had wanted already.
    private func perform(_ actions: [SteeringAction]) {
        var pending = actions
        var next = 0
        while next < pending.count {
            defer { next += 1 }
            switch pending[next] {
            case .tell(let event): tell(event)
            case .perform(let action): pending += order(action)
            case .share(let verdict):
                // Not from inside the machine's own list of actions.
                runtime.thread.submit { [self] in runtime.steering.share(verdict, of: self) }
            case .probeIdle: if !host.probeIdle() { machine.idleProbeFailed() }
            case .firstSubflowEnded: host.firstSubflowEnded()
            case .widenReceiveBuffer: host.withDescriptor(ReceiveBuffer.widen)
            case .preparedToEnd: endPreparation()
            case .startProbe(let path, let interface, let remote):
                if !startProbe(of: path, over: interface, to: remote) {
                    pending += machine.probeFailed(path, at: .now)
                }
            }
        }
        // Nothing will be said any more.
        if machine.isOver { endPreparation() }
        seekSigns()
    }

    private func seekSigns() {
        let isSeeking = machine.agenda.seeksSignsOfLife && !hasEnded
        guard isSeeking || !sought.isEmpty else { return }
        let old = sought.map(\.way)
        sought = isSeeking ? machine.probedPaths : []
        runtime.steering.signs.seek(sought.map(\.way), insteadOf: old)
    }

    /// - Returns: whether it left this machine.
    private func startProbe(of path: PathKey, over interface: InterfaceIndex, to remote: IPEndpoint) -> Bool {
        let start = MonotonicTime.now
        let probes = probes ?? TCPProbes(runtime.thread)
        self.probes = probes
        return probes.start(to: remote, over: interface) { [weak self] in
            guard let self else { return }
            let now = MonotonicTime.now
            let time = start.duration(to: now)
            // It may have been the repeated one's, so how long that took says nothing.
            runtime.steering.signs.note(
                SignOfLife(at: now, answerTime: .zero), over: PathToHost(interface, remote.address), by: token
            )
            perform(machine.probeAnswered(path, after: time, at: now))
            host.settle()
        }
    }

    /// - Returns: what is to be done because it failed.
    private func order(_ action: SubflowAction) -> [SteeringAction] {
        // The kernel forgets a subflow's counters with it.
        switch action {
        case .destroy, .reset: host.book(.all)
        default: break
        }
        do throws(SystemError) {
            return conclusions(.success(try control.perform(action, on: token)), of: action)
        } catch {
            return conclusions(.failure(error), of: action)
        }
    }

    private func conclusions(
        _ outcome: Result<SubflowOutcome, SystemError>, of action: SubflowAction
    ) -> [SteeringAction] {
        do throws(SystemError) {
            switch try outcome.get() {
            case .accepted, .underWay: return []
            case .alreadyGone: return machine.failed(action, .alreadyGone, at: .now)
            case .refused(let limit): return machine.failed(action, .refused(limit), at: .now)
            }
        } catch {
            let failure: ActionFailure =
                SystemError.isNotConnected(error.errno) ? .notReady : .failed(error.errno)
            return machine.failed(action, failure, at: .now)
        }
    }

    private func tell(_ event: SteeringEvent) {
        switch event {
        // While its address is an interface's: at its end it may be none's any more.
        case .joined: host.book(.all)
        // What the path before carried is to be booked there.
        case .moved: host.book(.none)
        default: break
        }
        monitor.suspicions.ingest(event, in: monitor.latestPath)
        host.tell(event)
    }
}
