// Subflows that are made, and that end, and what that says of their paths.

extension SteeringMachine {
    mutating func established(_ index: Int, at now: MonotonicTime) {
        guard !subflows[index].isEstablished else { return }
        subflows[index].established = now
        if subflows[index].port == nil { schedule(sampleAt: now) }
        let (name, subflow) = (subflows[index].path, subflows[index])
        records[name]!.noteLatency(subflow.roundTrip(answered: now, known: records[name]!.latency), at: now)
        (records[name]!.attempts, records[name]!.slowJoins) = (0, 0)
        records[name]!.loss.asked(true)
        if subflow.purpose == .probe { return answered(index, at: now) }
        if subflow.purpose == .reserve {
            if subflow.isUnwanted { destroy(subflows.remove(at: index)) }
            return
        }
        records[name]!.loss.forgetCounters()
        awaitStream(at: now)
        // What waited for a subflow takes this one, and nobody who fills a buffer that is full tells of it.
        // And what comes in over it is counted from its beginning.
        if outstanding > 0 || configuration.mode == .aggregate { schedule(sampleAt: now) }
        tell(.joined(name))
        switch records[name]!.standing {
        case .dead:
            tell(.answered(name))
            let isAlone = !hasOther(than: name)
            records[name]!.standing =
                isAlone ? .good : .validating(until: now.advanced(by: records[name]!.validationTime))
            if isAlone { records[name]!.goodSince = now }
        case .good, .suspect, .validating: records[name]!.goodSince = records[name]!.goodSince ?? now
        }
    }

    private mutating func answered(_ index: Int, at now: MonotonicTime) {
        let name = subflows[index].path
        // Where a translator has forgotten the path's own subflow, what the peer sends comes this way. One way is enough:
        // of several answers to one probe the first has shown it.
        let isSerious = records[name]!.probe.map { $0.cause != .measurement } ?? false
        subflows[index].lingersUntil = isSerious ? now.advanced(by: .seconds(1)) : now
        records[name]!.probe = nil
        guard let data = dataSubflow(name) else { return }
        switch records[name]!.standing {
        case .suspect: clear(name, at: now)
        case .dead:
            // Its old subflow was kept for want of another one, and may be forgotten.
            revive(name, at: now)
            return replace(data, by: index, at: now)
        case .good, .validating: break
        }
        guard subflows[data].watch.waitingSince != nil else {
            if isSerious { invite(index, insteadOf: data, at: now) }
            return
        }
        if isStuck(data, at: now) { replace(data, by: index, at: now) }
    }

    /// Nothing of ours waits; whether something of the peer's does nobody here knows. It is shown another way, which
    /// it takes if its own subflow does not get through.
    private mutating func invite(_ fresh: Int, insteadOf data: Int, at now: MonotonicTime) {
        guard !subflows[data].isBackup, prioritize(fresh, isBackup: false, at: now) else { return }
        schedule(sampleAt: now.advanced(by: max(subflows[data].watch.answerTime, .milliseconds(50))))
    }

    /// The path answers, but its subflow gets nothing through: another takes its place.
    mutating func replace(_ data: Int, by fresh: Int, at now: MonotonicTime) {
        let old = subflows[data]
        subflows[fresh].purpose = .data
        subflows[fresh].lingersUntil = nil
        // The stream has its gaps wherever it comes.
        subflows[fresh].gaps = old.gaps
        if old.isStream, let time = old.streamedAt, Self.isFresh(time, at: now) {
            subflows[fresh].expectStream(of: time, at: now)
        }
        if !old.isBackup, subflows[fresh].isBackup { prioritize(fresh, isBackup: false, at: now) }
        destroy(old)
        subflows.remove(at: data)
        tell(.left(old.path, because: .stuck))
        tell(.joined(old.path))
    }

    mutating func closed(_ index: Int, _ end: SubflowEnd, at now: MonotonicTime) {
        let subflow = subflows.remove(at: index)
        let name = subflow.path
        if subflow.purpose == .probe {
            // A refusal comes from the peer's host as well.
            if !subflow.isEstablished,
                end.reset != nil || end.error == Self.refused || end.error == Self.reset,
                records[name]?.probe != nil
            {
                if case .suspect = records[name]!.standing { clear(name, at: now) }
                records[name]!.probe = nil
                records[name]!.loss.asked(true)
                records[name]!.noteLatency(
                    subflow.roundTrip(answered: now, known: records[name]!.latency), at: now)
                // It may be for want of the place that the reserve takes. If not, no other can take the subflow's place.
                if reserve != nil {
                    giveUpReserve(at: now)
                } else if let data = dataSubflow(name), isStuck(data, at: now) {
                    die(name, .noAcknowledgement, at: now)
                }
            }
            return
        }
        if subflow.purpose == .reserve || inherit(from: subflow, end, at: now) { return }
        // (At an accepting end a path may have several.)
        if records[name]?.isDead == false, dataSubflow(name) == nil {
            // The peer may have no room for it, or not want it: the pauses grow, and so does the trial.
            let wasShort = subflow.established.map { $0.duration(to: now) < .seconds(1) } ?? true
            let pause: Duration = wasShort ? Self.retry : .milliseconds(100)
            records[name]!.noteFailure(at: now)
            records[name]!.standing = .dead(.subflowEnded)
            let failures = min(records[name]!.failures - 1, 6)
            records[name]!.nextAttempt = now.advanced(by: min(pause * (1 << failures), .seconds(60)))
        }
        if subflow.isEstablished { tell(.left(name, because: .ended(end))) }
    }

    /// A reserve takes the place of its path's subflow that ended.
    private mutating func inherit(from old: Subflow, _ end: SubflowEnd, at now: MonotonicTime) -> Bool {
        guard
            let heir = subflows.firstIndex(where: {
                $0.purpose == .reserve && $0.path == old.path && $0.isEstablished && !$0.isUnwanted
            }), records[old.path]?.isDead == false
        else { return false }
        subflows[heir].purpose = .data
        if !old.isBackup, subflows[heir].isBackup { prioritize(heir, isBackup: false, at: now) }
        tell(.left(old.path, because: .ended(end)))
        tell(.joined(old.path))
        return true
    }

    /// ECONNREFUSED and ECONNRESET, which a peer's host causes.
    private static let refused: Int32 = 111
    private static let reset: Int32 = 104
}
