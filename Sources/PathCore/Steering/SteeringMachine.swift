// Steers the subflows of one MPTCP connection.
//
//   snapshots ─► AllowedPaths ────────────────┐
//   events    ─► SubflowTable ─► Evidence ─► PathMachine (one a path) ─► SteeringPolicy ─► roles
//   samples   ─► detectors ────────┘                                          Reconciler ◄─┘ ─► orders
//
// Theory. The kernel acts on its retransmission timer, 200 ms above the round trip at least. What can be known
// sooner: data waits for longer than an answer ever takes (ProgressDetector). That is a suspicion, often wrong, so it
// only prepares: another path is joined, and the suspected one is asked by a TCP handshake beside the connection. No
// answer to as many probes as the path's loss makes necessary (LossEstimate), and nothing new that came in over it, is
// proof. What a path's state makes of that: `PathState`.
//
// In a transfer the end of a subflow costs (see `Reconciler`). So none is made to probe a path, and none that works
// is ended before it is quiet.
//
// A connection is not left without a subflow for a suspicion's or a verdict's sake: the last one that might work is kept
// until another is complete. What the kernel's tables say is gone is given up at once, or within a round trip
// (`Handoff`, `ReserveSubflow`).
//
// Call order: `begin` once; `snapshot`, `event`, `sample`, `failed` as they come; `dataMoves` when the user has
// written or read while the agenda `awaitsData`; `expectData` as the user does; at `nextDeadline` a `sample` where `needsSample` says so (or a `glance`,
// where that is enough), otherwise `timeReached`. After each, perform what it returned. While the agenda `seeksSignsOfLife` say
// `heardElsewhere` before a sample; what `news` says after one is for the machines of other connections that do.

