import LinuxNet

/// Chooses the interface for a connection that another program makes: of those that lead to its one address, the best that the
/// policy allows. It lives on the event thread.
package final class PathChooser: @unchecked Sendable {
    /// What becomes of a connection that is about to be made.
    package enum Choice: Sendable, Hashable {
        /// The kernel decides: the destination is this machine, or the library knows no way there that it does not.
        case leave
        /// No path that the policy allows leads there, and one that it does not allow would.
        case refuse
        /// It is to be bound to an interface, the best first. Others that lead there stand behind it.
        case bind([Way])
    }

    /// An interface that leads to a destination.
    package struct Way: Sendable, Hashable {
        package var interface: InterfaceIndex
        package var name: String
        /// Whether a connection has found it silent lately.
        package var isSuspect: Bool
    }

    private let monitor: PathMonitor
    private let policy: PathPolicy
    private let refusesUnknown: Bool
    private let probes: TCPProbes
    /// Others than those that a connect waits for, which would take their places.
    private let examinations: TCPProbes
    private var listener: SnapshotListener?
    private var observation: SuspicionObservation?
    private var isExamining = false
    /// Paths over which a destination did not answer, and did over another.
    private var silences: [IPEndpoint: PathSuspicions] = [:]
    private var whenChanged: (@Sendable () -> Void)?

    /// - Parameter refusesUnknown: whether an interface that is not known is not to be used, because others are prohibited.
    package init(_ monitor: PathMonitor, _ policy: PathPolicy, refusesUnknown: Bool = false) {
        (self.monitor, self.policy, self.refusesUnknown) = (monitor, policy, refusesUnknown)
        probes = TCPProbes(monitor.runtime.thread)
        examinations = TCPProbes(monitor.runtime.thread)
    }

    /// Begins to watch the paths.
    ///
    /// - Parameter body: called on the event thread whenever a choice may be another than before: with each snapshot, and where
    ///   a suspicion arises or ends.
    package func begin(_ body: @escaping @Sendable () -> Void) {
        let thread = monitor.runtime.thread
        thread.checkIsolated()
        whenChanged = body
        let listener = SnapshotListener { _ in body() }
        self.listener = listener
        monitor.lifetime.start()
        monitor.channel.attach(listener)
        observation = monitor.observeSuspicions { thread.submit(body) }
        if monitor.latestPath != nil { body() }
    }

    /// Chooses.
    ///
    /// - Parameter bound: the interface (0 for none) and the address that the program itself has bound its socket to; nil for
    ///   one that it has not bound.
    /// - Returns: nil before the first snapshot of the paths.
    package func choose(
        for destination: IPEndpoint, bound: (interface: InterfaceIndex, address: IPAddress?)? = nil
    ) -> Choice? {
        guard let snapshot = monitor.latestPath else { return nil }
        let runtime = monitor.runtime
        let address = destination.address.unmapped
        if case .local = runtime.routes.route(to: address, through: nil) { return .leave }
        if let bound {
            let path =
                bound.interface != 0
                ? snapshot.interface(bound.interface) : bound.address.flatMap { snapshot.interface(with: $0) }
            return judge(path)
        }
        let list = CandidateList(
            monitor.candidatePaths.paths(of: snapshot, policy), addresses: [address],
            port: destination.port, protocols: [.mptcp], route: runtime.routes.route)
        let now = MonotonicTime.now
        var suspects = monitor.suspicions.suspects(in: snapshot, at: now)
        if let own = silences[IPEndpoint(address, port: destination.port)] {
            suspects.formUnion(own.suspects(in: snapshot, at: now))
        }
        let ways = list.branches.compactMap(\.first).map {
            Way(
                interface: $0.interface, name: $0.path.name,
                isSuspect: suspects.contains($0.interface))
        }
        if !ways.isEmpty { return .bind(ways) }
        if list.omissions.contains(where: { $0.refusal != nil }) { return .refuse }
        guard case .via(let index, _) = runtime.routes.route(to: address, through: nil) else { return .leave }
        return judge(snapshot.interface(index))
    }

    /// - Parameter path: nil for an interface that the snapshot does not have.
    private func judge(_ path: PathInterface?) -> Choice {
        guard let path else { return refusesUnknown ? .refuse : .leave }
        return policy.refusal(of: path) == nil ? .leave : .refuse
    }

    /// Asks over several interfaces at once whether the destination answers, by handshakes that are reset half open.
    ///
    /// - Parameters:
    ///   - patience: how long an answer may take.
    ///   - completion: called once, with the first that answered; with nil where none did in time.
    package func probe(
        _ destination: IPEndpoint, over ways: [Way], patience: Duration,
        _ completion: @escaping (InterfaceIndex?) -> Void
    ) {
        let thread = monitor.runtime.thread
        let answer = FirstProbe(completion)
        let remote = IPEndpoint(destination.address.unmapped, port: destination.port)
        for way in ways.prefix(Self.mostProbed) {
            probes.start(to: remote, over: way.interface) { [self] in
                monitor.suspicions.alive(way.interface, since: .now)
                _ = silences[remote]?.alive(way.interface, since: .now)
                answer.settle(way.interface)
            }
        }
        _ = thread.schedule(at: .now.advanced(by: patience)) { answer.settle(nil) }
    }

    /// Looks why a handshake has had no answer for long. Where its destination answers over another interface and over its own does
    /// not, the next connections there are made as over a suspect path; with a second such host the path is suspect for all.
    ///
    /// - Parameters:
    ///   - name: the interface that the connection was bound to.
    ///   - isUnanswered: asked at the end whether the handshake itself has had no answer; its program may have given it up.
    /// - Returns: false where another look is under way.
    package func examine(
        _ destination: IPEndpoint, over name: String, isUnanswered: @escaping () -> Bool
    ) -> Bool {
        guard !isExamining else { return false }
        guard case .bind(let ways) = choose(for: destination),
            let own = ways.first(where: { $0.name == name }), !own.isSuspect,
            let other = ways.first(where: { $0.name != name && !$0.isSuspect })
        else { return true }
        isExamining = true
        let remote = IPEndpoint(destination.address.unmapped, port: destination.port)
        let (ownAnswer, otherAnswer) = (Answer(), Answer())
        let hasLeft = examinations.start(to: remote, over: own.interface) { ownAnswer.hasCome = true }
        examinations.start(to: remote, over: other.interface) { otherAnswer.hasCome = true }
        _ = monitor.runtime.thread.schedule(at: .now.advanced(by: Self.examination)) { [self] in
            isExamining = false
            guard hasLeft, otherAnswer.hasCome, !ownAnswer.hasCome, isUnanswered() else { return }
            noteSilence(of: remote, over: own.interface)
        }
        return true
    }

    private func noteSilence(of remote: IPEndpoint, over interface: InterfaceIndex) {
        guard let snapshot = monitor.latestPath, let path = snapshot.interface(interface) else { return }
        let now = MonotonicTime.now
        silences = silences.filter { !$0.value.suspects(in: snapshot, at: now).isEmpty }
        // One host may have an address of each family.
        let isSecond = silences.contains { other, suspicions in
            other.address.family == remote.address.family && other.address != remote.address
                && suspicions.suspects(in: snapshot, at: now).contains(interface)
        }
        if silences.count < Self.mostSilences {
            silences[remote, default: PathSuspicions()].silent(path, at: now)
        }
        // A firewall may keep one host's packets from one network.
        if isSecond { monitor.suspicions.silent(path, at: now) }
        whenChanged?()
    }

    /// On the event thread.
    private final class Answer: @unchecked Sendable { var hasCome = false }

    /// The kernel repeats a SYN after a second: one that was lost has its answer by then, as a rule.
    private static let examination = Duration.milliseconds(1_500)
    private static let mostSilences = 64
    private static let mostProbed = 3

    /// On the event thread.
    private final class FirstProbe: @unchecked Sendable {
        private var completion: ((InterfaceIndex?) -> Void)?
        init(_ completion: @escaping (InterfaceIndex?) -> Void) { self.completion = completion }

        func settle(_ interface: InterfaceIndex?) {
            let completion = completion.take()
            completion?(interface)
        }
    }
}

extension PathChooser {
    /// The name of an interface; nil where the snapshot has none with this number.
    package func name(of interface: InterfaceIndex) -> String? {
        monitor.latestPath?.interface(interface)?.name
    }
}
