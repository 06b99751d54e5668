import PathCore

// What the kernel says of connections: to the clients that have attached them, and to no other.

extension BrokerMachine {
    /// The path manager has told something.
    ///
    /// - Parameter user: whose connection it is, where `wantsUser` asked for that; nil where it is gone.
    package mutating func event(
        _ event: SubflowEvent, of user: UInt32? = nil, at now: MonotonicTime
    ) -> [Action] {
        guard event != .lost else {
            // Whatever is kept may have ended since. What was announced may be taken back, or of a connection that had the token
            // before.
            early = EarlyEvents()
            let greeted = clients.filter { $0.value.hasGreeted && !$0.value.isDropped }.keys.sorted()
            return greeted.map { .send($0, .event(.lost)) }
                + (connections.isEmpty ? [] : [.verify(connections.keys.sorted { $0.value < $1.value })])
        }
        guard let token = event.token else { return [] }
        var actions: [Action] = []
        if event.isPeersChoice, isFlood(at: now) { actions.append(.hideAnnouncements) }
        guard connections[token] != nil else {
            early.note(event, token, of: user, limits)
            return actions
        }
        if event.isPeersChoice, isFlood(of: token, at: now) {
            connections[token]?.hasGap = true
            // What it takes back holds, whether it is told or not.
            if case .removed(_, let id) = event { connections[token]?.announced[id] = nil }
            return actions
        }
        if connections[token]?.hasGap == true, let owner = connections[token]?.owner {
            connections[token]?.hasGap = false
            actions.append(.send(owner, .event(.lost)))
        }
        return actions + tell(event, token)
    }

    /// Whether to find out whose connection an event is of, because it may be kept for its owner.
    package func wantsUser(of event: SubflowEvent) -> Bool {
        guard let token = event.token, connections[token] == nil else { return false }
        return EarlyEvents.keeps(event)
    }

    /// Which sockets the tokens named that were asked about: nil for those that no connection had any more.
    package mutating func verified(_ cookies: [(ConnectionToken, UInt64?)]) -> [Action] {
        var actions: [Action] = []
        for (token, cookie) in cookies {
            guard let connection = connections[token], connection.cookie != cookie else { continue }
            actions.append(.send(connection.owner, .event(.closed(token))))
            forget(token)
        }
        return actions
    }

    mutating func tell(_ event: SubflowEvent, _ token: ConnectionToken) -> [Action] {
        guard let owner = connections[token]?.owner else { return [] }
        totals.events += 1
        switch event {
        case .announced(_, let id, let remote):
            let known = connections[token]?.announced ?? [:]
            if known[id] != nil || known.count < limits.addressesPerPeer {
                connections[token]?.announced[id] = remote
            }
        case .removed(_, let id): connections[token]?.announced[id] = nil
        case .closed: forget(token)
        default: break
        }
        return [.send(owner, .event(event))]
    }

    mutating func forget(_ token: ConnectionToken) {
        guard let connection = connections.removeValue(forKey: token),
            let user = clients[connection.owner]?.user
        else { return }
        clients[connection.owner]?.connections.remove(token)
        users[user]?.connections -= 1
    }

    /// Each wakes a thread, and any peer of any connection can send them.
    private mutating func isFlood(at now: MonotonicTime) -> Bool {
        if announcements.since.duration(to: now) >= .seconds(1) { announcements = (now, 0) }
        announcements.count += 1
        return announcements.count > limits.announcements
    }

    private mutating func isFlood(of token: ConnectionToken, at now: MonotonicTime) -> Bool {
        guard var counted = connections[token]?.announcements else { return true }
        if counted.since.duration(to: now) >= .seconds(1) { counted = (now, 0) }
        counted.count += 1
        connections[token]?.announcements = counted
        return counted.count > limits.announcementsPerConnection
    }
}

/// What the kernel has told of connections before their owners attached them, the latest ones: addresses that peers have
/// announced, and that a peer takes no join at its first address (RFC 8684 sections 3.4.1 and 3.1). A user whose peers
/// announce much loses its own, and no other's.
struct EarlyEvents: Sendable {
    private var events: [(token: ConnectionToken, user: UInt32, event: SubflowEvent)] = []

    var count: Int { events.count }

    static func keeps(_ event: SubflowEvent) -> Bool {
        switch event {
        case .announced, .established(_, _, _, true): true
        default: false
        }
    }

    /// - Parameter user: whose connection it is; nil where it is gone, or that is not known.
    mutating func note(
        _ event: SubflowEvent, _ token: ConnectionToken, of user: UInt32?, _ limits: BrokerLimits
    ) {
        switch event {
        case _ where Self.keeps(event): break
        case .removed, .closed:
            events.removeAll { known in
                guard known.token == token else { return false }
                if case .removed(_, let gone) = event, case .announced(_, let id, _) = known.event {
                    return id == gone
                }
                return event == .closed(token)
            }
            return
        default: return
        }
        guard let user, events.count(where: { $0.token == token }) < limits.earlyEventsPerConnection
        else { return }
        if events.count(where: { $0.user == user }) >= limits.earlyEventsPerUser { removeFirst(of: user) }
        if events.count >= limits.earlyEvents { removeFirst(of: largest) }
        events.append((token, user, event))
    }

    private mutating func removeFirst(of user: UInt32) {
        if let place = events.firstIndex(where: { $0.user == user }) { events.remove(at: place) }
    }

    /// The user that most are kept of.
    private var largest: UInt32 {
        var counts: [UInt32: Int] = [:]
        for event in events { counts[event.user, default: 0] += 1 }
        return counts.max { ($0.value, $0.key) < ($1.value, $1.key) }?.key ?? 0
    }

    /// Those of a connection, which are then forgotten.
    mutating func drain(_ token: ConnectionToken) -> [SubflowEvent] {
        defer { events.removeAll { $0.token == token } }
        return events.filter { $0.token == token }.map(\.event)
    }
}