package struct SteeringMachine: Sendable {
    let configuration: SteeringConfiguration
    let tuning: SteeringTuning

    var policy: any SteeringPolicy
    let traits: PolicyTraits
    var allowed: AllowedPaths
    var paths = PathTable()
    var reconciler: Reconciler
    var timers = TimerTable()
    var reserve = ReserveSubflow()
    var gap = GapDetector()
    /// While a lost path is not left yet.
    var handoff: Handoff?
    /// What the peer was asked when a path became suspect: a verdict waits for the answer.
    var standbyProbe: StandbyProbe?
    /// Whether what is lost by the latest snapshot is still to be found, or to be left (`Handoff`, `ReserveSubflow`).
    var hasNewPaths = false
    var lateness = Lateness()
    /// While this end waits to send no more: since when, and until when at most.
    var preparation: (begin: MonotonicTime, end: MonotonicTime)?
    private var hasBegun = false

    /// When the latest sample was taken.
    private(set) var sampledAt: MonotonicTime?
    /// Bytes that the peer has not acknowledged, as of the latest sample.
    var outstanding: UInt64 = 0
    var lastActivity: MonotonicTime
    var stranding = Stranding()
    /// Since when the connection's user awaits bytes; nil while it does not.
    private(set) var awaitedSince: MonotonicTime?
    /// When a stream was last heard that came over a path that was left, and is to go on over the next.
    var streamedAt: MonotonicTime?
    var sharedVerdicts: [PathVerdict] = []
    /// The path that carries, as it was told last; with several, the most preferred of them.
    var carrierKey: PathKey?

    package internal(set) var agenda = SteeringAgenda()
    /// The least time between two samples. The owner of many machines makes it longer, so that all together cost
    /// little; they tell each other what one finds.
    package var pace: Duration

    package init(
        _ configuration: SteeringConfiguration, _ connection: ConnectionIdentity, at now: MonotonicTime,
        tuning: SteeringTuning = .standard
    ) {
        self.configuration = configuration
        self.tuning = tuning
        policy = configuration.makePolicy()
        traits = policy.traits
        allowed = AllowedPaths(connection, configuration.policy)
        reconciler = Reconciler(first: connection.local.address)
        lastActivity = now
        pace = tuning.leastPace
    }

    package var nextDeadline: MonotonicTime? { agenda.nextDeadline }
    package var isOver: Bool { agenda.isOver }
    /// Whether the kernel takes orders already. Before the first the machine must have heard whether the peer takes further
    /// subflows at its first address (`.established`).
    package var isReady: Bool { reconciler.isReady }
    /// The path that carries.
    package var carrier: PathID? { carrierKey.map { paths.id(of: $0) } }

    var connection: ConnectionIdentity { allowed.connection }
    /// Whether a path can be probed whether it lives.
    var probes: Bool { configuration.probes }
    var takesInput: Bool { hasBegun && !agenda.isOver }

    // MARK: Inputs

    /// Steering begins, with the paths as they are.
    package mutating func begin(_ snapshot: PathSnapshot, at now: MonotonicTime) -> [SteeringAction] {
        allowed.begin(snapshot)
        hasBegun = true
        // At an accepting end a path is what leads to one of the peer's addresses.
        let interface = snapshot.interface(connection.interface)
        let path = paths.key(
            for: traits.steers
                ? interface?.id ?? PathID(connection.local.address) : PathID(connection.remote.address))
        let address = SubflowAction.LocalAddress(
            connection.local.address, id: 0, interface: connection.interface)
        let id = reconciler.subflows.add(
            Subflow.Route(
                path: path, interface: connection.interface, address: address, remote: connection.remote),
            .data, port: connection.local.port, isBackup: false, at: now)
        reconciler.subflows[id].phase = .open(since: now)
        reconciler.subflows[id].progress.isNewborn = true
        _ = paths[path].handle(.joined(isOnly: true), at: now, tuning)
        // What carries a connection from its beginning needs no telling.
        carrierKey = path
        agenda.nextSample = now
        return self.snapshot(snapshot, at: now)
    }

    /// The machine's paths now.
    package mutating func snapshot(_ snapshot: PathSnapshot, at now: MonotonicTime) -> [SteeringAction] {
        guard wakes(at: now) else { return [] }
        agenda.endGlances()
        let hasSlept = allowed.snapshot.map { $0.resumes != snapshot.resumes } ?? false
        allowed.update(snapshot, reconciler.subflows, &paths)
        hasNewPaths = true
        // What translated or watched the subflows may have forgotten them meanwhile.
        if hasSlept {
            // Nothing is probed over what is gone or not allowed any more.
            giveUpLost(mayWait: false, at: now)
            for subflow in reconciler.subflows.all where subflow.role == .data {
                probe(subflow.path, .trouble(.noAnswer), at: now)
            }
        }
        return pass(at: now)
    }

    /// What the kernel says of this connection's subflows.
    package mutating func event(_ event: SubflowEvent, at now: MonotonicTime) -> [SteeringAction] {
        guard wakes(at: now) else { return [] }
        switch event {
        case .established(_, _, _, let deniesJoinToFirst):
            reconciler.isReady = true
            if deniesJoinToFirst { _ = allowed.denyFirst(reconciler.subflows, &paths) }
        case .closed:
            agenda.isOver = true
            return reconciler.drainActions()
        case .announced(_, let id, let endpoint):
            // Any number may come; what changes nothing costs nothing.
            guard allowed.announce(id, endpoint, reconciler.subflows, &paths, tuning) else { return [] }
        case .removed(_, let id):
            guard allowed.withdraw(id, reconciler.subflows, &paths) else { return [] }
        case .subflowEstablished(_, let facts, let error):
            guard error ?? 0 == 0 else { break }
            // One that the peer made is known by its sample.
            guard let id = reconciler.subflows.between(facts.local, facts.remote) else {
                agenda.schedule(sampleAt: now)
                break
            }
            reconciler.subflows[id].port = facts.local.port
            opened(id, at: now)
        case .subflowClosed(_, let facts, let end):
            if let id = reconciler.subflows.between(facts.local, facts.remote) { closed(id, end, at: now) }
        case .lost: agenda.schedule(sampleAt: now)
        case .created, .subflowPriority, .listenerCreated, .listenerClosed: break
        }
        agenda.endGlances()
        return pass(at: now)
    }

    /// The connection's state, asked for because `needsSample` said so.
    ///
    /// - Parameter written: when the first bytes were written since the sample before; nil for none, or unknown.
    package mutating func sample(
        _ sample: TransportSample, written: MonotonicTime? = nil, at now: MonotonicTime
    ) -> [SteeringAction] {
        guard wakes(at: now) else { return [] }
        guard let whole = sample.connection else {
            // It fell back to TCP, which has one path and keeps it.
            agenda.isOver = true
            return reconciler.drainActions()
        }
        if whole.peerHasEnded { reconciler.peerHasEnded = true }
        if whole.acknowledged > 0 || whole.bytesReceived > 0 { reconciler.isReady = true }
        outstanding = whole.outstanding
        agenda.wasLookedAt()
        sampledAt = now
        ingest(sample.subflows, written: written, at: now)
        gap.ingest(whole, at: now)
        judgeBySharedVerdicts(at: now)
        return pass(at: now)
    }

    /// Nothing waits for an acknowledgement, where that is all there is to know.
    package mutating func glance() {
        outstanding = 0
        agenda.wasLookedAt()
    }

    /// The user has written or read something, which no sample has seen yet.
    package mutating func dataMoves(at now: MonotonicTime) {
        guard takesInput else { return }
        lastActivity = now
        agenda.schedule(sampleAt: now.advanced(by: max(answerTime ?? tuning.firstLook, pace)))
        // Failed paths are tried more often while something waits.
        for path in paths.keys where paths[path].hurry(at: now, tuning) {
            timers.set(.path(path, .retry), at: paths[path].retry.at)
        }
        agenda.nextTimer = timers.next
    }

    /// The user awaits bytes from now on, or does no more: what they came in was no stream then, or has ended. Meanwhile silence
    /// means something, as it does in a stream.
    package mutating func expectData(_ expects: Bool, at now: MonotonicTime) {
        guard takesInput, expects != (awaitedSince != nil) else { return }
        awaitedSince = expects ? now : nil
        guard expects else {
            streamedAt = nil
            return reconciler.subflows.updateEach { $0.stream.ends() }
        }
        reconciler.subflows.updateEach { if $0.role == .data { $0.stream.expectAnew(at: now) } }
        agenda.endGlances()
        agenda.schedule(sampleAt: now.advanced(by: max(answerTime ?? tuning.firstLook, pace)))
    }

    /// An order could not be performed.
    package mutating func failed(
        _ action: SubflowAction, _ failure: ActionFailure, at now: MonotonicTime
    ) -> [SteeringAction] {
        guard wakes(at: now) else { return [] }
        switch action {
        case .prioritize(let local, let remote, let isBackup):
            guard failure != .alreadyGone,
                let id = reconciler.subflows.between(local, remote, mayBeNew: false)
            else { return [] }
            reconciler.prioritizationFailed(id, isBackup: isBackup, at: now, tuning)
        case .create(let local, _, let remote):
            let isReady = failure != .notReady
            guard let subflow = reconciler.creationFailed(local, remote, isReady: isReady) else { break }
            switch subflow.role {
            case .data: paths[subflow.path].retry.noteFailedOrder(isReady: isReady, at: now, tuning)
            case .successor: if isReady { successorRefused(subflow, at: now) }
            case .reserve: break
            }
        case .withdraw, .destroy, .reset, .announce: return []
        }
        return pass(at: now)
    }

    /// Something answered a probe of a path: it was accepted or refused, either way the path lives.
    ///
    /// - Parameter time: how long after it was started.
    package mutating func probeAnswered(
        _ path: PathKey, after time: Duration, at now: MonotonicTime
    ) -> [SteeringAction] {
        guard wakes(at: now) else { return [] }
        answered(path, after: time, at: now)
        return pass(at: now)
    }

    /// No keepalive probe could be sent: none will be answered.
    package mutating func idleProbeFailed() { standbyProbe = nil }

    /// A probe of a path could not be started. That says nothing of the path.
    package mutating func probeFailed(_ path: PathKey, at now: MonotonicTime) -> [SteeringAction] {
        guard wakes(at: now) else { return [] }
        paths[path].probeFailed()
        return []
    }

    package mutating func timeReached(_ now: MonotonicTime) -> [SteeringAction] {
        guard wakes(at: now) else { return [] }
        return pass(at: now)
    }

    // MARK: One pass

    /// Draws the conclusions from what has come in: evidence, then paths, then roles, then orders.
    mutating func pass(at now: MonotonicTime) -> [SteeringAction] {
        guard !agenda.isOver, allowed.snapshot != nil else { return reconciler.drainActions() }
        timers.stopAll()
        if hasNewPaths { hasNewPaths = !giveUpLost(mayWait: true, at: now) }
        // What is lost is left first; the rest can wait for so long.
        if !hasNewPaths {
            judge(at: now)
            steer(at: now)
        }
        checkPreparation(at: now)
        agenda.nextTimer = timers.next
        agenda.isSeeking = paths.probesSuspects
        return reconciler.drainActions()
    }
}
