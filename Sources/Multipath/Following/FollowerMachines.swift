import LinuxNet

/// What the event thread does for one connection: runs its machines and takes the samples they ask for, each once for
/// all. It is made when the connection begins to be followed, and ends with `end`.
final class FollowerMachines: PathListener, SteeringHost, ViabilityHost, GlancedConnection,
    @unchecked Sendable
{
    /// Weak: where the caller drops the follower without stopping it, this ends as well.
    private weak var follower: ConnectionFollower?
    private let monitor: PathMonitor
    private let facts: FollowedFacts
    private var viability: ViabilityRunner?
    private var steering: SteeringRunner?
    /// Which path carries the connection; nil before the first snapshot that knows its interface.
    private var carrier: CarrierMachine?
    /// The paths when the connection came about, until steering begins.
    private var firstSnapshot: PathSnapshot?
    /// How far the connection can be steered, until steering begins.
    private var assignment = SteeringRegistry.Assignment()
    private var listeners: [@Sendable (ConnectionEvent) -> Void] = []
    private var timer: (deadline: MonotonicTime, token: EventThread.Token)?
    /// Whether data moves that a glance is enough for, which is to come.
    private var awaitsGlance = false
    private var isEnded = false

    private var runtime: Runtime { monitor.runtime }
    var isMPTCP: Bool { follower?.isMPTCP == true }

    init(_ follower: ConnectionFollower, _ facts: FollowedFacts, _ monitor: PathMonitor) {
        self.follower = follower
        self.facts = facts
        self.monitor = monitor
    }

    /// - Parameter first: the paths when the connection came about.
    func begin(_ first: PathSnapshot?) {
        viability = ViabilityRunner(facts, monitor: monitor, host: self)
        firstSnapshot = first
        if let token = facts.token, facts.steering != nil {
            assignment = runtime.steering.assignment(
                of: token, facts.permissions, madeWith: facts.level)
            if let level = assignment.level { follower?.set(level) }
        }
        follower?.note(isSteered: assignment.control != nil)
        ingestListeners()
        monitor.lifetime.start()
        monitor.channel.attach(self)
        let latest = monitor.latestPath
        if let first { judgeCarrier(in: first) }
        if let latest, latest.generation != first?.generation { judgeCarrier(in: latest) }
        if let first { viability?.ingest(first) }
        if let latest, latest.generation != first?.generation { viability?.ingest(latest) }
        if let latest { steer(latest) }
        ingestExpectation()
    }

    func end() {
        guard !isEnded else { return }
        isEnded = true
        monitor.channel.detach(self)
        viability?.end()
        steering?.end()
        (viability, steering, carrier, listeners) = (nil, nil, nil, [])
        if let timer { runtime.thread.cancelTimer(timer.token) }
        timer = nil
    }

    // MARK: Inputs

    func ingest(_ snapshot: PathSnapshot) {
        guard !isEnded else { return }
        // First: steering tells next where the data goes.
        judgeCarrier(in: snapshot)
        viability?.ingest(snapshot)
        if let steering {
            steering.ingest(snapshot)
        } else {
            steer(snapshot)
        }
        settle()
    }

    private func judgeCarrier(in snapshot: PathSnapshot) {
        if carrier == nil { carrier = facts.makeCarrier(in: snapshot, isTCP: !isMPTCP) }
        carrier?.leavesByItself =
            assignment.control != nil && steering?.agenda.isOver != true && isMPTCP
        perform(carrier?.snapshot(snapshot))
    }

    /// Begins to steer, where there is control: without it there is nothing to decide.
    private func steer(_ snapshot: PathSnapshot) {
        guard let control = assignment.control, var configuration = facts.steering, let token = facts.token,
            let local = facts.local, let remote = facts.remote
        else { return }
        configuration.isAlone = assignment.isAlone
        let interface =
            facts.interface != 0 ? facts.interface : snapshot.interface(with: local.address)?.index ?? 0
        let steering = SteeringRunner(
            SteeringMachine(
                configuration,
                ConnectionIdentity(
                    token: token, local: local, remote: remote, interface: interface,
                    otherRemotes: facts.otherRemotes), at: .now),
            of: token, control: control, monitor: monitor, host: self)
        self.steering = steering
        steering.begin(firstSnapshot ?? snapshot, now: snapshot)
        if follower?.expectsData == true { steering.expect(true) }
        // Now it can hear what is known of its peer already.
        runtime.steering.add(steering, isAlone: assignment.isAlone)
        firstSnapshot = nil
    }

    /// The connection's user has written or read something.
    func dataMoves(wasSent: Bool) {
        // The glance that is to come finds it.
        guard !isEnded, !awaitsGlance else { return }
        if wasSent, runtime.load.isCrowded, let steering, let due = steering.dataMovesCalmly() {
            awaitsGlance = true
            steering.note(isActive: true)
            return runtime.glances.add(self, at: due)
        }
        if wasSent { viability?.dataWasSent() }
        steering?.dataMoves()
        settle()
    }

    func ingestExpectation() {
        guard !isEnded, let expectsData = follower?.expectsData else { return }
        viability?.expect(expectsData)
        steering?.expect(expectsData)
        settle()
    }

    /// Tells new listeners what is the case.
    func ingestListeners() {
        guard !isEnded, let new = follower?.takeNewListeners(), !new.isEmpty else { return }
        listeners += new
        var told = viability?.told ?? []
        if let refusal = carrier?.refusal { told.append(.pathNotAllowed(refusal)) }
        if let reason = follower?.toldFallback { told.insert(.fallback(reason), at: 0) }
        for event in told {
            for listener in new { listener(event) }
        }
    }

    private func timeReached() {
        timer = nil
        guard !isEnded else { return }
        // A sample looks at the time as well.
        if !takeDueSample() {
            viability?.timeReached()
            steering?.timeReached()
        }
        settle()
    }

    // MARK: Samples

    /// - Returns: whether one was due.
    private func takeDueSample() -> Bool {
        let now = MonotonicTime.now
        if let steering, steering.agenda.needsSample(at: now) {
            if !steering.takeDueSample() { end() }
            return true
        }
        guard let viability, viability.agenda.needsSample(at: now) else { return false }
        // Without a descriptor `end` is under way, but the timers come first: nothing more may be due.
        guard case .sample(let sample, _) = look(mayGlance: false), let subflow = sample.subflows.first else {
            end()
            return true
        }
        viability.ingest(subflow, at: now)
        viability.timeReached()
        return true
    }

    func glance() {
        guard !isEnded, awaitsGlance, let steering else { return }
        awaitsGlance = false
        let look = look(mayGlance: steering.mayGlance)
        guard steering.ingest(look) else { return end() }
        guard case .nothingWaits = look else { return settle() }
        steering.note(isActive: false)
        follower?.sleep()
    }

    func look(mayGlance: Bool) -> SteeringLook { follower?.look(mayGlance: mayGlance) ?? .closed }

    func book(_ naming: TransferMeter.Naming) { follower?.book(naming) }

    /// Says when this end may send no more without losing the other paths.
    func prepareToEndSending(_ body: @escaping @Sendable () -> Void) {
        guard !isEnded, let steering, !steering.agenda.isOver else { return body() }
        steering.prepareToEndSending(body)
    }

    func firstSubflowEnded() { follower?.firstSubflowEnded() }

    func connectionEnded() { follower?.connectionEnded() }

    /// What has fallen back to TCP can't leave its path, and is judged as every TCP connection.
    func fellBack(because reason: FallbackReason) {
        guard !isEnded else { return }
        tell(.fallback(reason))
        // It hears by the sample that steering is over, whichever look has found that.
        _ = steering?.ingest(.sample(TransportSample(kind: .tcp, subflows: []), written: nil))
        viability?.fellBack()
        carrier?.fellBack()
        if let latest = monitor.latestPath { judgeCarrier(in: latest) }
        // What steering's samples have seen of what was sent is not known here.
        viability?.dataWasSent()
        settle()
    }

    func set(_ level: ControlLevel) { follower?.set(level) }

    func withDescriptor(_ body: @escaping (CInt) -> Void) { follower?.withDescriptor(body) }

    func probeIdle() -> Bool {
        switch follower?.probeIdle() {
        case .sent?:
            _ = runtime.thread.schedule(at: .now.advanced(by: KeepaliveProbe.leaves)) { [weak follower] in
                follower?.endIdleProbe()
            }
            return true
        case .borrowed?: return true
        case .impossible?, nil: return false
        }
    }

    // MARK: Outputs

    func tell(_ event: SteeringEvent) {
        tell(.steering(event))
        switch event {
        case .moved(_, let path, _): perform(carrier?.moved(to: path))
        case .stranded: perform(carrier?.stranded())
        case .answered, .cleared: carrier?.recovered()
        default: break
        }
    }

    private func perform(_ actions: [CarrierMachine.Action]?) {
        for action in actions ?? [] {
            switch action {
            case .pathChanged(let path):
                follower?.note(carrier: path.index)
                tell(.pathChanged(path))
            case .notAllowed(let refusal): tell(.pathNotAllowed(refusal))
            case .close(let refusal): follower?.close(because: refusal)
            }
        }
    }

    func tell(_ event: ConnectionEvent) {
        follower?.tell(event)
        for listener in listeners { listener(event) }
    }

    /// Takes the samples that are due at once, and sets the timer for the rest.
    func settle() {
        if awaitsGlance, let steering, !steering.mayGlance {
            awaitsGlance = false
            steering.dataMoves()
        }
        for _ in 0..<4 where !isEnded { if !takeDueSample() { break } }
        guard !isEnded else { return }
        let agenda = steering.flatMap { $0.agenda.isOver ? nil : $0.agenda }
        steering?.note(isActive: awaitsGlance || agenda?.nextSample != nil)
        viability?.noteActivity()
        if !awaitsGlance, agenda?.awaitsData ?? viability?.agenda.awaitsData ?? false { follower?.sleep() }
        let deadlines = (agenda?.nextDeadline, viability?.agenda.nextDeadline)
        guard var deadline = deadlines.0.map({ min($0, deadlines.1 ?? $0) }) ?? deadlines.1 else {
            if let timer { runtime.thread.cancelTimer(timer.token) }
            timer = nil
            return
        }
        // Many are looked at together.
        if runtime.load.isCrowded { deadline = WakeList.round(deadline) }
        // An earlier timer does no harm: it finds nothing to do, and sets the next.
        if let timer, timer.deadline <= deadline { return }
        if let timer { runtime.thread.cancelTimer(timer.token) }
        timer = (
            // Ended with this: see `end`.
            deadline, runtime.thread.schedule(at: deadline) { [unowned self] in timeReached() }
        )
    }
}
