import LinuxNet

/// What a `ViabilityRunner` needs of the connection's follower. All on the event thread.
protocol ViabilityHost: AnyObject {
    func tell(_ event: ConnectionEvent)
    /// Whether the connection is MPTCP now: it may have been, and have fallen back.
    var isMPTCP: Bool { get }
    /// Something was said to the machine that its host does not know of.
    func settle()
}

/// Runs one connection's `ViabilityMachine`: brings it snapshots, samples and the time, asks the peer where it wants
/// that, and tells the other connections of a path's silence. It lives on the event thread.
final class ViabilityRunner: @unchecked Sendable {
    private let facts: FollowedFacts
    private let subject: FollowedFacts.Viability
    private let remote: IPEndpoint
    private let monitor: PathMonitor
    private unowned let host: any ViabilityHost
    private var machine: ViabilityMachine?
    private(set) var agenda = ViabilityMachine.Agenda()
    private var index: InterfaceIndex = 0
    /// Made for the first probe.
    private var probes: TCPProbes?
    /// The last sample of bytes that arrived, and when it was taken.
    private var arrived: (acknowledged: UInt64, received: UInt64, at: MonotonicTime)?
    private var expectsData = false
    /// Whether samples are taken for what was sent.
    private var isActive = false

    /// - Returns: nil for a connection whose path is not judged.
    init?(_ facts: FollowedFacts, monitor: PathMonitor, host: any ViabilityHost) {
        guard let subject = facts.viability, let remote = facts.remote else { return nil }
        self.facts = facts
        self.subject = subject
        self.remote = remote
        self.monitor = monitor
        self.host = host
    }

    /// What is the case, for listeners that come late.
    var told: [ConnectionEvent] {
        var told: [ConnectionEvent] = []
        if let trouble = machine?.trouble { told.append(.viabilityChanged(isViable: false, reason: trouble)) }
        if let better = machine?.betterPath { told.append(.betterPathAvailable(better)) }
        return told
    }

    func ingest(_ snapshot: PathSnapshot) {
        if machine == nil {
            guard let own = facts.interface(in: snapshot) else { return }
            index = own.index
            var configuration = ViabilityMachine.Configuration()
            configuration.policy = subject.policy
            machine = ViabilityMachine(
                FollowedConnection(
                    interface: own.index, local: facts.local?.address, remote: remote.address,
                    families: subject.families, isTCP: !host.isMPTCP), configuration: configuration
            )
        }
        machine?.suspect(monitor.suspicions.suspects(in: snapshot, at: .now))
        perform(machine?.snapshot(snapshot, at: .now))
        expect(expectsData)
    }

    /// The connection was MPTCP, and is plain TCP from now on.
    func fellBack() {
        if let snapshot = monitor.latestPath {
            machine?.suspect(monitor.suspicions.suspects(in: snapshot, at: .now))
        }
        perform(machine?.fellBack(at: .now))
        expect(expectsData)
    }

    func dataWasSent() {
        guard agenda.awaitsData else { return }
        machine?.dataWasSent(at: .now)
        agenda = machine?.agenda ?? agenda
    }

    func expect(_ expectsData: Bool) {
        self.expectsData = expectsData
        perform(machine?.expectData(expectsData, at: .now))
    }

    func ingest(_ sample: SubflowSample, at now: MonotonicTime) {
        // Bytes that arrived at either end clear the path of what other connections suspect.
        if let arrived,
            (arrived.acknowledged, arrived.received) != (sample.acknowledged, sample.bytesReceived)
        {
            monitor.suspicions.alive(index, since: arrived.at)
        }
        arrived = (sample.acknowledged, sample.bytesReceived, now)
        perform(machine?.sample(sample, at: now))
    }

    func timeReached() {
        guard agenda.nextDeadline != nil else { return }
        if let snapshot = monitor.latestPath {
            machine?.suspect(monitor.suspicions.suspects(in: snapshot, at: .now))
        }
        perform(machine?.timeReached(.now))
    }

    /// Says whether samples are taken now.
    func noteActivity() {
        let isActive = agenda.watchesSending
        guard isActive != self.isActive else { return }
        self.isActive = isActive
        monitor.runtime.load.active += isActive ? 1 : -1
    }

    func end() {
        machine = nil
        agenda = ViabilityMachine.Agenda()
        noteActivity()
        probes?.endAll()
    }

    /// After each input.
    private func perform(_ actions: [ViabilityMachine.Action]?) {
        agenda = machine?.agenda ?? agenda
        for action in actions ?? [] {
            switch action {
            case .viability(let isViable, let trouble):
                if !isViable, let trouble, trouble.isSilence, let path = monitor.latestPath?.interface(index)
                {
                    monitor.suspicions.silent(path, at: .now)
                }
                host.tell(.viabilityChanged(isViable: isViable, reason: trouble))
            case .betterPath(let path): host.tell(.betterPathAvailable(path))
            case .probe:
                probe(over: index) { runner in runner.perform(runner.machine?.probeAnswered(at: .now)) }
            case .probeOther(let other): probeOther(other)
            }
        }
    }

    /// Of another path each connection to the host wants to know the same.
    private func probeOther(_ other: InterfaceIndex) {
        monitor.probes.start(to: remote, over: other) { [weak self] in
            guard let self, machine != nil else { return }
            monitor.suspicions.alive(other, since: .now)
            perform(machine?.answered(over: other, at: .now))
            host.settle()
        }
    }

    private func probe(
        over interface: InterfaceIndex, answered: @escaping @Sendable (ViabilityRunner) -> Void
    ) {
        let probes = probes ?? TCPProbes(monitor.runtime.thread)
        self.probes = probes
        probes.start(to: remote, over: interface) { [weak self] in
            guard let self else { return }
            monitor.suspicions.alive(interface, since: .now)
            answered(self)
            host.settle()
        }
    }
}
