import LinuxNet

/// Runs one connection's `ViabilityMachine`: brings it snapshots, samples and the time, asks the peer where it wants
/// that, and tells the other connections of a path's silence. It lives on the event thread.
final class ViabilityRunner: @unchecked Sendable {
    /// What it takes to judge a connection's path.
    struct Subject: Sendable {
        /// The interface the connection is bound to; found by its local address where this is nil.
        var interface: String?
        var local: IPEndpoint?
        var remote: IPEndpoint
        /// In which the destination has addresses.
        var families: Set<IPAddress.Family>
        var isMPTCP: Bool
        /// Which paths the connection may use.
        var policy: PathPolicy
    }

    private let subject: Subject
    private let monitor: PathMonitor
    private let tell: (ConnectionEvent) -> Void
    /// Something was said to the machine that its owner does not know of.
    private let settle: () -> Void
    private var machine: ViabilityMachine?
    private var index: InterfaceIndex = 0
    private let probes: TCPProbes
    /// The last sample of bytes that arrived, and when it was taken.
    private var arrived: (acknowledged: UInt64, received: UInt64, at: MonotonicTime)?
    private var expectsData = false
    /// Whether samples are taken for what was sent.
    private var isActive = false

    init(
        _ subject: Subject, monitor: PathMonitor, tell: @escaping (ConnectionEvent) -> Void,
        settle: @escaping () -> Void
    ) {
        self.subject = subject
        self.monitor = monitor
        self.tell = tell
        self.settle = settle
        probes = TCPProbes(monitor.runtime.thread)
    }

    /// When to look again; nil for not before something happens.
    var nextDeadline: MonotonicTime? { machine?.nextDeadline }

    /// Whether `dataWasSent` is worth saying.
    var awaitsData: Bool { machine?.awaitsData ?? false }

    func needsSample(at now: MonotonicTime) -> Bool { machine?.needsSample(at: now) ?? false }

    /// What is the case, for listeners that come late.
    var told: [ConnectionEvent] {
        var told: [ConnectionEvent] = []
        if let trouble = machine?.trouble { told.append(.viabilityChanged(isViable: false, reason: trouble)) }
        if let better = machine?.betterPath { told.append(.betterPathAvailable(better)) }
        return told
    }

    func ingest(_ snapshot: PathSnapshot) {
        if machine == nil {
            let own =
                subject.interface.map { snapshot.interface(named: $0) }
                ?? subject.local.flatMap { snapshot.interface(with: $0.address) }
            guard let own else { return }
            index = own.index
            var configuration = ViabilityMachine.Configuration()
            configuration.policy = subject.policy
            machine = ViabilityMachine(
                FollowedConnection(
                    interface: own.index, local: subject.local?.address, remote: subject.remote.address,
                    families: subject.families, isTCP: !subject.isMPTCP), configuration: configuration)
        }
        perform(machine?.snapshot(snapshot, at: .now))
        expect(expectsData)
    }

    func dataWasSent() { machine?.dataWasSent(at: .now) }

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

    func timeReached() { perform(machine?.timeReached(.now)) }

    /// Says whether samples are taken now.
    func noteActivity() {
        let isActive = machine?.watchesSending ?? false
        guard isActive != self.isActive else { return }
        self.isActive = isActive
        monitor.runtime.load.active += isActive ? 1 : -1
    }

    func end() {
        machine = nil
        noteActivity()
        probes.endAll()
    }

    private func perform(_ actions: [ViabilityMachine.Action]?) {
        for action in actions ?? [] {
            switch action {
            case .viability(let isViable, let trouble):
                if !isViable, let trouble, trouble.isSilence, let path = monitor.latestPath?.interface(index)
                {
                    monitor.suspicions.silent(path, at: .now)
                }
                tell(.viabilityChanged(isViable: isViable, reason: trouble))
            case .betterPath(let name): tell(.betterPathAvailable(name))
            case .probe: probe()
            }
        }
    }

    private func probe() {
        probes.start(to: subject.remote, over: index) { [weak self] in
            guard let self else { return }
            monitor.suspicions.alive(index, since: .now)
            perform(machine?.probeAnswered(at: .now))
            settle()
        }
    }
}
