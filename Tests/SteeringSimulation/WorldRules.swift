import PathCore

/// Watches a simulation step by step: what must hold in any world, and the figures of this one.
struct WorldRules {
    /// How long data may wait, and how long a connection may be without a subflow, while an allowed path works: a pause
    /// of a second between two probes of a dead path, and half of one for which a path must answer before a
    /// subflow that gets nothing through is replaced.
    static let stallLimit: Int64 = 1_500_000_000
    /// Each with round trips of the slowest path: an answer time until there is a suspicion (RFC 6298's `srtt + 4·rttvar`,
    /// three round trips where there is but the handshake's to go by), a probe that is given a quarter more,
    /// a join, and the data.
    static let roundTrips: Int64 = 9
    /// Where packets get lost at all one of a probe, a join or the data may be, and is repeated after a second (RFC 6298).
    static let repetition: Int64 = 1_000_000_000
    /// Where the end that steers can't know of it, or the kernels' timers decide: where a path loses more than one
    /// packet in twenty, where a server has a subflow whose other end is gone (its kernel waits until the window is full
    /// before it sends again what is on it), where a reader does not say when it reads and is looked at once a second,
    /// and where one has nothing of its own under way and got too little yet to know that it is to get more, or has its
    /// user's word for it only. One without even that can't know that another path is needed, so only what its subflows'
    /// own paths do counts, and the server's timer has backed off for at most as long again as they did not work.
    static let hardStallLimit: Int64 = 8_000_000_000
    /// A stream is known for one when three samples in a row have found new bytes. Each is taken when what came in says
    /// so, an answer time after the one before (RFC 6298's `srtt + 4·rttvar`: three round trips, as long as there
    /// is but the handshake's to go by), and what comes next may take the longest pause of all streams here.
    static func timeToKnowStream(_ roundTrip: Int64) -> Int64 { 3 * (3 * roundTrip + 75_000_000) }
    /// A longer pause begins it anew.
    static func pauseOfStream(_ roundTrip: Int64) -> Int64 { 250_000_000 + 2 * roundTrip }
    static let emptyLimit: Int64 = 2_500_000_000
    static let forgottenLimit: Int64 = 4_000_000_000
    /// Orders in one second, and at one moment.
    static let stormLimit = 90
    static let momentLimit = 40

    /// Events at one moment.
    static let spinLimit = 2000

    private let policy: PathPolicy
    private let patience: Duration
    private let hasHints: Bool
    private var lookedAt: Int64 = 0
    private var looks = 0
    private var seen = 0
    private var told: UInt64 = 0
    private var recent: [Int64] = []
    private var momentCount = 0
    private var slowest: Int64 = 0
    private let mode: MultipathMode
    private let isDenied: Bool
    /// For how long nothing ran, at the most: one freeze may follow another.
    private let frozen: Int64
    /// The places of the paths that had a complete subflow when the latest step began.
    private var carried: [Int] = []
    private let phases: [Int64]
    private var phase: Int64?
    private var readBefore = 0
    private var sentBefore = 0
    /// Since when bytes have been coming in steadily, nothing sent between, and when they did last.
    private var streamSince: Int64?
    private var readAt: Int64 = 0
    /// When nothing could bring an unknowing reader its data, last.
    private var unreachableAt: Int64 = 0
    /// For what was written until then the harder limit counts.
    private var hardUntil = [Int64.min, Int64.min]
    private var readyAt: Int64 = 0
    private var burstTrips: Int64 = 0
    private var forgottenAt = Int64.min / 2
    private var lossyAt = Int64.min / 2
    /// Whether any path has been losing packets.
    private var mayLose = false
    private var emptySince: Int64?
    /// Since when no path is left, and when a subflow was there again: one that goes within a second, and brings nothing, ends no
    /// wait.
    private var strandedAt: (first: Int64, last: Int64)?
    private var rejoinedAt: Int64?
    private var isOver = false
    private var events: [SteeringEvent] = []

    private var rested: (since: Int64, creations: Int, moves: Int)?

