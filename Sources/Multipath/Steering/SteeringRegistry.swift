import LinuxNet

/// Steers the subflows of this process's MPTCP connections, all of them on the one event thread. What to do when
/// is decided by each connection's `SteeringMachine` alone; this brings it what the kernel says, and performs what
/// it wants.
actor SteeringRegistry {
    nonisolated let unownedExecutor = EventThread.shared.asUnownedSerialExecutor()

    static let shared = SteeringRegistry()
    static let wakeList = WakeList()

    private var source: LocalSocketSource?
    private var control: (any SubflowControl)?
    /// For connections whose sockets others made; it changes the endpoints of the whole network namespace.
    private var endpoints: (any SubflowControl)?
    private var events: SubflowEvents?
    private var connections: [ConnectionToken: SteeringRunner] = [:]
    /// Connections that are sampled now.
    var active = 0
    private var monitors: [ObjectIdentifier: Watched] = [:]

    /// A monitor that connections learn of paths from.
    private struct Watched {
        let monitor: PathMonitor
        let observation: UInt64
        var connections: Set<ConnectionToken> = []
    }

    /// The least time between two samples of one connection: a sample takes some tens of microseconds, and all
    /// together are to take a few hundredths of a processor.
    var pace: Duration { max(.milliseconds(2), .microseconds(500) * (active - 16)) }

    /// Whether so many connections are active that what is done for several at once is worth a few milliseconds.
    var isCrowded: Bool { active > 16 }

    /// Tells the other connections what one has found out.
    func share(_ verdict: PathVerdict, of connection: SteeringRunner) {
        DeferredStarts.shared.startAll { _ in true }
        for other in connections.values where other !== connection { other.take(verdict) }
    }

    /// Begins an attempt with an MPTCP socket whose subflows can be steered as far as this process may.
    ///
    /// - Parameter isMapped: whether to make an IPv6 socket for an IPv4 destination, where this kernel has IPv6.
    func attempt(_ family: IPAddress.Family, isMapped: Bool) -> Result<RaceAttempt, SystemError> {
        do throws(SystemError) {
            if isMapped, let steered = try? prepared().makeSocket(.ipv6) {
                let level = steered.level
                return .success(RaceAttempt(steered.releaseSocket(), level, isMapped: true))
            }
            let steered = try prepared().makeSocket(family)
            let level = steered.level
            return .success(RaceAttempt(steered.releaseSocket(), level))
        } catch {
            return .failure(error)
        }
    }

    /// Finds out once what this process may, and listens to the path manager from then on: the kernel refuses a
    /// peer's joins to connections of the userspace path manager while nobody does.
    private func prepared() -> LocalSocketSource {
        if let source { return source }
        let source = LocalSocketSource()
        self.source = source
        guard source.level == .perConnection else { return source }
        let events = SubflowEvents(on: .shared, hidesCreations: true)
        let availability = events.start { event in
            Self.shared.onEventThread { $0.take(event) }
        }
        guard availability == .listening else { return source }
        self.events = events
        control = try? ControlLevel.perConnection.makeControl()
        return source
    }

    /// Steers a connection from now on.
    func add(_ connection: SteeringRunner) {
        _ = prepared()
        guard let token = connection.token, connections[token] == nil else { return }
        connections[token] = connection
        assign(token, connection)
        let monitor = connection.monitor
        let id = ObjectIdentifier(monitor.channel)
        if monitors[id] == nil {
            monitor.lifetime.start()
            let observation = monitor.channel.observe { snapshot in
                // A source of somebody's own tells from its own thread.
                EventThread.shared.submit { Self.shared.onEventThread { $0.take(snapshot, from: id) } }
            }
            monitors[id] = Watched(monitor: monitor, observation: observation)
        }
        monitors[id]?.connections.insert(token)
        if let snapshot = monitor.latestPath { connection.take(snapshot) }
    }

    /// Finds out how far a connection can be steered. Of one whose socket somebody else made only trying tells.
    private func assign(_ token: ConnectionToken, _ connection: SteeringRunner) {
        guard connection.isForeign else {
            connection.control = control
            return
        }
        guard let control else {
            return connection.meter.set(.observeOnly(because: source?.level.limit ?? .noPrivilege))
        }
        switch control.limit(of: token) {
        case nil:
            connection.meter.set(.perConnection)
            connection.control = control
        case .foreignSocket? where !connection.isAcceptor && connection.maySteerAll:
            let level = ControlLevel.systemWide(because: .foreignSocket)
            if endpoints == nil { endpoints = try? level.makeControl() }
            connection.meter.set(level)
            connection.control = endpoints
            connection.isAlone = false
        case .some(let limit): connection.meter.set(.observeOnly(because: limit))
        }
    }

    func remove(_ connection: SteeringRunner) {
        guard let token = connection.token, connections[token] === connection else { return }
        connections[token] = nil
        if !connection.isAlone, connections.values.allSatisfy(\.isAlone) {
            // The last of those that share the kernel's endpoints: they are again what they were.
            try? (endpoints as? EndpointSubflowControl)?.restore()
            endpoints = nil
        }
        let id = ObjectIdentifier(connection.monitor.channel)
        monitors[id]?.connections.remove(token)
        if let watched = monitors[id], watched.connections.isEmpty {
            watched.monitor.channel.endObservation(watched.observation)
            monitors[id] = nil
        }
    }

    private func take(_ snapshot: PathSnapshot, from monitor: ObjectIdentifier) {
        for token in monitors[monitor]?.connections ?? [] { connections[token]?.take(snapshot) }
    }

    private func take(_ event: SubflowEvent) {
        if let token = event.token {
            if connections[token] == nil {
                DeferredStarts.shared.startAll { ($0 as? SteeringRunner)?.token == token }
            }
            connections[token]?.take(event)
        } else if event == .lost {
            for connection in connections.values { connection.take(event) }
        }
    }
}
