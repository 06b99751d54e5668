// Whether an established connection's path still carries it, and whether there is a better one.
//
// A plain TCP connection can't change its path; all that can be done for its user is to say soon that the path
// is gone, or that another one would be chosen now. Rules:
//  1. The kernel's tables are believed at once: interface gone or down, carrier lost, address or route gone.
//  2. Silence is judged by samples (`SendingWatch`, `SilenceWatch`): no single lost packet is proof, and a
//     false alarm makes the next one slower.
//  3. A connection is viable again when both sources say so; one that is in trouble already is not told the
//     second reason.
//  4. A path is better when the snapshot's order and the policy would choose it now. It has to stay so for a
//     while before it is told, unless the one in use is not viable or not allowed any more. That it is gone
//     again is told at once. One that connections have found silent is asked first, ever more seldom, and told when it
//     has answered.
//  5. Samples are asked for only while bytes are outstanding or awaited. An idle connection costs nothing.
//
// Call order: `snapshot` as snapshots come; `fellBack` where MPTCP becomes plain TCP; `dataWasSent` and `expectData` as
// the user does; `probeAnswered` after `.probe`, `answered` after `.probeOther`; at `nextDeadline` a `sample` where
// `needsSample` says so, then `timeReached`. Before `snapshot`, `fellBack` and `timeReached`, `suspect`.

