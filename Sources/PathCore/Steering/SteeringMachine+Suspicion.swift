// When a path is suspect.

extension SteeringMachine {
    /// Looks for data that waits and streams that stopped, goes on with probes, and ends validations.
    mutating func judge(at now: MonotonicTime) {
        // A suspicion may make and end subflows.
        for subflow in reconciler.subflows.all
        where subflow.role == .data && subflow.isOpen && reconciler.subflows.contains(subflow.id) {
            judge(subflow.id, at: now)
        }
        judgeGap(at: now)
        for path in paths.keys {
            advanceProbing(path, at: now)
            guard case .validating = paths[path].state else { continue }
            // Where there is nothing else to lose there is nothing to prove.
            let isOnly = reconciler.subflows.data(on: path) != nil && !hasOther(than: path)
            if let until = paths[path].validate(isOnly: isOnly, at: now) {
                timers.set(.path(path, .validation), at: until)
            }
        }
    }

    private mutating func judge(_ id: SubflowID, at now: MonotonicTime) {
        let subflow = reconciler.subflows[id]
        guard !paths[subflow.path].hasFailed else { return }
        if let since = subflow.progress.waitingSince {
            if !traits.steers, isReplaced(subflow, since) { return endReplaced(subflow, since, at: now) }
            let due = suspectAt(subflow, at: now) ?? now
            // What came in since the latest sample counts.
            guard now >= due, isFresh(at: now) else {
                return timers.set(.subflow(id, .suspicion), at: max(due, now))
            }
            weigh(.noProgress, on: subflow.path, at: now)
            if !probes { judgeWithoutProbes(id, at: now) }
        } else if probes, let due = silenceDue(subflow, at: now) {
            guard now >= due, isFresh(at: now) else {
                return timers.set(.subflow(id, .silence), at: max(due, now))
            }
            // The probe that is under way decides first.
            guard paths[subflow.path].state.probing == nil else { return }
            reconciler.subflows[id].stream.wasProbed()
            // Not told: a peer with nothing to say is no trouble.
            probe(subflow.path, .trouble(.noAnswer), at: now)
        }
    }

    /// When a subflow's silence is to be probed; nil while that means nothing.
    func silenceDue(_ subflow: Subflow, at now: MonotonicTime) -> MonotonicTime? {
        // A peer that has ended has nothing more to say.
        guard !reconciler.peerHasEnded,
            let due = subflow.silenceDue(awaitedSince: awaitedSince, at: now, tuning)
        else { return nil }
        guard alternative(to: subflow.path) == nil, let heard = subflow.stream.silence.heardAt else {
            return due
        }
        return max(due, heard.advanced(by: tuning.lonePatience))
    }

    /// Makes room for what a gap lacks.
    private mutating func judgeGap(at now: MonotonicTime) {
        guard let (step, due) = gap.step(answerTime: answerTime ?? tuning.unknownAnswerTime, at: now, tuning)
        else { return }
        guard now >= due, isFresh(at: now) else { return timers.set(.connection(.gap), at: max(due, now)) }
        switch step {
        case .look: gap.looked(at: now)
        case .makeRoom:
            gap.madeRoom()
            reconciler.add(.widenReceiveBuffer)
        }
        judgeGap(at: now)
    }

    // MARK: Data that waits

    /// When waiting data becomes suspicious, or, where it is already, is looked at again.
    func suspicionDue(_ subflow: Subflow, at now: MonotonicTime) -> MonotonicTime? {
        guard let due = suspectAt(subflow, at: now), let since = subflow.progress.waitingSince
        else { return nil }
        if due > now { return due }
        // What has waited for long may wait a little longer.
        let pause = max(
            subflow.progress.answerTime(tuning) / tuning.suspectLookShare,
            since.duration(to: now) / tuning.suspectWaitShare)
        return now.advanced(by: max(pause, tuning.leastSuspectLook))
    }

    /// When waiting data becomes suspicious. False alarms make that later. What is stuck on a path that answers is probed
    /// again after as long as it has been stuck, and when it is to be replaced.
    private func suspectAt(_ subflow: Subflow, at now: MonotonicTime) -> MonotonicTime? {
        guard let since = subflow.progress.waitingSince else { return nil }
        let answerTime = subflow.progress.answerTime(tuning)
        var usual = answerTime
        // The kernel's figure follows slowly, and not at all while another path carries.
        if traits.followsLatency, let latency = paths[subflow.path].latency {
            usual = max(usual, latency * tuning.latencyAllowance)
        }
        let patience = paths[subflow.path].patience(at: now, tuning)
        var due = since.advanced(by: min(usual * patience, usual + tuning.longestPatience))
        if alternative(to: subflow.path) == nil { due = max(due, since.advanced(by: tuning.lonePatience)) }
        // Another that may get through is under way.
        if let asked = reconciler.subflows.all.first(where: {
            $0.role == .successor && $0.path == subflow.path && !$0.isOpen
        }) {
            return max(due, asked.requested.advanced(by: longestJoin(over: subflow.path)))
        }
        guard let stuck = subflow.stuckSince else { return due }
        let later = max(due, since.advanced(by: stuck.duration(to: since)))
        return min(later, max(since.advanced(by: answerTime), stuck.advanced(by: tuning.stuckTime)))
    }

