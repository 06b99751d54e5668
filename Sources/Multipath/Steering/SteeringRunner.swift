import LinuxNet
import Synchronization

/// Runs one connection's `SteeringMachine` on the event thread: events, samples, timers, orders.
///
/// What is not said to be for any thread is for the event thread alone.
final class SteeringRunner: DeferredStart, @unchecked Sendable {
    let token: ConnectionToken?
    let monitor: PathMonitor
    let meter: TransferMeter
    /// Somebody else made its socket.
    let isForeign: Bool
    /// Whether it may be steered by what goes for every connection of the network namespace.
    let maySteerAll: Bool
    /// Set by the supervisor, before anything else.
    var control: (any SubflowControl)?
    var isAlone = true
    var isAcceptor: Bool { configuration.isAcceptor }

    /// A second descriptor. `close` closes it from any thread; a sample holds the lock while it asks.
    private let descriptor: Locked<Descriptor?>
    /// The one that is under way. Under the lock of `descriptor`.
    private var probe: KeepaliveProbe?
    /// When the first bytes were written that no sample has seen, in nanoseconds; 0 for none.
    private let written = Atomic<Int64>(0)
    /// Whether nothing is looked at until data moves.
    private let isAsleep = Atomic(false)
    /// The paths when it began.
    private let firstSnapshot = Locked<PathSnapshot?>(nil)
    /// Nil after its end.
    private let observers = Locked<[@Sendable (SteeringEvent) -> Void]?>([])

    private let configuration: SteeringConfiguration
    private let interface: InterfaceIndex
    private let local: IPEndpoint?
    private let remote: IPEndpoint?
    private let otherRemotes: [IPEndpoint]
    private var steered: Steered?

    /// An object of its own, because a machine that is asked through an optional is copied whole, and that counts
    /// references by the dozen.
    private final class Steered {
        var machine: SteeringMachine
        init(_ machine: SteeringMachine) { self.machine = machine }
    }

    private var timer: (deadline: MonotonicTime, token: EventThread.Token)?
    private let probes = TCPProbes()
    private var isClosed = false
    /// Whether samples are taken now.
    private var isActive = false

    init(
        _ descriptor: CInt, _ configuration: SteeringConfiguration, isForeign: Bool,
        maySteerAll: Bool = false,
        interface: InterfaceIndex, otherRemotes: [IPEndpoint], meter: TransferMeter
    ) throws(SystemError) {
        self.descriptor = Locked(try Descriptor(duplicating: descriptor))
        self.configuration = configuration
        self.isForeign = isForeign
        self.maySteerAll = maySteerAll
        self.interface = interface
        self.otherRemotes = otherRemotes
        self.meter = meter
        monitor = meter.pathMonitor
        token = TransportSample.connection(descriptor)?.token
        local = SocketOption.localEndpoint(of: descriptor)?.unmapped
        remote = SocketOption.remoteEndpoint(of: descriptor)?.unmapped
    }

    // MARK: From any thread

    /// Whether it may begin a moment later: what is written then is known, and nobody waits to hear how far it can
    /// be steered.
    var mayWait: Bool { !isForeign && configuration.hasHints }

    /// It is followed from now on, or from when that is worth something.
    func begin() {
        // It may have been closed already.
        guard descriptor.withLock({ $0 != nil }) else { return }
        guard mayWait else {
            return EventThread.shared.submit { [self] in startFollowing() }
        }
        let latest = monitor.latestPath
        firstSnapshot.withLock { $0 = latest }
        DeferredStarts.shared.add(self)
        isAsleep.store(true, ordering: .relaxed)
        // Written while nobody was asleep: nobody was woken.
        if written.load(ordering: .relaxed) != 0 { dataMoves() }
    }

    func observe(_ body: @escaping @Sendable (SteeringEvent) -> Void) {
        observers.withLock { $0?.append(body) }
    }

    /// - Returns: whether nothing is left to do on the event thread.
    func stop() -> Bool {
        descriptor.withLock { descriptor in
            // Its owner may go on using the socket.
            if let number = descriptor?.number { endProbe(number) }
            descriptor = nil
        }
        guard DeferredStarts.shared.remove(self) else { return false }
        observers.withLock { $0 = nil }
        return true
    }

