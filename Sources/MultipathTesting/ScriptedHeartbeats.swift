import LinuxNet
import Multipath

/// A translator (NAT) or firewall that forgets connections.
///
/// ```swift
/// var nat = ScriptedNAT(forgetsAfter: .seconds(120))
/// nat.passes(at: clock.now)       // true: there was no silence yet
/// ```
public struct ScriptedNAT: Sendable, Hashable {
    /// After so long without a packet it forgets the connection, and drops all that comes later; nil for never.
    public var forgetsAfter: Duration?
    /// Whether it has forgotten the connection.
    public private(set) var hasForgotten = false
    private var latest: ManualClock.Instant

    /// A translator that has seen a packet of the connection.
    public init(forgetsAfter: Duration?, at now: ManualClock.Instant = .init()) {
        self.forgetsAfter = forgetsAfter
        latest = now
    }

    /// A packet comes, from either side.
    ///
    /// - Returns: whether it gets through.
    public mutating func passes(at now: ManualClock.Instant) -> Bool {
        if let forgetsAfter, latest.duration(to: now) >= forgetsAfter { hasForgotten = true }
        if !hasForgotten { latest = now }
        return !hasForgotten
    }
}

/// Heartbeats on a clock that stands still until a test moves it, over connections behind scripted translators. Nothing of them
/// is kept in the user's state folder.
///
/// ```swift
/// let heartbeats = ScriptedHeartbeats()
/// let connection = heartbeats.connection(behind: ScriptedNAT(forgetsAfter: .seconds(45)))
/// let heartbeat = connection.heartbeat { chat.ping() } told: { chat.heartbeat($0) }
/// heartbeats.clock.advance(by: .seconds(30))
/// connection.answer(heartbeat)
/// ```
public final class ScriptedHeartbeats: Sendable {
    /// Moves the time. When it returns, all pings that were due are sent.
    public let clock: ManualClock
    let hub: HeartbeatHub

    /// Heartbeats that know no network yet.
    ///
    /// - Parameter clock: may be shared with other parts of a test.
    public init(clock: ManualClock = ManualClock()) {
        self.clock = clock
        hub = HeartbeatHub(AlarmClock(clock))
    }

    /// How often pings were sent, many at once counted as one.
    public var wakeUps: Int { hub.wakeUpCount }

    /// A connection.
    ///
    /// - Parameters:
    ///   - nat: what is on its way.
    ///   - network: connections in networks of one name share what is known of it.
    ///   - roundTrip: what a round trip takes, as the kernel would say.
    public func connection(
        behind nat: ScriptedNAT = ScriptedNAT(forgetsAfter: nil), network: String = "scripted",
        roundTrip: Duration = .milliseconds(50)
    ) -> ScriptedConnection {
        ScriptedConnection(self, nat, network, roundTrip)
    }
}

/// An idle connection of a test.
public final class ScriptedConnection: Sendable {
    private struct State {
        var nat: ScriptedNAT
        var network: String
        var received: ManualClock.Instant
        var sent: ManualClock.Instant
        var isClosed = false
        var isPeerDead = false
    }

    private let heartbeats: ScriptedHeartbeats
    private let state: Locked<State>
    private let roundTrip: Duration

    init(
        _ heartbeats: ScriptedHeartbeats, _ nat: ScriptedNAT, _ network: String, _ roundTrip: Duration
    ) {
        self.heartbeats = heartbeats
        self.roundTrip = roundTrip
        let now = heartbeats.clock.now
        // The connection comes about now, whenever the test made the translator.
        let nat = ScriptedNAT(forgetsAfter: nat.forgetsAfter, at: now)
        state = Locked(State(nat: nat, network: network, received: now, sent: now))
    }

    /// A heartbeat over this connection: as `Heartbeat.init(of:pingSize:ping:told:)`.
    public func heartbeat(
        pingSize: Int = 6, ping: @escaping @Sendable () -> Void,
        told: @escaping @Sendable (Heartbeat.Event) -> Void
    ) -> Heartbeat {
        Heartbeat(of: self, in: heartbeats.hub, pingSize: pingSize, ping: ping, told: told)
    }

