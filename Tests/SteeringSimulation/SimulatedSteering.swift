import PathCore

/// Runs a `SteeringMachine` at one end of a simulation, as the library's `SteeringRunner` does at a real one:
/// the same calls in the same order.
final class SimulatedSteering {
    let end: SimulatedEnd
    private(set) var machine: SteeringMachine
    private var written: Int64?
    private var isAsleep = false
    private var timer: Int64?
    /// When it was last called long after it had asked for it.
    private(set) var lateAt: Int64?
    private static let lateness: Int64 = 20_000_000
    private let configuration: SteeringConfiguration

    init(
        _ end: SimulatedEnd, _ configuration: SteeringConfiguration, _ connection: ConnectionIdentity,
        at now: Int64
    ) {
        self.end = end
        self.configuration = configuration
        machine = SteeringMachine(configuration, connection, at: MonotonicTime(nanoseconds: now))
    }

    func begin(_ world: Simulation) {
        let snapshot = end == .client ? world.told : world.serverSnapshot
        perform(machine.begin(snapshot, at: time(world)), world)
        settle(world)
    }

    // MARK: What the user says

    func dataWasSent(_ world: Simulation) {
        guard configuration.hasHints else { return }
        if written == nil { written = world.now }
        dataMoves(world)
    }

    func dataMoves(_ world: Simulation) {
        guard configuration.hasHints, isAsleep else { return }
        isAsleep = false
        machine.dataMoves(at: time(world))
        settle(world)
    }

    func expectData(_ expects: Bool, _ world: Simulation) {
        machine.expectData(expects, at: time(world))
        settle(world)
    }

    // MARK: What the machine hears

    func ingest(_ snapshot: PathSnapshot, _ world: Simulation) {
        noteLateness(world)
        perform(machine.snapshot(snapshot, at: time(world)), world)
        settle(world)
    }

    func ingest(_ event: SubflowEvent, _ world: Simulation) {
        noteLateness(world)
        perform(machine.event(event, at: time(world)), world)
        settle(world)
    }

    func ingest(_ verdict: PathVerdict, _ world: Simulation) {
        noteLateness(world)
        machine.sharedVerdict(verdict, at: time(world))
        settle(world)
    }

    func probeAnswered(_ path: PathKey, after nanoseconds: Int64, _ world: Simulation) {
        noteLateness(world)
        perform(
            machine.probeAnswered(path, after: .nanoseconds(nanoseconds), at: time(world)), world)
        settle(world)
    }

    func timeReached(_ world: Simulation) {
        // A timer that was replaced by an earlier one.
        guard let timer, timer <= world.now else { return }
        world.wakeUps += 1
        noteLateness(world)
        self.timer = nil
        if !machine.agenda.needsSample(at: time(world)) { perform(machine.timeReached(time(world)), world) }
        settle(world)
    }

    private func noteLateness(_ world: Simulation) {
        guard let deadline = machine.nextDeadline else { return }
        if world.now - deadline.nanoseconds >= Self.lateness { lateAt = world.now }
    }

    private func takeDueSample(_ world: Simulation) {
        guard machine.agenda.needsSample(at: time(world)) else { return }
        let first = written
        written = nil
        let sample = world.sample(end)
        if first != nil, machine.agenda.mayGlance(at: time(world)), sample.connection?.outstanding == 0 {
            return machine.glance()
        }
        if let end = world.options.othersHearUntil, machine.agenda.seeksSignsOfLife {
            let sign = SignOfLife(at: min(time(world), end), answerTime: .milliseconds(80))
            for (path, _) in machine.probedPaths { machine.heardElsewhere(path, sign) }
        }
        perform(
            machine.sample(
                sample, written: first.map { MonotonicTime(nanoseconds: $0) }, at: time(world)),
            world)
    }

    private func perform(_ actions: [SteeringAction], _ world: Simulation) {
        var pending = actions
        var next = 0
        while next < pending.count {
            let action = pending[next]
            next += 1
            let place = world.steps.count
            world.steps.append(.init(time: world.now, end: end, action: action))
            if case .startProbe(let path, let interface, let remote) = action,
                !world.startProbe(path, at: interface, to: remote)
            {
                pending += machine.probeFailed(path, at: time(world))
            }
            if case .probeIdle = action { world.probeIdle(end) }
            if case .widenReceiveBuffer = action { world.widen(end) }
            guard case .perform(let order) = action, let failure = world.perform(order, at: end) else {
                continue
            }
            world.steps[place].failure = failure
            pending += machine.failed(order, failure, at: time(world))
        }
    }

    private func settle(_ world: Simulation) {
        for _ in 0..<4 where machine.agenda.needsSample(at: time(world)) { takeDueSample(world) }
        guard !machine.isOver else {
            timer = nil
            return
        }
        if machine.agenda.awaitsData {
            isAsleep = true
            if written != nil { dataMoves(world) }
        }
        guard let deadline = machine.nextDeadline else { return }
        if let timer, timer <= deadline.nanoseconds { return }
        var due = max(deadline.nanoseconds, world.now)
        let lag = world.options.timerLag.wholeNanoseconds
        if lag > 0 { due += Int64(world.random.share() * Double(lag)) }
        timer = due
        world.queue.add(.steering(end), at: due)
    }

    private func time(_ world: Simulation) -> MonotonicTime { MonotonicTime(nanoseconds: world.now) }
}
