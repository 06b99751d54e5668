import PathCore

// What the kernel says of connections: to the clients that have attached them, and to no other.

extension BrokerMachine {
    /// The path manager has told something.
    package mutating func event(_ event: SubflowEvent, at now: MonotonicTime) -> [Action] {
        guard event != .lost else {
            // Whatever is kept may have ended since.
            let greeted = clients.filter { $0.value.hasGreeted && !$0.value.isDropped }.keys.sorted()
            return greeted.map { .send($0, .event(.lost)) }
                + (connections.isEmpty ? [] : [.verify(connections.keys.sorted { $0.value < $1.value })])
        }
        guard let token = event.token else { return [] }
        var actions: [Action] = []
        if case .announced = event, isFlood(at: now) { actions.append(.hideAnnouncements) }
        guard connections[token] != nil else {
            early.note(event, token, limits)
            return actions
        }
        if case .announced = event, isFlood(of: token, at: now) { return actions }
        return actions + tell(event, token)
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
/// announced, and that a peer takes no join at its first address (RFC 8684 sections 3.4.1 and 3.1).
struct EarlyEvents: Sendable {
    private var events: [(token: ConnectionToken, event: SubflowEvent)] = []

    var count: Int { events.count }

    mutating func note(_ event: SubflowEvent, _ token: ConnectionToken, _ limits: BrokerLimits) {
        switch event {
        case .announced, .established(_, _, _, true): break
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
        guard events.count(where: { $0.token == token }) < limits.earlyEventsPerConnection else { return }
        if events.count >= limits.earlyEvents { events.removeFirst() }
        events.append((token, event))
    }

    /// Those of a connection, which are then forgotten.
    mutating func take(_ token: ConnectionToken) -> [SubflowEvent] {
        defer { events.removeAll { $0.token == token } }
        return events.filter { $0.token == token }.map(\.event)
    }
}