    private(set) var broken: String?
    /// The longest wait of data beyond what no path could have helped, in nanoseconds.
    private(set) var longestStall: Int64 = 0
    private(set) var moves = 0
    private(set) var creations = 0

    init(_ world: RandomWorld) {
        policy = world.configuration.policy
        patience = world.configuration.pathLossTimeout
        hasHints = world.configuration.hasHints
        mode = world.configuration.mode
        isDenied = world.options.deniesFirst
        frozen = world.options.freezes.reduce(0) { $0 + Int64($1.count) }
        phases = world.traffic.phases.map(\.start.wholeNanoseconds)
        phase = phases.first
    }

    /// Says what is wrong, the first time.
    private mutating func fail(_ what: String, _ world: Simulation) {
        broken = broken ?? "at \(Double(world.now) / 1e9) s: \(what)"
    }

    mutating func look(_ world: Simulation) {
        looks = world.now == lookedAt ? looks + 1 : 0
        lookedAt = world.now
        if looks > Self.spinLimit { fail("time stands still", world) }
        if let mistake = world.mistake { fail(mistake, world) }
        if let path = world.endedAtWork {
            world.endedAtWork = nil
            if mode != .aggregate, world.told.interface(path).flatMap(policy.refusal) == nil {
                fail("\(path)'s subflow was ended in the middle of a transfer", world)
            }
        }
        let isNews = world.steps.count > seen || world.told.generation != told
        while seen < world.steps.count {
            let step = world.steps[seen]
            seen += 1
            if step.end == .client { ingest(step, world) } else { checkVerdict(step, world) }
        }
        carried = world.openPaths.compactMap { $0.isComplete ? $0.path : nil }
        // A connection that was given up is its owner's to close.
        if isNews, !isOver { checkPermission(world) }
        told = world.told.generation
        if !isOver { checkProgress(world) }
    }

    // MARK: Rest

    /// From now on no end sends anything of its own.
    mutating func beginsRest(_ world: Simulation) {
        rested = (world.now, creations, moves)
    }

    /// An hour later.
    mutating func endRest(_ world: Simulation) {
        guard let rested, broken == nil else { return }
        if let deadline = world.machine(.client)?.nextDeadline, world.isReady {
            fail("it has not come to rest: \(deadline.seconds) is its next deadline", world)
        }
        // What is dead is tried until it is back; silence is asked about four times on each path.
        let most = 16 * world.paths.count
        if creations - rested.creations > most {
            fail("\(creations - rested.creations) joins in an hour", world)
        }
        if moves - rested.moves > 2 { fail("\(moves - rested.moves) moves in an hour", world) }
    }

    // MARK: Orders

    private mutating func ingest(_ step: Simulation.Step, _ world: Simulation) {
        if isOver { fail("\(step.action) after its end", world) }
        switch step.action {
        case .perform(let order):
            momentCount = recent.last == step.time ? momentCount + 1 : 1
            recent.append(step.time)
            if recent.count > Self.stormLimit {
                if step.time - recent.removeFirst() < 1_000_000_000 { fail("a storm of orders", world) }
            }
            if momentCount > Self.momentLimit { fail("orders without end", world) }
            if case .create(let local, _, _) = order {
                creations += 1
                if let path = world.told.interfaces.first(where: { $0.index == local.interface }) {
                    if let refusal = policy.refusal(of: path) {
                        fail("a join over \(path.name), which is not allowed: \(refusal)", world)
                    }
                } else {
                    fail("a join over interface \(local.interface ?? 0), which is no path", world)
                }
            }
        case .startProbe, .share, .probeIdle, .firstSubflowEnded, .preparedToEnd, .widenReceiveBuffer: break
        case .tell(let event):
            checkVerdict(step, world)
            ingest(event, world)
            events.append(event)
        }
    }

    // MARK: Verdicts

