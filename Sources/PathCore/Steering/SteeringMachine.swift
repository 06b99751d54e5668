// Steers the subflows of one MPTCP connection.
//
//   snapshots ─┐                    ┌─ what is usable, what is lost for certain
//   events    ─┼─► subflows, records ──┼─ suspicion: suspect ─► probes ─► dead, or cleared
//   samples   ─┘                    └─ the mode's rules: a role for each path ─► actions
//
// A path's standing, as this connection knows it:
//
//        waits too long                 probes unanswered
//   good ──────────────► suspect ───────────────────────────► dead ◄─── the kernel's tables
//    ▲  ◄──────────────    │  its data gets through             │        say that it is gone
//    │      answered       └──────────────────┐                 │ a handshake is answered
//    └──────────── it kept answering ─────────┴──── validating ◄──┘
//
// Theory. The kernel acts on its retransmission timer, 200 ms above the round trip at least. What can be known
// sooner: data waits for longer than an answer ever takes (SubflowWatch). That is a suspicion, often wrong, so it
// only prepares: another path is joined, and the suspected one is asked by a handshake of its own (a join to the
// same peer over the same path, some 650 bytes with its end). No answer to as many probes as the path's
// loss makes necessary (LossEstimate) is proof.
//
// A dead path takes two orders: RM_ADDR, over a path that lives, makes the peer give up the subflow and send
// again what was on it; destroying it here does the same for this side. One without the other leaves one
// direction waiting for a timer. RM_ADDR is sent once and ignored by a peer for which the subflow that brings it
// is not fully established, so over a new one it waits for a round trip.
//
// The end of a subflow costs: the kernel, here and at the peer, sends again all that is unacknowledged on the
// connection, whatever was on that subflow (__mptcp_retransmit_pending_data). In a bulk transfer those are
// megabytes, and hundreds of milliseconds. So in the middle of one a subflow is ended only where the path is
// dead, or a reserve one takes the place of a path that is back: probes that were answered stay until it is quiet,
// and a dead path is not tried by subflows that would have to be ended, but by probing, a TCP handshake of its own.
//
// Nobody is left without a subflow for a suspicion's or a verdict's sake: the last one that might work is kept
// until another is complete. What the kernel's tables say is gone is given up at once, or within a round trip
// (`Handoff`).
//
// Call order: `begin` once; `snapshot`, `event`, `sample`, `failed` as they come; `dataMoves` when the user has
// written or read while it `awaitsData`; at `nextDeadline` a `sample` where `needsSample` says so (or a `glance`,
// where that is enough), otherwise `timeReached`. After each, perform what it returned.