    func dataWasSent() {
        if written.load(ordering: .relaxed) == 0 {
            _ = written.compareExchange(
                expected: 0, desired: MonotonicTime.now.nanoseconds, ordering: .relaxed)
        }
        dataMoves()
    }

    func dataMoves() {
        guard isAsleep.load(ordering: .relaxed), isAsleep.exchange(false, ordering: .relaxed) else { return }
        SteeringRegistry.wakeList.add(self)
    }

    // MARK: On the event thread

    func startFollowing() {
        isAsleep.store(false, ordering: .relaxed)
        SteeringRegistry.shared.assumeIsolated { $0.add(self) }
    }

    /// What moved made it look again.
    func wake() {
        // Who is steered is no start any more: those many wake-ups take no lock that all share.
        if steered == nil, DeferredStarts.shared.remove(self) { return startFollowing() }
        steered?.machine.dataMoves(at: .now)
        settle()
    }

    func end() {
        isClosed = true
        note(isActive: false)
        observers.withLock { $0 = nil }
        steered = nil
        probes.endAll()
        if let timer { EventThread.shared.cancelTimer(timer.token) }
        timer = nil
    }

    func take(_ snapshot: PathSnapshot) {
        // Without control there is nothing to decide.
        guard !isClosed, control != nil, let token, let local, let remote else { return }
        if let steered {
            perform(steered.machine.snapshot(snapshot, at: .now))
        } else {
            let first =
                interface != 0 ? interface : snapshot.interface(with: local.address)?.index ?? 0
            var configuration = configuration
            configuration.isAlone = isAlone
            var machine = SteeringMachine(
                configuration,
                SteeredConnection(
                    token: token, local: local, remote: remote, interface: first,
                    otherRemotes: otherRemotes), at: .now)
            // What was lost since it began is lost to it.
            let before = firstSnapshot.withLock { $0 } ?? snapshot
            var actions = machine.begin(before, at: .now)
            if before.generation != snapshot.generation { actions += machine.snapshot(snapshot, at: .now) }
            steered = Steered(machine)
            perform(actions)
        }
        settle()
    }

    func take(_ verdict: PathVerdict) {
        steered?.machine.sharedVerdict(verdict, at: .now)
        settle()
    }

    func take(_ event: SubflowEvent) {
        perform(steered?.machine.event(event, at: .now))
        settle()
    }

    private func timeReached() {
        timer = nil
        // A sample looks at the time as well.
        if steered?.machine.agenda.needsSample(at: .now) != true {
            perform(steered?.machine.timeReached(.now))
        }
        settle()
    }

    private func takeDueSample() {
        guard let agenda = steered?.machine.agenda else { return }
        // First: what is written after the sample is to be told again.
        let first = written.exchange(0, ordering: .relaxed)
        let look = descriptor.withLock { descriptor -> Look? in
            guard let number = descriptor?.number else { return nil }
            if first != 0, agenda.mayGlance(at: .now), TransportSample.isAllAcknowledged(number) {
                return .nothingWaits
            }
            guard var sample = TransportSample.read(number) else { return nil }
            // Only a doubt has to know it, and where there was none lately there is none soon.
            if !agenda.mayGlance(at: .now) {
                sample.connection?.peerHasEnded = TransportSample.peerHasEnded(number)
            }
            return .sample(sample)
        }
        switch look {
        case .nothingWaits: steered?.machine.glance()
        case .sample(let sample):
            steered?.machine.pace = SteeringRegistry.shared.assumeIsolated { $0.pace }
            perform(
                steered?.machine.sample(
                    sample, written: first == 0 ? nil : MonotonicTime(nanoseconds: first), at: .now))
        case nil: end()
        }
    }

    private enum Look {
        case nothingWaits
        case sample(TransportSample)
    }

