// Subflows that are made, and that end, and what that says of their paths.

extension ModeMachine {
    mutating func established(_ index: Int, at now: MonotonicTime) {
        guard !flows[index].isEstablished else { return }
        flows[index].established = now
        if flows[index].port == nil { schedule(sampleAt: now) }
        let (name, flow) = (flows[index].path, flows[index])
        records[name]!.noteLatency(flow.roundTrip(answered: now, known: records[name]!.latency), at: now)
        (records[name]!.attempts, records[name]!.slowJoins) = (0, 0)
        records[name]!.loss.asked(true)
        if flow.purpose == .question { return answered(index, at: now) }
        if flow.purpose == .spare {
            if flow.isUnwanted { destroy(flows.remove(at: index)) }
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
                isAlone ? .good : .onTrial(until: now.advanced(by: records[name]!.trial))
            if isAlone { records[name]!.goodSince = now }
        case .good, .suspect, .onTrial: records[name]!.goodSince = records[name]!.goodSince ?? now
        }
    }

    private mutating func answered(_ index: Int, at now: MonotonicTime) {
        let name = flows[index].path
        // Where a translator has forgotten the path's own subflow, what the peer sends comes this way. One way is enough:
        // of several answers to one question the first has shown it.
        let isSerious = records[name]!.question.map { $0.cause != .measurement } ?? false
        flows[index].lingersUntil = isSerious ? now.advanced(by: .seconds(1)) : now
        records[name]!.question = nil
        guard let data = dataFlow(name) else { return }
        switch records[name]!.standing {
        case .suspect: clear(name, at: now)
        case .dead:
            // Its old subflow was kept for want of another one, and may be forgotten.
            revive(name, at: now)
            return replace(data, by: index, at: now)
        case .good, .onTrial: break
        }
        guard flows[data].watch.waitingSince != nil else {
            if isSerious { invite(index, insteadOf: data, at: now) }
            return
        }
        if isStuck(data, at: now) { replace(data, by: index, at: now) }
    }

    /// Nothing of ours waits; whether something of the peer's does nobody here knows. It is shown another way, which
    /// it takes if its own subflow does not get through.
    private mutating func invite(_ fresh: Int, insteadOf data: Int, at now: MonotonicTime) {
        guard !flows[data].isBackup, prioritize(fresh, isBackup: false, at: now) else { return }
        schedule(sampleAt: now.advanced(by: max(flows[data].watch.answerTime, .milliseconds(50))))
    }

    /// The path answers, but its subflow gets nothing through: another takes its place.
    mutating func replace(_ data: Int, by fresh: Int, at now: MonotonicTime) {
        let old = flows[data]
        flows[fresh].purpose = .data
        flows[fresh].lingersUntil = nil
        // The stream has its gaps wherever it comes.
        flows[fresh].gaps = old.gaps
        if old.isStream, let time = old.streamedAt, Self.isFresh(time, at: now) {
            flows[fresh].expectStream(of: time, at: now)
        }
        if !old.isBackup, flows[fresh].isBackup { prioritize(fresh, isBackup: false, at: now) }
        destroy(old)
        flows.remove(at: data)
        tell(.left(old.path, because: .stuck))
        tell(.joined(old.path))
    }

    mutating func closed(_ index: Int, _ end: SubflowEnd, at now: MonotonicTime) {
        let flow = flows.remove(at: index)
        let name = flow.path
        if flow.purpose == .question {
            // A refusal comes from the peer's host as well.
            if !flow.isEstablished, end.reset != nil || end.error == Self.refused || end.error == Self.reset,
                records[name]?.question != nil
            {
                if case .suspect = records[name]!.standing { clear(name, at: now) }
                records[name]!.question = nil
                records[name]!.loss.asked(true)
                records[name]!.noteLatency(
                    flow.roundTrip(answered: now, known: records[name]!.latency), at: now)
                // It may be for want of the place that the spare takes. If not, no other can take the subflow's place.
                if spare != nil {
                    giveUpSpare(at: now)
                } else if let data = dataFlow(name), isStuck(data, at: now) {
                    die(name, .noAcknowledgement, at: now)
                }
            }
            return
        }
        if flow.purpose == .spare || inherit(from: flow, end, at: now) { return }
        // (At an accepting end a path may have several.)
        if records[name]?.isDead == false, dataFlow(name) == nil {
            // The peer may have no room for it, or not want it: the pauses grow, and so does the trial.
            let wasShort = flow.established.map { $0.duration(to: now) < .seconds(1) } ?? true
            let pause: Duration = wasShort ? Self.retry : .milliseconds(100)
            records[name]!.noteFailure(at: now)
            records[name]!.standing = .dead(.subflowEnded)
            let failures = min(records[name]!.failures - 1, 6)
            records[name]!.nextAttempt = now.advanced(by: min(pause * (1 << failures), .seconds(60)))
        }
        if flow.isEstablished { tell(.left(name, because: .ended(end))) }
    }

    /// A spare takes the place of its path's subflow that ended.
    private mutating func inherit(from old: Flow, _ end: SubflowEnd, at now: MonotonicTime) -> Bool {
        guard
            let heir = flows.firstIndex(where: {
                $0.purpose == .spare && $0.path == old.path && $0.isEstablished && !$0.isUnwanted
            }), records[old.path]?.isDead == false
        else { return false }
        flows[heir].purpose = .data
        if !old.isBackup, flows[heir].isBackup { prioritize(heir, isBackup: false, at: now) }
        tell(.left(old.path, because: .ended(end)))
        tell(.joined(old.path))
        return true
    }

    /// ECONNREFUSED and ECONNRESET, which a peer's host causes.
    private static let refused: Int32 = 111
    private static let reset: Int32 = 104
}