    /// A sender pauses, queues are full, packets come late: that is no fault of a path that carries.
    private mutating func checkVerdict(_ step: Simulation.Step, _ world: Simulation) {
        guard case .tell(let event) = step.action else { return }
        switch event {
        case .failed(let path, let trouble):
            guard trouble.isSilence, isSound(path, step.end, world) else { return }
            fail("the \(step.end): \(event), though nothing is wrong with it", world)
        case .moved(let old, _, let reason):
            // Other modes leave what is slow just now.
            guard mode == .handover, isSound(old, step.end, world) else { return }
            switch reason {
            // What the kernel says of an end, which an enemy may have asked for, is true.
            case .trouble(.subflowEnded): break
            case .trouble, .stalled, .stuck: fail("\(event), though nothing is wrong with it", world)
            case .refused, .preferred, .latency, .ended, .unneeded: break
            }
        case .joined, .left, .suspected, .cleared, .answered, .stranded, .pathLossTimedOut: break
        }
    }

    /// Whether a path that had a subflow was never anything but well. An accepting end names it by the peer's address.
    private func isSound(_ id: PathID, _ end: SimulatedEnd, _ world: Simulation) -> Bool {
        carried.contains { place in
            let path = world.paths[place]
            return path.isSound && (path.name == id.name || "\(path.address)" == id.name)
                && !world.isLateUnawares(end, by: 2 * path.longestRoundTrip)
        }
    }

    private mutating func ingest(_ event: SteeringEvent, _ world: Simulation) {
        switch event {
        case .moved(let old, let new, let reason):
            moves += 1
            if let wrong = mistake(in: reason, from: old, to: new, world) {
                fail("\(event), but \(wrong)", world)
            }
        case .stranded:
            let isShort = world.now - (rejoinedAt ?? 0) < 1_000_000_000
            strandedAt = (isShort ? strandedAt?.first ?? world.now : world.now, world.now)
            rejoinedAt = nil
        case .pathLossTimedOut:
            isOver = true
            let waited = strandedAt.map { world.now - $0.first } ?? 0
            if waited < patience.wholeNanoseconds { fail("it gave up after \(waited) ns", world) }
            if let last = strandedAt?.last,
                world.now - last > patience.wholeNanoseconds + 100_000_000 + frozen
            {
                fail("it gave up late", world)
            }
        case .joined, .answered, .cleared: rejoinedAt = rejoinedAt ?? world.now
        case .left, .suspected, .failed: break
        }
    }

    /// What is wrong with the reason of a move.
    private func mistake(
        in reason: MoveReason, from old: PathID, to new: PathID, _ world: Simulation
    ) -> String? {
        if old == new { return "it is the same path" }
        switch reason {
        case .trouble(.subflowEnded): return nil
        case .trouble(let trouble):
            let isKnown = events.contains { $0 == .failed(old, trouble) || $0 == .suspected(old, trouble) }
            return isKnown ? nil : "nothing was said of that trouble"
        case .refused(let refusal):
            let path = world.told.interface(old)
            return path.flatMap(policy.refusal) == refusal ? nil : "it is allowed"
        case .preferred:
            let ids = world.told.interfaces.map(\.id)
            if new.name == policy.preferredInterface { return nil }
            guard let from = ids.firstIndex(of: old), let to = ids.firstIndex(of: new) else { return nil }
            return to < from && old.name != policy.preferredInterface ? nil : "it is not preferred"
        case .latency(let time, let other): return time < other ? nil : "it is not faster"
        case .stalled:
            let isKnown = events.contains { if case .suspected(old, _) = $0 { true } else { false } }
            return isKnown ? nil : "it was not suspect"
        case .ended, .stuck, .unneeded:
            let isKnown = events.contains { $0 == .left(old, because: reason) }
            return isKnown ? nil : "it was not left for that"
        }
    }

    // MARK: States

    private mutating func checkPermission(_ world: Simulation) {
        for (place, _) in world.openPaths {
            guard let path = world.told.interface(world.paths[place].index),
                let refusal = policy.refusal(of: path)
            else { continue }
            fail("a subflow on \(path.name), which is not allowed: \(refusal)", world)
        }
    }

    private mutating func noteReading(_ world: Simulation) {
        let (read, sent) = (world.chunksRead(by: .client), world.chunksRead(by: .server))
        if let phase, world.now >= phase {
            self.phase = phases.first { $0 > world.now }
            streamSince = nil
        }
        if sent != sentBefore { streamSince = nil }
        if read > readBefore {
            let isLate = world.now - readAt > Self.pauseOfStream(slowest)
            if streamSince == nil || isLate { streamSince = world.now }
            readAt = world.now
        }
        (readBefore, sentBefore) = (read, sent)
    }