package struct SteeringMachine: Sendable {
    let configuration: SteeringConfiguration
    let connection: SteeredConnection
    var rules: any SteeringPolicy
    var book: AddressBook
    var subflows: [Subflow] = []
    var records: [String: PathState] = [:]
    /// The names of the records, none of which is ever removed.
    private var names: [String] = []
    var latestSnapshot: PathSnapshot?
    /// The paths that may be used, and whether what is lost by them is still to be found.
    var usable: [PathInterface] = []
    var hasNewPaths = false
    var remotes: [IPEndpoint] {
        didSet { usable = latestSnapshot.map(usablePaths) ?? [] }
    }
    /// The kernel takes orders once data was acknowledged (RFC 8684 section 3.1: fully established).
    var isReady = false
    var hasBegun = false
    /// The peer sends no more, and takes no further subflow.
    var peerHasEnded = false
    /// Whether a path can be asked whether it lives.
    var asks: Bool { configuration.asks && !peerHasEnded }
    var usesDefaultRoute = true
    var actions: [SteeringAction] = []
    var lastActivity: MonotonicTime
    var strandedSince: MonotonicTime?
    /// When a stream was last heard that came over a path that was left, and is to go on over the next.
    var streamedAt: MonotonicTime?
    var sharedVerdicts: [PathVerdict] = []
    var handoff: Handoff?
    /// From when on a reserve subflow may be made.
    var nextReserve = MonotonicTime.zero
    /// Whether the one there is is to carry.
    var reserveCarries = false
    /// Bytes that the peer has not acknowledged, as of the latest sample.
    var outstanding: UInt64 = 0
    var subflowCount = 0

    /// The path that carries, as it was told last; with several, the most preferred of them.
    package internal(set) var carrier: String?
    package internal(set) var agenda = SteeringAgenda()
    package internal(set) var isOver: Bool {
        get { agenda.isOver }
        set { agenda.isOver = newValue }
    }
    var nextSample: MonotonicTime? {
        get { agenda.nextSample }
        set { agenda.nextSample = newValue }
    }
    var wakeUps: SteeringAgenda.WakeUps {
        get { agenda.wakeUps }
        set { agenda.wakeUps = newValue }
    }

    /// The least time between two samples. Whoever runs many machines makes it longer, so that all together cost
    /// little; they tell each other what one finds.
    package var pace = Duration.milliseconds(2)

    package init(
        _ configuration: SteeringConfiguration, _ connection: SteeredConnection, at now: MonotonicTime
    ) {
        self.configuration = configuration
        self.connection = connection
        rules =
            switch configuration.mode {
            case .handover, .disabled: HandoverPolicy()
            case .interactive: InteractivePolicy()
            case .aggregate: AggregatePolicy()
            }
        book = AddressBook(first: connection.local.address)
        remotes = [connection.remote] + connection.otherRemotes.filter { $0 != connection.remote }
        lastActivity = now
    }

    package var nextDeadline: MonotonicTime? { agenda.nextDeadline }

    // MARK: Inputs

    /// Steering begins, with the paths as they are.
    package mutating func begin(_ snapshot: PathSnapshot, at now: MonotonicTime) -> [SteeringAction] {
        let followed = FollowedConnection(
            interface: connection.interface, local: connection.local.address,
            remote: connection.remote.address)
        usesDefaultRoute = followed.usesDefaultRoute(in: snapshot)
        hasBegun = true
        let interface = snapshot.interface(connection.interface)
        // At an accepting end a path is what leads to one of the peer's addresses.
        let name =
            configuration.isAcceptor
            ? "\(connection.remote.address)" : interface?.name ?? "\(connection.local.address)"
        var subflow = Subflow(
            path: name, interface: connection.interface,
            address: SubflowAction.LocalAddress(
                connection.local.address, id: 0, interface: connection.interface),
            remote: connection.remote, port: connection.local.port, purpose: .data, isBackup: false,
            asked: now, number: nextNumber())
        subflow.established = now
        subflow.watch.isNewborn = true
        subflows = [subflow]
        records[name] = PathState()
        records[name]?.goodSince = now
        // Nobody needs to be told what carries a connection from its beginning.
        carrier = name
        nextSample = now
        return self.snapshot(snapshot, at: now)
    }

    /// The machine's paths now.
    package mutating func snapshot(_ snapshot: PathSnapshot, at now: MonotonicTime) -> [SteeringAction] {
        guard hasBegun, !isOver else { return [] }
        agenda.glancesUntil = .zero
        let hasSlept = latestSnapshot.map { $0.resumes != snapshot.resumes } ?? false
        latestSnapshot = snapshot
        // A sample changes nothing about these, and samples come by the thousand.
        usable = usablePaths(snapshot)
        hasNewPaths = true
        // Whatever translated or watched the subflows may have forgotten them meanwhile.
        if hasSlept {
            // Nothing is asked over what is gone or not allowed any more.
            giveUpLost(usable, mayWait: false, at: now)
            for subflow in subflows where subflow.purpose == .data {
                ask(subflow.path, .trouble(.noAnswer), at: now)
            }
        }
        return settle(at: now)
    }

    /// What the kernel says of this connection's subflows.
    package mutating func event(_ event: SubflowEvent, at now: MonotonicTime) -> [SteeringAction] {
        guard hasBegun, !isOver else { return [] }
        agenda.glancesUntil = .zero
        switch event {
        case .established(_, _, _, let deniesJoinToFirst):
            isReady = true
            let first = connection.remote
            if deniesJoinToFirst { remotes.removeAll { $0 == first } }
        case .closed:
            isOver = true
            return take()
        case .announced(_, _, let endpoint):
            let remote = IPEndpoint(
                endpoint.address, port: endpoint.port == 0 ? connection.remote.port : endpoint.port)
            if !remotes.contains(remote) { remotes.append(remote) }
        case .subflowEstablished(_, let facts, let error):
            guard error ?? 0 == 0 else { break }
            // One that the peer made is known by its sample.
            guard let index = subflow(facts.local, facts.remote) else {
                schedule(sampleAt: now)
                break
            }
            subflows[index].port = facts.local.port
            established(index, at: now)
        case .subflowClosed(_, let facts, let end):
            if let index = subflow(facts.local, facts.remote) { closed(index, end, at: now) }
        case .lost: schedule(sampleAt: now)
        case .created, .removed, .subflowPriority, .listenerCreated, .listenerClosed: break
        }
        return settle(at: now)
    }

    /// The connection's state, asked for because `needsSample` said so.
    ///
    /// - Parameter written: when the first bytes were written since the sample before; nil for none, or unknown.
    package mutating func sample(
        _ sample: TransportSample, written: MonotonicTime? = nil, at now: MonotonicTime
    ) -> [SteeringAction] {
        guard hasBegun, !isOver else { return [] }
        guard let whole = sample.connection else {
            // It fell back to TCP, which has one path and keeps it.
            isOver = true
            return take()
        }
        if whole.peerHasEnded, !peerHasEnded {
            peerHasEnded = true
            // What was asked is answered by nobody any more.
            for name in records.keys { records[name]!.probe = nil }
        }
        if whole.acknowledged > 0 || whole.bytesReceived > 0 { isReady = true }
        outstanding = whole.outstanding
        nextSample = nil
        take(sample.subflows, written: written, at: now)
        judgeBySharedVerdicts(at: now)
        return settle(at: now)
    }

    /// Nothing waits for an acknowledgement, where that is all there is to know.
    package mutating func glance() {
        outstanding = 0
        nextSample = nil
    }

    /// The user has written or read something, which no sample has seen yet.
    package mutating func dataMoves(at now: MonotonicTime) {
        guard hasBegun, !isOver else { return }
        lastActivity = now
        let soon = subflows.filter { $0.purpose == .data && $0.isEstablished }.map(\.watch.answerTime).min()
        schedule(sampleAt: now.advanced(by: max(soon ?? .milliseconds(25), pace)))
        // Dead paths are tried more often while somebody waits.
        for name in records.keys {
            let latest = now.advanced(by: Self.retry)
            if records[name]!.isDead, records[name]!.nextAttempt > latest {
                records[name]!.nextAttempt = latest
                wakeUps.append(latest)
            }
        }
    }

    /// An action could not be performed.
    package mutating func failed(
        _ action: SubflowAction, _ failure: ActionFailure, at now: MonotonicTime
    ) -> [SteeringAction] {
        guard hasBegun, !isOver else { return [] }
        if case .prioritize(let local, let remote, let isBackup) = action, failure != .alreadyGone,
            let index = subflow(local, remote, mayBeNew: false)
        {
            subflows[index].isBackup = !isBackup
            // Before the peer's last word of the handshake the kernel finds no such subflow (seen of joins beside an
            // upload, up to 8 ms old). One that was found often enough before is stubborn, or gone.
            if subflows[index].established.map({ $0.duration(to: now) < .seconds(1) }) ?? true {
                subflows[index].prioritizedFrom = max(
                    subflows[index].signalsFrom ?? now, now.advanced(by: .milliseconds(5)))
            } else {
                subflows[index].keepsPriority = true
            }
            return settle(at: now)
        }
        guard case .create(let local, _, let remote) = action else { return [] }
        if let index = subflows.lastIndex(where: {
            $0.address == local && $0.remote == remote && $0.port == nil && !$0.isEstablished
        }) {
            let subflow = subflows.remove(at: index)
            let name = subflow.path
            // With it the kernel has forgotten the address's id.
            book.destroyed(local.address)
            if failure == .notReady { isReady = false }
            if subflow.purpose == .reserve { return settle(at: now) }
            records[name, default: PathState()].attempts += 1
            let attempts = min(records[name]!.attempts, 6)
            // Routes may come a moment after the address.
            let pause: Duration = failure == .notReady ? .milliseconds(50) : .milliseconds(20)
            records[name]!.nextAttempt = now.advanced(by: min(pause * (1 << attempts), Self.retry))
        }
        return settle(at: now)
    }

    /// Another connection has found a path dead. It takes a sample to know what that means for this one.
    package mutating func sharedVerdict(_ verdict: PathVerdict, at now: MonotonicTime) {
        guard hasBegun, !isOver, let data = dataSubflow(verdict.path),
            subflows[data].interface == verdict.interface
        else { return }
        sharedVerdicts.append(verdict)
        agenda.glancesUntil = .zero
        schedule(sampleAt: now)
    }

    /// Something answered a probe of a path: it was accepted or refused, either way the path lives.
    package mutating func probeAnswered(_ path: String, at now: MonotonicTime) -> [SteeringAction] {
        guard hasBegun, !isOver, records[path]?.isDead == true else { return [] }
        records[path]!.isAwake = true
        records[path]!.nextAttempt = now
        return settle(at: now)
    }

    package mutating func timeReached(_ now: MonotonicTime) -> [SteeringAction] {
        guard hasBegun, !isOver else { return [] }
        return settle(at: now)
    }

    // MARK: Together

    mutating func settle(at now: MonotonicTime) -> [SteeringAction] {
        guard !isOver, latestSnapshot != nil else { return take() }
        wakeUps = SteeringAgenda.WakeUps()
        if hasNewPaths { hasNewPaths = !giveUpLost(usable, mayWait: true, at: now) }
        // What is lost is left first; the rest can wait for so long.
        if handoff != nil { return take() }
        judge(usable, at: now)
        steer(usable, at: now)
        return take()
    }

    mutating func take() -> [SteeringAction] {
        defer { actions = [] }
        return actions
    }

    mutating func nextNumber() -> Int {
        subflowCount += 1
        return subflowCount
    }

    mutating func tell(_ event: SteeringEvent) { actions.append(.tell(event)) }
    mutating func perform(_ action: SubflowAction) { actions.append(.perform(action)) }

    mutating func schedule(sampleAt time: MonotonicTime) {
        nextSample = min(nextSample ?? time, time)
        agenda.awaitsSilence = false
    }

    /// Between attempts to reach a dead path while somebody waits, and the pause that a failed one begins with.
    static let retry = Duration.seconds(1)

    /// - Parameter mayBeNew: whether it may be one whose port is not known yet.
    func subflow(_ local: IPEndpoint, _ remote: IPEndpoint, mayBeNew: Bool = true) -> Int? {
        let same = subflows.indices.filter {
            subflows[$0].address.address == local.address && subflows[$0].remote == remote
        }
        return same.first { subflows[$0].port == local.port }
            ?? (mayBeNew ? same.first { subflows[$0].port == nil } : nil)
    }

    /// Always in the same order, so that the same inputs have the same outcome.
    mutating func sortedNames() -> [String] {
        if names.count != records.count { names = records.keys.sorted() }
        return names
    }

    /// The data subflow of a path.
    func dataSubflow(_ path: String) -> Int? {
        subflows.firstIndex { $0.path == path && $0.purpose == .data }
    }
}
