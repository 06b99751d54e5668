import LinuxNet
import PathBroker

/// A connection whose subflows are steered, as far as the registry knows it. Everything happens on the event thread.
protocol SteeringMember: AnyObject {
    var token: ConnectionToken { get }
    func ingest(_ event: SubflowEvent)
    func ingest(_ verdict: PathVerdict)
    /// An order that was under way has been done, or not.
    func ingest(_ outcome: Result<SubflowOutcome, SystemError>, of action: SubflowAction)
    /// The connection is not steered, for this reason.
    func ingest(_ limit: ControlLimit)
    /// Calls a closure with the connection's descriptor, where it is open; later where it has to be borrowed.
    func withDescriptor(_ body: @escaping (CInt) -> Void)
}

/// The MPTCP connections of this process that are steered, and what they share: the path manager's events, its
/// commands. Only the event thread may use it.
///
/// Each connection's machine decides what is done when; the registry brings it what the kernel reports.
final class SteeringRegistry: @unchecked Sendable {
    /// Which levers a connection may have.
    struct Permissions {
        /// Other code than this library made its socket.
        var isForeign = false
        var isAcceptor = false
        /// Whether the endpoints of the whole network namespace may be changed for it.
        var maySteerAll = false
    }

    /// Which levers a connection has got.
    struct Assignment {
        /// Nil for what the socket was made with.
        var level: ControlLevel?
        var control: (any SubflowControl)?
        /// Whether its control reaches this connection only.
        var isAlone = true
    }

    private let thread: EventThread
    private let deferredStarts: DeferredStarts
    private var source: LocalSocketSource?
    private var control: (any SubflowControl)?
    /// Nil where this process steers by itself, or there is no MPTCP to steer.
    private var broker: BrokeredSteering?
    /// For connections whose sockets others made; it changes the endpoints of the whole network namespace.
    private var endpoints: EndpointSubflowControl?
    private var events: SubflowEvents?
    /// Connections that `mpathd` is to take in a moment.
    private var attempts: [ConnectionToken: EventThread.Token] = [:]
    /// When to find out again what this process may; nil where the answer stands.
    private var retryAt: MonotonicTime?
    /// A want of descriptors or memory passes, and an administrator may change a setting.
    private static let retryInterval = Duration.seconds(1)
    /// The peers of these connections take no further subflow at their first address (RFC 8684 section 3.1). Not yet followed.
    private var denials: [SubflowEvent] = []
    private static let mostDenials = 256
    /// What peers have announced or wished, in the second that began then: of all connections of the network namespace, and of each that
    /// is followed.
    private var announcements: (since: MonotonicTime, count: Int, own: [ConnectionToken: Int]) = (
        .zero, 0, [:]
    )
    private var members: [ConnectionToken: Member] = [:]
    /// What its connections hear of their peers while one of them probes a path.
    var signs = SignsOfLife()

    private struct Member {
        let member: any SteeringMember
        let isAlone: Bool
        /// Whether `mpathd` steers it for this process.
        let isBrokered: Bool
    }

    /// - Parameter brokerPath: where `mpathd` is to be asked whatever this process itself may; nil for where it is needed.
    init(_ thread: EventThread, _ deferredStarts: DeferredStarts, brokerPath: String? = nil) {
        self.thread = thread
        self.deferredStarts = deferredStarts
        if let brokerPath { broker = makeBroker(at: brokerPath) }
    }

    /// Makes an MPTCP socket whose subflows can be steered as far as this process may. Where its level is
    /// `perConnectionByBroker` it is to be prepared before it is connected.
    func makeSocket(_ family: IPAddress.Family) throws(SystemError) -> ControlledSocket {
        thread.checkIsolated()
        let source = prepared()
        let made = try source.makeSocket(family)
        guard let broker, broker.mayPrepare else {
            guard let limit = broker?.limit, case .observeOnly = source.level else { return made }
            return ControlledSocket(made.releaseSocket(), .observeOnly(because: limit))
        }
        return ControlledSocket(made.releaseSocket(), .perConnectionByBroker)
    }

    /// Has `mpathd` give a socket the userspace path manager.
    ///
    /// - Parameter completion: called once, later as a rule: with what became of it.
    func prepare(
        patience: Duration = BrokerClient.answerPatience, _ descriptor: @escaping () -> CInt?,
        _ completion: @escaping (BrokeredSteering.Preparation) -> Void
    ) {
        thread.checkIsolated()
        guard let broker else { return completion(.refused(.noPrivilege)) }
        broker.prepare(patience: patience, descriptor, completion)
    }

