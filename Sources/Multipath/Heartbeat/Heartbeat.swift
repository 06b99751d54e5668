import LinuxNet

/// Asks now and then whether the peer of an idle connection is still there, and keeps the connection known to the translators
/// on the way: for connections that wait for something to be pushed.
///
/// ```swift
/// let heartbeat = Heartbeat(of: follower, pingSize: 6) { send(ping) } told: { event in
///     if case .dead = event { reconnect() }
/// }
/// // … where bytes are read:
/// if message == pong { heartbeat.answered() }
/// ```
///
/// TCP's own keepalive asks the peer's kernel; this asks the service. It is silent while bytes come: the silence is counted from
/// the last byte received. How long it may last is found out for each network (a Wi-Fi network's name, a modem, a
/// wire's router): 30 s at first, longer while that is answered, up to 10 minutes, and shorter again where a
/// connection was lost by it. What was found is kept in the user's state folder (`MULTIPATH_HOME`, `XDG_STATE_HOME`), and
/// tried by one connection before others rely on it. The heartbeats of a process are sent together.
///
/// A ping that is not answered within three round trips (1 s at least, 15 s at most) is sent once more, over the path that the
/// data takes by then: a steered MPTCP connection has left a dead path meanwhile. Where that has no answer either, the
/// connection is dead.
///
/// It ends when it is dropped, with `stop`, and with the connection.
public final class Heartbeat: Sendable {
    /// What happens.
    public enum Event: Sendable, Hashable {
        /// The ping was answered after this time.
        case answered(after: Duration)
        /// A ping had no answer in time; it is sent once more.
        case unanswered
        /// The second one had none either. Nothing has come for so long; the heartbeat has ended, and the connection is to be
        /// closed.
        case dead(silentFor: Duration)
    }

    /// What it has done so far.
    public struct Report: Sendable, Hashable {
        /// Pings sent, those that were sent once more among them.
        public var pings = 0
        /// Answers that were recognised.
        public var answers = 0
        /// Bytes of the pings, as the caller said.
        public var bytesSent = 0
        /// Since the heartbeat began, until its end or until now.
        public var duration = Duration.zero
        /// After how much silence it asks now; nil before it has begun, and after its end.
        public var interval: Duration?

        /// Pings an hour, on the average so far.
        public var pingsPerHour: Double {
            duration > .zero ? Double(pings) * 3_600 / duration.inSeconds : 0
        }
    }

    private struct State {
        var id: HeartbeatSchedule.ID?
        var isStopped = false
        var pinged: MonotonicTime?
        var ended: MonotonicTime?
        var report = Report()
    }

    let subject: any HeartbeatSubject
    private let hub: HeartbeatHub
    private let pingSize: Int
    private let sendPing: @Sendable () -> Void
    private let body: @Sendable (Event) -> Void
    private let begun: MonotonicTime
    private let state = Locked(State())

    /// A connection's heartbeat. It begins at once.
    ///
    /// - Parameters:
    ///   - follower: the connection's.
    ///   - pingSize: the ping's bytes, for the report: few, 10 at most.
    ///   - ping: sends the ping. Called on a thread that must not be held up.
    ///   - told: what happens, on the same thread.
    public convenience init(
        of follower: ConnectionFollower, pingSize: Int, ping: @escaping @Sendable () -> Void,
        told: @escaping @Sendable (Event) -> Void
    ) {
        self.init(of: follower, in: .process, pingSize: pingSize, ping: ping, told: told)
    }

    package init(
        of subject: any HeartbeatSubject, in hub: HeartbeatHub, pingSize: Int,
        ping: @escaping @Sendable () -> Void, told: @escaping @Sendable (Event) -> Void
    ) {
        self.subject = subject
        self.hub = hub
        self.pingSize = pingSize
        sendPing = ping
        body = told
        begun = hub.clock.now
        hub.add(self)
    }

    deinit { stop() }

    /// The answer to the ping has come. Bytes of any other kind need not be told: the kernel says when one came last.
    public func answered() {
        state.withLock { $0.report.answers += 1 }
        hub.answered(self)
    }

    /// The peer, or a translator on the way, has ended the connection. It ends the heartbeat as `stop` does, and tells it what
    /// the end says of the network: a reset that answers a ping says that the network had forgotten the connection, and an
    /// end while a longer silence than the proven one is tried, that such a silence is too long.
    ///
    /// - Parameter byReset: whether it was by a reset (ECONNRESET), and not by a FIN.
    public func connectionEnded(byReset: Bool) {
        let silence = subject.heartbeatSilenceAtEnd()
        let id = state.withLock { state -> HeartbeatSchedule.ID? in
            end(&state)
            return state.id.take()
        }
        if let id { hub.connectionEnded(id, byReset: byReset, after: silence) }
    }

    /// Ends the heartbeat. Nothing is told any more but what is under way.
    public func stop() {
        let id = state.withLock { state -> HeartbeatSchedule.ID? in
            end(&state)
            return state.id.take()
        }
        if let id { hub.remove(id) }
    }

    /// What it has done so far.
    public var report: Report {
        state.withLock { state in
            var report = state.report
            report.duration = begun.duration(to: state.ended ?? hub.clock.now)
            return report
        }
    }

    // MARK: For the hub

    /// Nil before the hub knows it, and after its end.
    var id: HeartbeatSchedule.ID? { state.withLock { $0.id } }

    /// The hub knows it by this number from now on.
    ///
    /// - Returns: false where it has a number already, or was stopped meanwhile.
    func begin(_ id: HeartbeatSchedule.ID) -> Bool {
        state.withLock { state in
            guard state.id == nil, !state.isStopped else { return false }
            state.id = id
            return true
        }
    }

    /// When the last ping was sent.
    var pinged: MonotonicTime? { state.withLock { $0.pinged } }

    func note(interval: Duration?) { state.withLock { $0.report.interval = interval } }

    func tell(_ event: Event) { body(event) }

    func ping(at now: MonotonicTime) {
        state.withLock { state in
            state.pinged = now
            state.report.pings += 1
            state.report.bytesSent += pingSize
        }
        sendPing()
    }

    func died(after silence: Duration) {
        state.withLock { state in
            end(&state)
            state.id = nil
        }
        body(.dead(silentFor: silence))
    }

    private func end(_ state: inout State) {
        state.isStopped = true
        state.report.interval = nil
        if state.ended == nil { state.ended = hub.clock.now }
    }
}
