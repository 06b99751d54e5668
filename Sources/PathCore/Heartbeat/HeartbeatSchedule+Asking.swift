// How a connection is asked, and what its answer, or none, teaches about its network.

extension HeartbeatSchedule {
    // MARK: Asking

    /// A connection is due: it is asked, or becomes the one that tries a longer silence.
    mutating func ask(_ id: ID, at now: MonotonicTime) -> [Action] {
        guard let member = members[id] else { return [] }
        let lastPacket = max(member.received, member.packet)
        if !member.hasSlept, networks[member.network]?.search.trial != nil {
            if networks[member.network]?.tester == nil { networks[member.network]?.tester = id }
            if networks[member.network]?.tester == id, now < dueTime(id, member) { return [] }
        }
        members[id]?.asked = Asked(
            first: now, latest: now, deadline: now.advanced(by: tuning.patience(member.roundTrip)),
            silence: member.hasSlept ? nil : lastPacket.duration(to: now), network: member.network)
        members[id]?.packet = now
        return [.ping(id, isRepeated: false)]
    }

    /// Asks once more: over the same path, or over another one that the connection has moved to.
    mutating func ask(_ id: ID, again asked: Asked, at now: MonotonicTime) -> [Action] {
        guard let member = members[id] else { return [] }
        var next = asked
        next.latest = now
        next.deadline = now.advanced(by: tuning.patience(member.roundTrip))
        next.isRepeated = true
        if member.network != asked.network {
            // What it proves was proven where it came from.
            (next.network, next.silence) = (member.network, nil)
        }
        members[id]?.asked = next
        members[id]?.packet = now
        return [.ping(id, isRepeated: true)]
    }

    mutating func end(_ id: ID, _ asked: Asked, at now: MonotonicTime) -> [Action] {
        guard let member = members[id] else { return [] }
        // Where the peer's kernel has acknowledged the ping, the network has kept the connection, and the service has not.
        let learnt = settle(id, asked, wasAnswered: member.arrived > asked.first)
        remove(id)
        return learnt + [.dead(id, silentFor: member.received.duration(to: now))]
    }

    // MARK: Networks

    mutating func settle(_ id: ID, _ asked: Asked, wasAnswered: Bool) -> [Action] {
        release(id, asked.network)
        return learn(asked.network, asked.silence, wasAnswered: wasAnswered)
    }

    mutating func learn(
        _ network: HeartbeatNetwork, _ silence: Duration?, wasAnswered: Bool
    ) -> [Action] {
        guard let silence, var search = networks[network]?.search else { return [] }
        let old = search
        if wasAnswered { search.answered(after: silence) } else { search.lost(after: silence) }
        networks[network]?.search = search
        return search == old ? [] : [.learnt(network)]
    }

    mutating func enter(_ network: HeartbeatNetwork, _ remembered: RememberedSilence?) {
        if networks[network] == nil {
            forgetOne()
            networks[network] = Network(search: SilenceSearch(tuning: tuning, remembered: remembered))
        }
        networks[network]?.members += 1
    }

    mutating func leave(_ id: ID, _ network: HeartbeatNetwork) {
        release(id, network)
        networks[network]?.members -= 1
    }

    mutating func release(_ id: ID, _ network: HeartbeatNetwork) {
        if networks[network]?.tester == id { networks[network]?.tester = nil }
    }

    /// A process that lives for years meets many networks.
    private static let mostNetworks = 256

    mutating func forgetOne() {
        guard networks.count >= Self.mostNetworks,
            let unused = networks.first(where: { $0.value.members == 0 })?.key
        else { return }
        networks[unused] = nil
    }
}