    /// Gives a program's socket the userspace path manager that has not got it when it was made, before it is connected.
    ///
    /// - Parameters:
    ///   - deadline: from then on the socket is left alone.
    ///   - patience: how much longer an answer of `mpathd` is waited for.
    ///   - completion: called once, now or later.
    func prepareLate(
        _ descriptor: CInt, by deadline: MonotonicTime, patience: Duration,
        _ completion: @escaping (BrokeredSteering.Preparation) -> Void
    ) {
        thread.checkIsolated()
        guard let broker else { return completion(.refused(.noPrivilege)) }
        broker.prepare(descriptor, by: deadline, patience: patience, completion)
    }

    /// A connection of a prepared socket has come about.
    func attach(_ token: ConnectionToken, by descriptor: CInt) {
        thread.checkIsolated()
        broker?.control.attach(token, by: descriptor)
    }

    /// Connects to `mpathd` where this process would need it, ahead of the first socket.
    func begin() {
        thread.checkIsolated()
        _ = prepared()
        broker?.client.start()
    }

    /// Finds out what this process may, and listens to the path manager from then on: the kernel refuses a peer's joins
    /// to connections of the userspace path manager while no program listens. What failed is tried again later, and no
    /// socket gets the userspace path manager before all is there that steers it.
    private func prepared() -> LocalSocketSource {
        if let source, retryAt.map({ MonotonicTime.now < $0 }) ?? true { return source }
        var source = LocalSocketSource()
        if source.level == .perConnection, let limit = prepareControl() {
            source = LocalSocketSource(observingBecause: limit)
        }
        if broker == nil, source.level.mayHaveBroker { broker = makeBroker() }
        retryAt = nil
        if source.level.limit?.mayPass == true { retryAt = .now.advanced(by: Self.retryInterval) }
        self.source = source
        return source
    }

    private func makeBroker(at path: String = BrokerClient.standardPath) -> BrokeredSteering {
        let broker = BrokeredSteering(on: thread, path: path)
        broker.client.onEvent = { [weak self] event in self?.ingest(event) }
        broker.client.onReady = { [weak self] in
            guard let self else { return }
            for (token, known) in members where known.isBrokered { attach(token) }
        }
        broker.client.onLost = { [weak broker] in broker?.control.forgetAll() }
        broker.client.isNeeded = { [weak self] in
            self?.members.values.contains(where: \.isBrokered) ?? false
        }
        broker.control.onOutcome = { [weak self] outcome, action, token in
            self?.members[token]?.member.ingest(outcome, of: action)
        }
        broker.control.onRefusal = { [weak self] limit, token in
            self?.members[token]?.member.ingest(limit)
        }
        broker.control.onDetachment = { [weak self] token, pause in self?.attach(token, after: pause) }
        return broker
    }

    /// Has `mpathd` take a connection that it has not, or not any more.
    ///
    /// - Parameter patience: after that it is tried again, for a descriptor may not be had.
    private func attach(_ token: ConnectionToken, _ patience: Duration = firstLoan) {
        guard let known = members[token], known.isBrokered, let broker, !broker.control.isAttached(token)
        else { return }
        known.member.withDescriptor { [weak self] descriptor in
            // Where it is not followed any more nothing would detach it.
            guard self?.members[token] != nil else { return }
            broker.control.attach(token, by: descriptor)
        }
        guard !broker.control.isAttached(token) else { return }
        // Where the daemon is gone, the connection is attached when it is back as well (`onReady`).
        broker.client.start()
        attach(token, after: patience, min(patience * 2, Self.longestLoan))
    }

    /// In a moment; what was to be tried before or after that is not: a daemon that stays away is not asked more and more.
    private func attach(_ token: ConnectionToken, after pause: Duration, _ patience: Duration = firstLoan) {
        forgetAttempt(of: token)
        attempts[token] = thread.schedule(at: .now.advanced(by: pause)) { [weak self] in
            guard let self else { return }
            attempts[token] = nil
            attach(token, patience)
        }
    }

    private func forgetAttempt(of token: ConnectionToken) {
        if let attempt = attempts.removeValue(forKey: token) { thread.cancelTimer(attempt) }
    }

    private static let firstLoan = Duration.milliseconds(250)
    private static let longestLoan = Duration.seconds(4)

    /// - Returns: what stands in the way; nil for nothing.
    private func prepareControl() -> ControlLimit? {
        let events = SubflowEvents(on: thread, hidesCreations: true)
        if case .unavailable(let limit) = events.start({ [weak self] event in self?.ingest(event) }) {
            return limit
        }
        do throws(SystemError) {
            control = ConnectionSubflowControl(try SubflowCommands())
        } catch {
            events.stop()
            return .failed("\(error)")
        }
        self.events = events
        return nil
    }