    /// What the machine wants because an order failed comes after what it had wanted already.
    private func perform(_ actions: [SteeringAction]?) {
        var pending = actions ?? []
        var next = 0
        while next < pending.count {
            defer { next += 1 }
            switch pending[next] {
            case .tell(let event): tell(event)
            case .perform(let action): pending += order(action)
            case .share(let verdict):
                // Not from inside the machine's own list of actions.
                EventThread.shared.submit { [self] in
                    SteeringRegistry.shared.assumeIsolated { $0.share(verdict, of: self) }
                }
            case .probeIdle: probeIdle()
            case .startProbe(let path, let interface, let remote):
                probes.start(to: remote, over: interface) { [weak self] in
                    self?.perform(self?.steered?.machine.probeAnswered(path, at: .now))
                    self?.settle()
                }
            }
        }
    }

    /// - Returns: what is to be done because it failed.
    private func order(_ action: SubflowAction) -> [SteeringAction] {
        guard let control, let token else { return [] }
        // The kernel forgets a subflow's counters with it.
        if case .destroy = action { meter.sample() }
        do throws(SystemError) {
            switch try control.perform(action, on: token) {
            case .accepted: return []
            case .alreadyGone: return steered?.machine.failed(action, .alreadyGone, at: .now) ?? []
            case .refused(let limit):
                return steered?.machine.failed(action, .refused(limit), at: .now) ?? []
            }
        } catch {
            let failure: ActionFailure =
                SystemError.isNotConnected(error.errno) ? .notReady : .failed(error.errno)
            return steered?.machine.failed(action, failure, at: .now) ?? []
        }
    }

    private func probeIdle() {
        let isSent = descriptor.withLock { descriptor -> Bool in
            // The one before has changed the settings that this one would take for the user's.
            guard let number = descriptor?.number, probe == nil else { return false }
            probe = KeepaliveProbe(number)
            return probe != nil
        }
        guard isSent else { return }
        _ = EventThread.shared.schedule(at: .now.advanced(by: KeepaliveProbe.leaves)) { [self] in
            descriptor.withLock { descriptor in
                if let number = descriptor?.number { endProbe(number) }
            }
        }
    }

    private func endProbe(_ number: CInt) {
        probe?.restore(number)
        probe = nil
    }

    private func tell(_ event: SteeringEvent) {
        switch event {
        // While its address is an interface's: at its end it may be nobody's any more.
        case .joined: meter.sample()
        // What the path before carried is to be booked there.
        case .moved: meter.sampleKnown()
        default: break
        }
        meter.note(event)
        monitor.suspicions.take(event, in: monitor.latestPath)
        for observer in observers.withLock({ $0 ?? [] }) { observer(event) }
    }

    private func note(isActive: Bool) {
        guard isActive != self.isActive else { return }
        self.isActive = isActive
        SteeringRegistry.shared.assumeIsolated { $0.active += isActive ? 1 : -1 }
    }

    /// Takes the samples that are due at once, and sets the timer for the rest.
    private func settle() {
        for _ in 0..<4 where steered?.machine.agenda.needsSample(at: .now) == true { takeDueSample() }
        guard let agenda = steered?.machine.agenda, !agenda.isOver else {
            note(isActive: false)
            if let timer { EventThread.shared.cancelTimer(timer.token) }
            timer = nil
            return
        }
        note(isActive: agenda.nextSample != nil)
        if agenda.awaitsData {
            isAsleep.store(true, ordering: .relaxed)
            // Written while nobody was asleep: nobody was woken.
            if written.load(ordering: .relaxed) != 0 { dataMoves() }
        }
        guard var deadline = agenda.nextDeadline else { return }
        // Many are looked at together.
        if SteeringRegistry.shared.assumeIsolated({ $0.isCrowded }) { deadline = WakeList.round(deadline) }
        // An earlier timer does no harm: it finds nothing to do, and sets the next.
        if let timer, timer.deadline <= deadline { return }
        if let timer { EventThread.shared.cancelTimer(timer.token) }
        timer = (
            deadline,
            EventThread.shared.schedule(at: deadline) { [weak self] in self?.timeReached() }
        )
    }
}