    /// Whether the client can know that something is amiss: it has been getting a stream, awaits something, or has something of its
    /// own under way.
    private func canMiss(_ world: Simulation) -> Bool {
        if world.waitingSince(from: .client) != nil { return true }
        return hasHints && (world.isExpecting || hasKnownStream)
    }

    private var hasKnownStream: Bool {
        streamSince.map { readAt - $0 >= Self.timeToKnowStream(slowest) } ?? false
    }

    private mutating func checkProgress(_ world: Simulation) {
        noteReading(world)
        guard world.isReady else {
            // Until then the kernel takes no orders.
            readyAt = world.now
            return
        }
        if world.hasForgotten { forgottenAt = world.now }
        var best: (since: Int64, roundTrip: Int64)?
        // Of a path that has become slow only its own round trips can tell.
        slowest = world.paths.reduce(slowest) { max($0, $1.longestRoundTrip) }
        for path in world.paths {
            guard let since = path.worksSince, since < best?.since ?? .max,
                policy.refusal(of: path.interface) == nil
            else { continue }
            best = (since, slowest)
        }
        let isEmpty = !world.openPaths.contains { $0.isComplete }
        emptySince = isEmpty ? emptySince ?? world.now : nil
        guard let best else { return }
        // Where the first address is denied, and the others lead nowhere, none can be made.
        guard !isDenied else { return }
        if let emptySince,
            world.now - max(emptySince, best.since, world.thawedAt) > Self.emptyLimit + Self.roundTrips
                * best.roundTrip
        {
            fail("no subflow for long, though a path works", world)
        }
        for end in [SimulatedEnd.client, .server] {
            checkWait(from: end, world, worksSince: best.since, roundTrip: best.roundTrip)
        }
    }

    private mutating func checkWait(
        from end: SimulatedEnd, _ world: Simulation, worksSince: Int64, roundTrip: Int64
    ) {
        guard let since = world.waitingSince(from: end) else { return }
        // A reader with nothing to say can't know that its subflow was forgotten.
        if end == .server, world.now - forgottenAt < Self.forgottenLimit { return }
        // What a sender has on a forgotten subflow waits for its own kernel's timer.
        let forgotten = world.forgottenAt.map { $0 + Self.forgottenLimit } ?? 0
        var begin = max(since, worksSince, forgotten, readyAt, world.thawedAt)
        let isUnknowing = end == .server && !canMiss(world)
        if isUnknowing {
            guard let reached = world.sharedPaths.compactMap({ world.paths[$0].worksSince }).min() else {
                unreachableAt = world.now
                return
            }
            begin = max(begin, reached)
        }
        if end == .server { begin = max(begin, unreachableAt) }
        burstTrips = world.paths.reduce(burstTrips) { max($0, $1.burstTrips) }
        let wait = world.now - begin - (Self.roundTrips + burstTrips) * roundTrip
        longestStall = max(longestStall, wait)
        if world.paths.contains(where: { $0.loss > 0.05 }) { lossyAt = world.now }
        if world.paths.contains(where: { $0.mayLose }) { mayLose = true }
        // What the user awaits, and no stream, is missed after some probes only.
        let isSlowToKnow = isUnknowing || !hasKnownStream && world.waitingSince(from: .client) == nil
        let isReader = end == .server && (isSlowToKnow || world.hasOrphans || !hasHints)
        var isHard = isReader || world.now - lossyAt < 2_000_000_000
        // What came behind it waits as long.
        if isHard || wait > 0 && hardUntil[end.rawValue] >= since {
            isHard = true
            hardUntil[end.rawValue] = world.now
        }
        var limit = isHard ? Self.hardStallLimit : Self.stallLimit
        if mayLose { limit += Self.repetition }
        if isUnknowing { limit = max(limit, begin - since) }
        if wait > limit { fail("data of the \(end) waits", world) }
    }
}
