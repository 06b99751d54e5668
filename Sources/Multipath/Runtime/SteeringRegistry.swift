import LinuxNet

/// A connection whose subflows are steered, as far as the registry knows it. Everything happens on the event thread.
protocol SteeringMember: AnyObject {
    var token: ConnectionToken { get }
    func ingest(_ event: SubflowEvent)
    func ingest(_ verdict: PathVerdict)
}

/// The MPTCP connections of this process that are steered, and what they share: the path manager's events, its
/// commands, and how often one of them may be sampled. Only the event thread may use it.
///
/// Each connection's machine decides what is done when; the registry brings it what the kernel reports.
final class SteeringRegistry: @unchecked Sendable {
    /// Which levers a connection may have.
    struct Permissions {
        /// Another program part made its socket.
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
    /// For connections whose sockets others made; it changes the endpoints of the whole network namespace.
    private var endpoints: EndpointSubflowControl?
    private var events: SubflowEvents?
    private var members: [ConnectionToken: (member: any SteeringMember, isAlone: Bool)] = [:]
    /// Connections that are sampled now.
    var active = 0

    init(_ thread: EventThread, _ deferredStarts: DeferredStarts) {
        self.thread = thread
        self.deferredStarts = deferredStarts
    }

    /// The least time between two samples of one connection: a sample takes some tens of microseconds, and all
    /// together are to take a few hundredths of a processor.
    var pace: Duration { max(.milliseconds(2), .microseconds(500) * (active - 16)) }

    /// Whether so many connections are active that what is done for several at once is worth a few milliseconds.
    var isCrowded: Bool { active > 16 }

    /// Makes an MPTCP socket whose subflows can be steered as far as this process may.
    func makeSocket(_ family: IPAddress.Family) throws(SystemError) -> SteeredSocket {
        thread.checkIsolated()
        return try prepared().makeSocket(family)
    }

    /// Finds out once what this process may, and listens to the path manager from then on: the kernel refuses a
    /// peer's joins to connections of the userspace path manager while no program listens.
    private func prepared() -> LocalSocketSource {
        if let source { return source }
        let source = LocalSocketSource()
        self.source = source
        guard source.level == .perConnection else { return source }
        let events = SubflowEvents(on: thread, hidesCreations: true)
        let availability = events.start { [unowned self] event in ingest(event) }
        guard availability == .listening else { return source }
        self.events = events
        control = try? ControlLevel.perConnection.makeControl()
        return source
    }

    /// Tells a connection what concerns it from now on.
    /// - Returns: nil where another member has the same token.
    func add(_ member: any SteeringMember, _ permissions: Permissions) -> Assignment? {
        thread.checkIsolated()
        _ = prepared()
        guard members[member.token] == nil else { return nil }
        let assignment = assignment(of: member.token, permissions)
        members[member.token] = (member, assignment.isAlone)
        return assignment
    }

    /// Finds out how far a connection can be steered. Of one whose socket somebody else made only trying tells.
    private func assignment(of token: ConnectionToken, _ permissions: Permissions) -> Assignment {
        guard permissions.isForeign else { return Assignment(control: control) }
        guard let control else {
            return Assignment(level: .observeOnly(because: source?.level.limit ?? .noPrivilege))
        }
        switch control.limit(of: token) {
        case nil: return Assignment(level: .perConnection, control: control)
        case .foreignSocket? where !permissions.isAcceptor && permissions.maySteerAll:
            if endpoints == nil { endpoints = try? EndpointSubflowControl() }
            return Assignment(
                level: .systemWide(because: .foreignSocket), control: endpoints, isAlone: false)
        case .some(let limit): return Assignment(level: .observeOnly(because: limit))
        }
    }

    func remove(_ member: any SteeringMember) {
        thread.checkIsolated()
        guard let known = members[member.token], known.member === member else { return }
        members[member.token] = nil
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
        if let token = event.token {
            if members[token] == nil { deferredStarts.start(token) }
            members[token]?.member.ingest(event)
        } else if event == .lost {
            for other in members.values { other.member.ingest(event) }
        }
    }
}