    /// A heartbeat whose pings are answered at once where the way and the peer allow it.
    ///
    /// - Parameter told: what happens.
    public func answeredHeartbeat(told: @escaping @Sendable (Heartbeat.Event) -> Void = { _ in }) -> Heartbeat
    {
        struct Place {
            weak var heartbeat: Heartbeat?
        }
        let place = Locked(Place())
        let made = heartbeat(
            ping: { [weak self] in
                if let self, passes() { place.withLock { $0.heartbeat }?.answered() }
            }, told: told)
        place.withLock { $0.heartbeat = made }
        return made
    }

    /// The answer to a ping comes, where the way and the peer allow it.
    ///
    /// - Returns: whether it did.
    @discardableResult
    public func answer(_ heartbeat: Heartbeat) -> Bool {
        guard passes() else { return false }
        heartbeat.answered()
        return true
    }

    /// Bytes of the peer's come, where the way and the peer allow it.
    ///
    /// - Returns: whether they did.
    @discardableResult
    public func receive() -> Bool { passes() }

    /// The peer is gone without a word.
    public func killPeer() { state.withLock { $0.isPeerDead = true } }

    /// The connection closes: its socket says so.
    public func close() { state.withLock { $0.isClosed = true } }

    /// The connection's data takes another network from now on, behind another translator.
    public func move(to network: String, behind nat: ScriptedNAT = ScriptedNAT(forgetsAfter: nil)) {
        let now = heartbeats.clock.now
        state.withLock { state in
            (state.network, state.nat) = (network, ScriptedNAT(forgetsAfter: nat.forgetsAfter, at: now))
        }
    }

    private func passes() -> Bool {
        let now = heartbeats.clock.now
        return state.withLock { state in
            guard !state.isPeerDead, !state.isClosed, state.nat.passes(at: now) else { return false }
            state.received = now
            return true
        }
    }
}

extension ScriptedConnection: HeartbeatSubject {
    package func heartbeatSilence() -> HeartbeatSilence? {
        let now = heartbeats.clock.now
        return state.withLock { state in
            guard !state.isClosed else { return nil }
            let received = state.received.duration(to: now)
            return HeartbeatSilence(received: received, arrived: received, sent: received)
        }
    }

    package func heartbeatSilenceAtEnd() -> Duration? {
        state.withLock { $0.received.duration(to: heartbeats.clock.now) }
    }

    package var heartbeatNetwork: HeartbeatNetwork? {
        HeartbeatNetwork(family: .ipv4, type: .wifi, name: state.withLock { $0.network })
    }

    package var heartbeatRoundTrip: Duration? { roundTrip }

    package var heartbeatStore: HeartbeatStore? { nil }
}

/// A manual clock as heartbeats live on it: closures run where they are submitted, one after the other.
private final class AlarmClock: HeartbeatClock {
    private struct State {
        var waiting: [@Sendable () -> Void] = []
        var isRunning = false
    }

    private let clock: ManualClock
    private let state = Locked(State())

    init(_ clock: ManualClock) { self.clock = clock }

    /// A clock of a process begins long before its heartbeats.
    private static let origin = MonotonicTime(nanoseconds: 1_000_000_000_000_000)

    var now: MonotonicTime { Self.origin.advanced(by: clock.now.offset) }

    func submit(_ body: @escaping @Sendable () -> Void) {
        let isFirst = state.withLock { state in
            state.waiting.append(body)
            defer { state.isRunning = true }
            return !state.isRunning
        }
        guard isFirst else { return }
        while let next = state.withLock({ state -> (@Sendable () -> Void)? in
            guard !state.waiting.isEmpty else {
                state.isRunning = false
                return nil
            }
            return state.waiting.removeFirst()
        }) { next() }
    }

    func setAlarm(at time: MonotonicTime?, _ body: @escaping @Sendable () -> Void) {
        clock.setAlarm(
            of: self, at: time.map { ManualClock.Instant(offset: Self.origin.duration(to: $0)) }
        ) { [weak self] in self?.submit(body) }
    }
}
