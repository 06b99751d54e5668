// When which connection is asked whether its peer is still there.
//
//               silent for the interval                    no answer in time
//     ┌──────┐ ────────────────────────▶ ┌────────┐ ────────────────────────▶ ┌─────────────┐
//     │ idle │                           │ asked  │                           │ asked again │
//     └──────┘ ◀──────────────────────── └────────┘                           └──────┬──────┘
//         ▲      answer, or any byte                                                 │ none
//         └────────────────────────────────────────────────────────────◀ answer      ▼ dead
//
// Rules. Silence counts from the last byte received; what it proves of the network, from the last packet either way. A
// connection whose data goes another way while its answer is awaited has lost its path: it is asked again over the new one.
// One connection at a time tries a longer silence than the proven one.
//
// Together. A heartbeat may come a tenth early, and inside of that window it is put as near as possible to a multiple of
// 0.95 intervals on the machine's clock. So two connections with one interval come closer by a twentieth of it with each
// heartbeat until they meet, after ten at most, and stay together; those of other processes, too. When one is due, each
// whose window has begun goes with it.
//
// Call order: `due` tells whom to look at, `heard` and `moved` what was seen, then `timeReached` what to do, and when to come
// again `nextDeadline`.

/// The heartbeats of a process's connections.
package struct HeartbeatSchedule: Sendable {
    /// Names a connection.
    package typealias ID = UInt64

    package enum Action: Sendable, Hashable {
        /// Send the connection's ping.
        case ping(ID, isRepeated: Bool)
        /// Nothing has come for so long, and two pings had no answer. The schedule knows the connection no more.
        case dead(ID, silentFor: Duration)
        /// Something was learnt about a network.
        case learnt(HeartbeatNetwork)
    }

    struct Asked: Sendable {
        var first: MonotonicTime
        var latest: MonotonicTime
        var deadline: MonotonicTime
        var isRepeated = false
        /// What an answer proves of the network; nil for nothing: the machine slept meanwhile.
        var silence: Duration?
        var network: HeartbeatNetwork
    }

    struct Member: Sendable {
        var network: HeartbeatNetwork
        /// The last byte received.
        var received: MonotonicTime
        /// The last packet of the peer's, an acknowledgement too.
        var arrived: MonotonicTime
        /// The last packet, either way.
        var packet: MonotonicTime
        /// Smoothed.
        var roundTrip: Duration?
        /// Whether the machine slept since the last byte.
        var hasSlept = false
        var asked: Asked?
    }

    struct Network: Sendable {
        var search: SilenceSearch
        /// The connection that tries a longer silence.
        var tester: ID?
        var members = 0
    }

    package let tuning: HeartbeatTuning
    var members: [ID: Member] = [:]
    var networks: [HeartbeatNetwork: Network] = [:]

    package init(tuning: HeartbeatTuning = .standard) { self.tuning = tuning }

    // MARK: What is asked

    package var count: Int { members.count }

    /// What is known of a network.
    package func search(of network: HeartbeatNetwork) -> SilenceSearch? { networks[network]?.search }

    /// The interval that a connection has now; nil for one that is not here.
    package func interval(of id: ID) -> Duration? {
        members[id].flatMap { networks[$0.network]?.search.interval }
    }

    /// When to come again; nil for never.
    package var nextDeadline: MonotonicTime? { members.map { dueTime($0.key, $0.value) }.min() }

    /// Whom to look at before `timeReached`.
    package func due(at now: MonotonicTime) -> [ID] {
        members.filter { $0.value.asked != nil || windowBegin($0.key, $0.value) <= now }.map(\.key).sorted()
    }

    // MARK: What happens

    /// What an earlier process proved of a network is known now.
    package mutating func remember(_ known: RememberedSilence, of network: HeartbeatNetwork) {
        networks[network]?.search.remember(known)
    }

    /// A connection has come about, or asks for heartbeats from now on.
    ///
    /// - Parameters:
    ///   - roundTrip: what its handshake took; nil where that is not known.
    ///   - remembered: what an earlier process proved of the network, where this one knows nothing yet.
    package mutating func add(
        _ id: ID, in network: HeartbeatNetwork, roundTrip: Duration?, remembered: RememberedSilence? = nil,
        at now: MonotonicTime
    ) {
        enter(network, remembered)
        members[id] = Member(
            network: network, received: now, arrived: now, packet: now, roundTrip: roundTrip)
    }

    /// The connection has no more heartbeats.
    package mutating func remove(_ id: ID) {
        guard let member = members.removeValue(forKey: id) else { return }
        leave(id, member.network)
    }

    /// What the kernel knows of a connection's silence.
    ///
    /// - Parameters:
    ///   - received: when the last byte came.
    ///   - arrived: when the last packet came, an acknowledgement too.
    ///   - sent: when the last byte was sent.
    package mutating func heard(
        _ id: ID, received: MonotonicTime, arrived: MonotonicTime, sent: MonotonicTime
    ) {
        guard var member = members[id] else { return }
        if received > member.received.advanced(by: tuning.readingError) {
            (member.received, member.hasSlept) = (received, false)
            // Its silence is over before it proved anything.
            if networks[member.network]?.tester == id, member.asked == nil {
                networks[member.network]?.tester = nil
            }
        }
        member.arrived = max(member.arrived, arrived, received)
        member.packet = max(member.packet, member.arrived, sent)
        members[id] = member
    }

    /// The connection's data takes another path from now on.
    package mutating func moved(
        _ id: ID, to network: HeartbeatNetwork, remembered: RememberedSilence? = nil, at now: MonotonicTime
    ) -> [Action] {
        guard let old = members[id]?.network, old != network else { return [] }
        leave(id, old)
        enter(network, remembered)
        members[id]?.network = network
        members[id]?.packet = now
        guard let asked = members[id]?.asked, asked.network == old else { return [] }
        let learnt = learn(old, asked.silence, wasAnswered: false)
        return learnt + ask(id, again: asked, at: now)
    }

    /// The connection's user has recognised the answer to its ping.
    ///
    /// - Parameter network: where the connection's data goes by now; nil for where it went. Of an answer that comes after
    ///   the data has moved it is not known over which network it came: it proves nothing, and `moved` is to follow.
    package mutating func answered(
        _ id: ID, over network: HeartbeatNetwork? = nil, at now: MonotonicTime
    ) -> [Action] {
        guard var member = members[id], let asked = member.asked else { return [] }
        // Of an answer after two pings it is not known which one it answers (RFC 6298 section 3).
        if !asked.isRepeated {
            let trip = asked.latest.duration(to: now)
            let old = member.roundTrip ?? trip
            member.roundTrip = (old * (tuning.roundTripGain - 1) + trip) / tuning.roundTripGain
        }
        member.asked = nil
        member.received = max(member.received, now)
        member.arrived = max(member.arrived, now)
        member.packet = max(member.packet, now)
        member.hasSlept = false
        members[id] = member
        guard asked.network == network ?? member.network else {
            release(id, asked.network)
            return []
        }
        return settle(id, asked, wasAnswered: true)
    }

    /// The connection was ended by its peer, or by what is on the way. A reset that answers a ping says that the network had
    /// forgotten the connection. One that comes, or a FIN, while the connection tries a longer silence says that such a
    /// silence is too long, whatever ended it. Otherwise it says nothing of the network.
    ///
    /// - Parameter silence: how long no byte had gone either way; nil where that is not known.
    package mutating func ended(_ id: ID, byReset: Bool, after silence: Duration? = nil) -> [Action] {
        guard let member = members[id] else { return [] }
        var actions: [Action] = []
        if let asked = member.asked {
            if byReset { actions = settle(id, asked, wasAnswered: false) }
        } else if !member.hasSlept, let silence, let network = networks[member.network],
            network.tester == id, silence > network.search.interval
        {
            actions = learn(member.network, silence, wasAnswered: false)
        }
        remove(id)
        return actions
    }

    /// The machine has slept: the networks' clocks went on, this process's did not. All are asked at once, which proves
    /// nothing.
    package mutating func woke() {
        for id in members.keys {
            members[id]?.hasSlept = true
            members[id]?.asked?.silence = nil
        }
    }

    /// Time has passed.
    package mutating func timeReached(_ now: MonotonicTime) -> [Action] {
        var actions: [Action] = []
        var isFiring = false
        for id in members.keys.sorted() {
            guard let member = members[id] else { continue }
            if let asked = member.asked {
                if member.received > asked.first {
                    // Any byte says that the connection lives; of the silence before the ping it proves nothing.
                    members[id]?.asked = nil
                    release(id, member.network)
                } else if now >= asked.deadline {
                    isFiring = true
                    actions += asked.isRepeated ? end(id, asked, at: now) : ask(id, again: asked, at: now)
                }
            }
            if !isFiring, let member = members[id], member.asked == nil, dueTime(id, member) <= now {
                isFiring = true
            }
        }
        guard isFiring else { return actions }
        for id in members.keys.sorted() {
            guard let member = members[id], member.asked == nil, windowBegin(id, member) <= now else {
                continue
            }
            actions += ask(id, at: now)
        }
        return actions
    }

    // MARK: When

    /// When a connection is to be looked at.
    func dueTime(_ id: ID, _ member: Member) -> MonotonicTime {
        if let asked = member.asked { return asked.deadline }
        guard !member.hasSlept, let network = networks[member.network] else { return .zero }
        if network.tester == id, let trial = network.search.trial {
            let proves = max(member.received, member.packet).advanced(by: trial)
            // A connection that sends and gets nothing back is not left without a heartbeat for that.
            return min(proves, member.received.advanced(by: tuning.longestInterval))
        }
        let interval = network.search.interval.wholeNanoseconds
        let slack = Int64(Double(interval) * tuning.slack)
        let latest = member.received.advanced(by: .nanoseconds(interval)).nanoseconds
        let step = max(interval - slack / 2, 1)
        let nearest = (latest - slack / 2 + step / 2) / step * step
        return MonotonicTime(nanoseconds: min(max(nearest, latest - slack), latest))
    }

    /// From when on a connection goes with others.
    func windowBegin(_ id: ID, _ member: Member) -> MonotonicTime {
        guard member.asked == nil, !member.hasSlept, let network = networks[member.network],
            network.tester != id
        else { return dueTime(id, member) }
        let interval = network.search.interval
        return member.received.advanced(by: interval - interval * tuning.slack)
    }
}
