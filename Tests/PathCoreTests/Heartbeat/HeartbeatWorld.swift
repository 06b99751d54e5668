// Connections that idle behind a translator, in simulated time.

import PathCore
import TestSupport

/// A translator, the connections behind it, and the schedule of their heartbeats. A connection that is declared dead is made
/// anew a second later.
struct HeartbeatWorld {
    struct Connection {
        /// The last packet that the translator saw of it.
        var packet: MonotonicTime
        var isForgotten = false
        var peerIsDead = false
        var pinged: MonotonicTime?
        var received: MonotonicTime
    }

    enum Happening {
        case answer(HeartbeatSchedule.ID)
        case data(HeartbeatSchedule.ID)
        case connect
    }

    /// What a ping of 6 bytes and its answer take on the wire over IPv4: two segments with data, each acknowledged by the
    /// other side's next one or by a packet of its own, at 52 bytes of headers with TCP's time stamps.
    static let bytesOfPing = (52 + 6) + (52 + 6) + 52

    let network = HeartbeatNetwork(family: .ipv4, type: .wifi, name: "hotel")
    var schedule = HeartbeatSchedule()
    /// After so long without a packet the translator forgets a connection.
    var limit: Duration
    var roundTrip = Duration.milliseconds(40)
    /// How long a connection is silent between two bytes of its own; nil for ever.
    var pauses: ClosedRange<Int>?
    var random: SplitMix64
    private(set) var now = MonotonicTime(nanoseconds: 1_000_000_000_000)
    private(set) var connections: [HeartbeatSchedule.ID: Connection] = [:]
    private var nextID: HeartbeatSchedule.ID = 1
    private var happenings: [(at: MonotonicTime, what: Happening)] = []

    // What is measured.
    var pings = 0
    /// Pings and their answers, since `lost` was last looked at.
    var deaths: [(at: MonotonicTime, silence: Duration, afterPing: Duration)] = []
    /// When pings were sent, each time once.
    var wakeUps: [MonotonicTime] = []
    /// First pings before the search was over.
    var probes = 0

    init(limit: Duration, seed: UInt64 = 1) {
        self.limit = limit
        random = SplitMix64(seed: seed)
    }

    var search: SilenceSearch { schedule.search(of: network) ?? SilenceSearch() }

    @discardableResult
    mutating func connect() -> HeartbeatSchedule.ID {
        let id = nextID
        nextID += 1
        connections[id] = Connection(packet: now, received: now)
        schedule.add(id, in: network, roundTrip: roundTrip, at: now)
        planData(id)
        return id
    }

    mutating func kill(_ id: HeartbeatSchedule.ID) { connections[id]?.peerIsDead = true }

    private mutating func planData(_ id: HeartbeatSchedule.ID) {
        guard let pauses else { return }
        let pause = Duration.milliseconds(Int.random(in: pauses, using: &random))
        happenings.append((now.advanced(by: pause), .data(id)))
    }

    /// Runs until a time has passed, or a condition holds.
    mutating func run(for duration: Duration, until condition: (HeartbeatWorld) -> Bool = { _ in false }) {
        let end = now.advanced(by: duration)
        while !condition(self) {
            let deadline = schedule.nextDeadline.map { max($0, now) }
            let happens = happenings.map(\.at).min()
            guard let time = [deadline, happens].compactMap({ $0 }).min(), time <= end else {
                now = end
                return
            }
            now = time
            if happens == time {
                let due = happenings.filter { $0.at == time }.map(\.what)
                happenings.removeAll { $0.at == time }
                for what in due { perform(what) }
            } else {
                look()
            }
        }
    }

    /// Passes time in which nothing is due.
    mutating func pass(_ duration: Duration) { now = now.advanced(by: duration) }

    private mutating func perform(_ happening: Happening) {
        switch happening {
        case .connect: connect()
        case .answer(let id):
            guard var connection = connections[id] else { return }
            (connection.packet, connection.received, connection.pinged) = (now, now, nil)
            connections[id] = connection
            schedule.heard(id, received: now, arrived: now, sent: now)
            follow(schedule.answered(id, at: now))
        case .data(let id):
            guard connections[id] != nil else { return }
            planData(id)
            // What comes to a translator that has forgotten the connection is dropped.
            guard passes(id) else { return }
            connections[id]?.received = now
        }
    }

    /// Whether a packet gets through, either way.
    private mutating func passes(_ id: HeartbeatSchedule.ID) -> Bool {
        guard var connection = connections[id], !connection.peerIsDead else { return false }
        if connection.packet.duration(to: now) >= limit { connection.isForgotten = true }
        if !connection.isForgotten { connection.packet = now }
        connections[id] = connection
        return !connection.isForgotten
    }

    private mutating func look() {
        for id in schedule.due(at: now) {
            guard let connection = connections[id] else { continue }
            schedule.heard(
                id, received: connection.received, arrived: connection.received, sent: connection.received)
        }
        follow(schedule.timeReached(now))
    }

    private mutating func follow(_ actions: [HeartbeatSchedule.Action]) {
        for action in actions {
            switch action {
            case .ping(let id, let isRepeated):
                pings += 1
                if !isRepeated, !search.isSettled { probes += 1 }
                if wakeUps.last != now { wakeUps.append(now) }
                if !isRepeated { connections[id]?.pinged = now }
                guard passes(id) else { continue }
                happenings.append((now.advanced(by: roundTrip), .answer(id)))
            case .dead(let id, let silence):
                let pinged = connections[id]?.pinged ?? now
                deaths.append((now, silence, pinged.duration(to: now)))
                connections[id] = nil
                happenings.append((now.advanced(by: .seconds(1)), .connect))
            case .learnt: break
            }
        }
    }
}