    /// Where no probes can be sent long silence is proof, if another subflow lives, and if the kernel has asked: one segment that
    /// was lost waits for its timer.
    mutating func judgeWithoutProbes(_ id: SubflowID, at now: MonotonicTime) {
        let subflow = reconciler.subflows[id]
        guard let since = subflow.progress.waitingSince else { return }
        let answerTime = subflow.progress.answerTime(tuning)
        let limit = max(answerTime * tuning.unprobedPatience, answerTime + tuning.leastUnprobedPatience)
        let usual = since.advanced(by: limit * paths[subflow.path].patience(at: now, tuning))
        // Where segments get lost the one that is repeated first (RFC 8985 section 7) may be; not so the timer's.
        let isLossy = paths[subflow.path].loss.probes(tuning) > 1
        let hasTimedOut = subflow.progress.latest.map { $0.timeouts > 0 } ?? false
        let asked = isLossy && !hasTimedOut ? nil : subflow.progress.repeatedAt
        let due = max(
            usual,
            asked.map { $0.advanced(by: answerTime + tuning.leastUnprobedPatience) }
                ?? (subflow.progress.seenAt ?? since).advanced(by: tuning.unrepeatedPatience))
        guard now >= due else { return timers.set(.subflow(id, .verdict), at: due) }
        let hasOther = reconciler.subflows.all.contains {
            $0.path != subflow.path && $0.isOpen && !paths[$0.path].hasFailed
        }
        if hasOther { weigh(.longSilence, on: subflow.path, at: now) }
    }

    /// Whether the peer has made another subflow over the same path, or used it, since this one began to wait.
    private func isReplaced(_ subflow: Subflow, _ since: MonotonicTime) -> Bool {
        reconciler.subflows.all.contains { other in
            other.path == subflow.path && other.id != subflow.id
                && (other.openSince ?? .zero > since || other.progress.progressAt ?? .zero > since)
        }
    }

    /// The path works, so this says nothing against it; the subflow is forgotten somewhere, unless it recovers soon.
    private mutating func endReplaced(_ subflow: Subflow, _ since: MonotonicTime, at now: MonotonicTime) {
        let patience = subflow.progress.answerTime(tuning) * tuning.unprobedPatience
        let due = since.advanced(by: max(patience, tuning.leastReplacedPatience))
        guard now >= due else { return timers.set(.subflow(subflow.id, .replacement), at: due) }
        reconciler.end(subflow.id)
    }

    /// Whether a subflow has got nothing through for long over a path that answers, as it does now.
    mutating func isStuck(_ data: SubflowID, at now: MonotonicTime) -> Bool {
        if isLongStuck(data, at: now) { return true }
        let subflow = reconciler.subflows[data]
        guard subflow.progress.waitingSince != nil else { return false }
        reconciler.subflows[data].stuckSince = subflow.stuckSince ?? now
        reconciler.subflows[data].progress.excuse(at: now)
        agenda.schedule(sampleAt: now.advanced(by: subflow.progress.answerTime(tuning)))
        return false
    }

    /// The same, where nothing more is known now.
    func isLongStuck(_ data: SubflowID, at now: MonotonicTime) -> Bool {
        let subflow = reconciler.subflows[data]
        guard subflow.progress.waitingSince != nil, let since = subflow.stuckSince else { return false }
        return since.duration(to: now) >= tuning.stuckTime
    }

    // MARK: Streams

    /// Whether a stream comes in over another path as well: of what is spread over both nothing goes on if one is silent.
    func sharesStream(_ id: SubflowID, at now: MonotonicTime) -> Bool {
        guard traits.spreadsStream else { return false }
        let path = reconciler.subflows[id].path
        return reconciler.subflows.all.contains { other in
            other.path != path && other.role == .data && !other.isBackup
                && other.stream.isFresh(at: now, tuning)
        }
    }

    /// Has what came over a path that was left go on over the others: the peer's side of them may be no better.
    mutating func awaitStream(at now: MonotonicTime) {
        guard let time = streamedAt, tuning.isFresh(time, at: now) else { return }
        reconciler.subflows.updateEach { subflow in
            guard subflow.role == .data, subflow.isOpen else { return }
            subflow.stream.expectStream(of: time, at: now)
            streamedAt = nil
        }
        if streamedAt == nil { agenda.schedule(sampleAt: now.advanced(by: tuning.movedStreamLook)) }
    }
}