    /// Tells a connection what concerns it from now on. A second member of one token is told nothing.
    func add(_ member: any SteeringMember, isAlone: Bool) {
        thread.checkIsolated()
        guard members[member.token] == nil else { return }
        let isBrokered = isAlone && control == nil
        members[member.token] = Member(member: member, isAlone: isAlone, isBrokered: isBrokered)
        // Lost with the daemon, or never sent.
        if isBrokered { attach(member.token) }
        for event in denials where event.token == member.token { member.ingest(event) }
        denials.removeAll { $0.token == member.token }
    }

    /// Reads what the kernel has announced up to now.
    func drainEvents() {
        thread.checkIsolated()
        events?.drain()
        broker?.client.drain()
    }

    /// Finds out how far a connection can be steered. Where the caller's own library did not make its socket, or could not
    /// give it the userspace path manager, only trying tells: the kernel refuses orders for a connection of its own.
    ///
    /// - Parameter level: what the socket was made with.
    func assignment(
        of token: ConnectionToken, _ permissions: Permissions, madeWith level: ControlLevel
    ) -> Assignment {
        thread.checkIsolated()
        _ = prepared()
        if !permissions.isForeign, level == .perConnection { return Assignment(control: control) }
        if !permissions.isForeign, level == .perConnectionByBroker, let broker {
            if let limit = broker.control.limit(of: token) {
                return Assignment(level: .observeOnly(because: limit))
            }
            return Assignment(control: broker.control)
        }
        guard let control else {
            let own = permissions.isForeign ? nil : level.limit
            return Assignment(level: .observeOnly(because: own ?? source?.level.limit ?? .noPrivilege))
        }
        switch control.limit(of: token) {
        case nil: return Assignment(level: .perConnection, control: control)
        case .foreignSocket? where !permissions.isAcceptor && permissions.maySteerAll:
            if endpoints == nil {
                endpoints = try? EndpointSubflowControl(SubflowCommands())
            }
            return Assignment(
                level: .systemWide(because: .foreignSocket), control: endpoints, isAlone: false)
        case .some(let limit):
            let reason = permissions.isForeign ? nil : level.limit
            return Assignment(level: .observeOnly(because: reason ?? limit))
        }
    }

    func remove(_ member: any SteeringMember) {
        thread.checkIsolated()
        guard let known = members[member.token], known.member === member else { return }
        members[member.token] = nil
        forgetAttempt(of: member.token)
        if known.isBrokered { broker?.control.detach(member.token) }
        guard !known.isAlone, members.values.allSatisfy(\.isAlone) else { return }
        // It was the last of those that share the kernel's endpoints: they become again what they were.
        try? endpoints?.restore()
        endpoints = nil
    }

    /// Tells the other connections what one has found out.
    func share(_ verdict: PathVerdict, of member: any SteeringMember) {
        deferredStarts.startAll()
        for other in members.values where other.member !== member { other.member.ingest(verdict) }
    }

    private func ingest(_ event: SubflowEvent) {
        if event.isPeersChoice, let token = event.token, isFlood(of: token) { return }
        if let token = event.token {
            if members[token] == nil { deferredStarts.start(token) }
            if event == .closed(token) {
                denials.removeAll { $0.token == token }
                broker?.control.forget(token)
            }
            if let known = members[token] { return known.member.ingest(event) }
            // It may be followed in a moment.
            guard case .established(_, _, _, true) = event else { return }
            if denials.count >= Self.mostDenials { denials.removeFirst() }
            denials.append(event)
        } else if event == .lost {
            for other in members.values { other.member.ingest(event) }
        }
    }

    /// A peer may announce addresses, take them back, and say which subflow is to carry, without end, and each costs a wake-up.
    /// Those of one connection that are too many are ignored. Where all together cost too much the kernel is told to keep
    /// them to itself for a second.
    private func isFlood(of token: ConnectionToken) -> Bool {
        let now = MonotonicTime.now
        if announcements.since.duration(to: now) >= .seconds(1) { announcements = (now, 0, [:]) }
        announcements.count += 1
        if announcements.count > Self.mostAnnouncements { events?.hideAnnouncements(for: .seconds(1)) }
        guard members[token] != nil || announcements.own.count < Self.mostAnnouncers else { return false }
        announcements.own[token, default: 0] += 1
        return announcements.own[token, default: 0] > Self.mostOfOne
    }

    /// In a second: of one peer twice what is kept of its addresses, and of all what costs a hundredth of a core.
    private static let mostOfOne = 16
    /// Connections that are not followed yet and whose announcements are counted each for itself.
    private static let mostAnnouncers = 256
    private static let mostAnnouncements = 1000
}