/// Decides what a connection's user is told of its path.
package struct ViabilityMachine: Sendable {
    package struct Configuration: Sendable, Hashable {
        package var policy = PathPolicy()
        /// How long a path must have been the better one before it is told.
        package var betterPathDelay: Duration = .seconds(1)
        /// How long after the first probe a better path that was found silent is probed again, doubled each time …
        package var suspicionPause: Duration = .seconds(1)
        /// … up to this.
        package var longestSuspicionPause: Duration = .seconds(30)

        package init() {}
    }

    package enum Action: Sendable, Hashable {
        /// The connection's path works, or does not any more, and why.
        case viability(Bool, PathTrouble?)
        /// Another path would be chosen now; nil when there is none any more.
        case betterPath(PathID?)
        /// Start a handshake with the same peer over the same path; say `probeAnswered` if anything comes back.
        case probe
        /// The same over a path that would be better; say `answered`.
        case probeOther(InterfaceIndex)
    }

    private var connection: FollowedConnection
    private let configuration: Configuration
    private var latest: PathSnapshot?
    /// Whether it came about by a default route: to TCP one to the peer, to MPTCP any.
    private var cameByDefaultRoute = (asTCP: false, asMPTCP: false)
    private var pathTrouble: PathTrouble?
    /// Other paths that connections have found silent lately.
    private var silentPaths: Set<InterfaceIndex> = []
    /// Nil for MPTCP, which is not judged by any of it.
    private var tcp: CopyOnWrite<TCPEvidence>?

    /// What the path of a plain TCP connection is judged by, beside the kernel's tables.
    private struct TCPEvidence: Sendable {
        var sending = SendingWatch()
        var silence = SilenceWatch()
        /// When data was sent that no sample has seen yet.
        var sentAt: MonotonicTime?
        /// The path that may be told as the better one.
        var candidate: (path: PathID, since: MonotonicTime)?
        /// The path that would be better if it answered.
        var suspicion: Suspicion?
    }

    private struct Suspicion: Sendable {
        let path: InterfaceIndex
        var nextProbe: MonotonicTime
        var pause: Duration
    }

    /// What was told last.
    package private(set) var trouble: PathTrouble?
    /// The better path that was told last.
    package private(set) var betterPath: PathID?

    package init(_ connection: FollowedConnection, configuration: Configuration = Configuration()) {
        self.connection = connection
        self.configuration = configuration
        tcp = connection.isTCP ? CopyOnWrite(TCPEvidence()) : nil
    }

    /// When it wants to be called again. Plain values: the owner asks often, and is not to copy the machine for that.
    package struct Agenda: Sendable {
        /// When the next sample is worth taking.
        fileprivate(set) var nextSample: MonotonicTime?
        /// When to look again; nil for not before something happens.
        package fileprivate(set) var nextDeadline: MonotonicTime?
        /// Whether `dataWasSent` is to be said when data is sent.
        package fileprivate(set) var awaitsData = false
        /// Whether samples are wanted for what was sent, which happens soon and often.
        package fileprivate(set) var watchesSending = false

        /// Nothing is wanted.
        package init() {}

        /// Whether a sample is due.
        package func needsSample(at now: MonotonicTime) -> Bool { nextSample.map { $0 <= now } ?? false }
    }

    /// It changes with each input, and with nothing else.
    package var agenda: Agenda {
        var agenda = Agenda()
        // An MPTCP connection's samples are for its steering.
        guard let tcp = tcp?.value else { return agenda }
        agenda.awaitsData = tcp.sentAt == nil && tcp.sending.nextSample == nil
        agenda.watchesSending = !agenda.awaitsData
        agenda.nextSample = [tcp.sending.nextSample, tcp.silence.nextSample, tcp.sentAt].compactMap { $0 }
            .min()
        agenda.nextDeadline = [agenda.nextSample, candidateDeadline, tcp.suspicion?.nextProbe]
            .compactMap { $0 }.min()
        return agenda
    }

    package var nextDeadline: MonotonicTime? { agenda.nextDeadline }
    package var awaitsData: Bool { agenda.awaitsData }
    package var watchesSending: Bool { agenda.watchesSending }
    package func needsSample(at now: MonotonicTime) -> Bool { agenda.needsSample(at: now) }

    private var candidateDeadline: MonotonicTime? {
        guard let candidate = tcp?.value.candidate, candidate.path != betterPath else { return nil }
        return candidate.since.advanced(by: configuration.betterPathDelay)
    }

    private var usesDefaultRoute: Bool {
        connection.isTCP ? cameByDefaultRoute.asTCP : cameByDefaultRoute.asMPTCP
    }

    // MARK: Inputs

    /// Paths that connections have found silent lately, whichever they are.
    package mutating func suspect(_ paths: Set<InterfaceIndex>) { silentPaths = paths }

    /// The peer's host answered over another path.
    package mutating func answered(over path: InterfaceIndex, at now: MonotonicTime) -> [Action] {
        silentPaths.remove(path)
        if tcp?.value.suspicion?.path == path { tcp?.value.suspicion = nil }
        return judge(at: now)
    }

    /// The machine's paths now.
    package mutating func snapshot(_ snapshot: PathSnapshot, at now: MonotonicTime) -> [Action] {
        if latest == nil {
            cameByDefaultRoute = (
                connection.usesDefaultRoute(in: snapshot), snapshot.path(connection.interface) != nil
            )
        }
        latest = snapshot
        pathTrouble = connection.trouble(in: snapshot, configuration.policy, needsRoute: usesDefaultRoute)
        return judge(at: now)
    }

    /// The connection was MPTCP, and is plain TCP from now on.
    package mutating func fellBack(at now: MonotonicTime) -> [Action] {
        guard !connection.isTCP else { return [] }
        connection.isTCP = true
        tcp = CopyOnWrite(TCPEvidence())
        guard let latest else { return [] }
        return snapshot(latest, at: now)
    }

    /// The connection's user has written something.
    package mutating func dataWasSent(at now: MonotonicTime) {
        // The kernel's timer can't run out before 200 ms have passed; 25 ms are soon enough to look.
        guard let tcp = tcp?.value, tcp.sentAt == nil, tcp.sending.nextSample == nil else { return }
        self.tcp?.value.sentAt = now.advanced(by: .milliseconds(25))
    }

    /// The connection's user waits for bytes now, or does no more.
    package mutating func expectData(_ awaits: Bool, at now: MonotonicTime) -> [Action] {
        tcp?.value.silence.await(awaits, at: now)
        return judge(at: now)
    }

    /// The connection's state, asked for because `needsSample` said so or for any other reason.
    package mutating func sample(_ sample: SubflowSample, at now: MonotonicTime) -> [Action] {
        tcp?.value.sentAt = nil
        tcp?.value.sending.ingest(sample, at: now)
        let asks = tcp?.value.silence.ingest(sample, at: now) ?? false
        // What the tables say is dead needs no probe.
        return judge(at: now) + (asks && pathTrouble == nil ? [.probe] : [])
    }

    /// The peer's host answered a probe: accepted or refused, the path is alive.
    package mutating func probeAnswered(at now: MonotonicTime) -> [Action] {
        tcp?.value.silence.answered(at: now)
        return judge(at: now)
    }

    package mutating func timeReached(_ now: MonotonicTime) -> [Action] { judge(at: now) }

    // MARK: Outputs

    private mutating func judge(at now: MonotonicTime) -> [Action] {
        var actions: [Action] = []
        let silence: PathTrouble? = tcp?.value.silence.isDead == true ? .noAnswer : nil
        let found = pathTrouble ?? tcp?.value.sending.trouble ?? silence
        if (found == nil) != (trouble == nil) { actions.append(.viability(found == nil, found)) }
        if found == nil || trouble == nil { trouble = found }
        return actions + judgeBetterPath(at: now)
    }

    private mutating func judgeBetterPath(at now: MonotonicTime) -> [Action] {
        guard tcp != nil, usesDefaultRoute, let latest else { return [] }
        let probes = askBetterPath(in: latest, at: now)
        var silent = silentPaths
        if let suspicion = tcp?.value.suspicion { silent.insert(suspicion.path) }
        guard let better = connection.better(in: latest, configuration.policy, without: silent) else {
            tcp?.value.candidate = nil
            guard betterPath != nil else { return probes }
            betterPath = nil
            return [.betterPath(nil)] + probes
        }
        if tcp?.value.candidate?.path != better.id { tcp?.value.candidate = (better.id, now) }
        guard betterPath != better.id else { return probes }
        let isRefused =
            latest.interface(connection.interface).map { configuration.policy.refusal(of: $0) != nil } ?? true
        guard trouble != nil || isRefused || candidateDeadline.map({ $0 <= now }) ?? true else {
            return probes
        }
        betterPath = better.id
        return [.betterPath(better.id)] + probes
    }

    /// A path that would be better but was found silent is asked whether it lives.
    private mutating func askBetterPath(in latest: PathSnapshot, at now: MonotonicTime) -> [Action] {
        let best = connection.better(in: latest, configuration.policy)?.index
        var suspicion = tcp?.value.suspicion
        defer { tcp?.value.suspicion = suspicion }
        if suspicion?.path != best { suspicion = nil }
        if let best, suspicion == nil, silentPaths.contains(best) {
            suspicion = Suspicion(path: best, nextProbe: now, pause: configuration.suspicionPause)
        }
        guard let asked = suspicion, now >= asked.nextProbe else { return [] }
        suspicion?.nextProbe = now.advanced(by: asked.pause)
        suspicion?.pause = min(asked.pause * 2, configuration.longestSuspicionPause)
        return [.probeOther(asked.path)]
    }
}
