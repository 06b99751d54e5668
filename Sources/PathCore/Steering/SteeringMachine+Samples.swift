// What samples show, and when the next is worth taking.

extension SteeringMachine {
    mutating func ingest(_ samples: [SubflowSample], written: MonotonicTime?, at now: MonotonicTime) {
        for sample in samples {
            guard let local = sample.local, let remote = sample.remote else { continue }
            // The kernel goes on listing the first subflow, closed: no new one is that.
            let mayBeNew = sample.state == .synSent || sample.state.carriesData
            guard let id = reconciler.subflows.between(local, remote, mayBeNew: mayBeNew) else {
                adopt(sample, local, remote, at: now)
                continue
            }
            reconciler.subflows[id].port = local.port
            if !reconciler.subflows[id].isOpen, sample.state.carriesData { opened(id, at: now) }
            // It may have ended with that.
            guard reconciler.subflows.contains(id), reconciler.subflows[id].isOpen else { continue }
            observe(id, sample, written: written, at: now)
        }
        for id in reconciler.subflows.ids.reversed() where hasEnded(id, samples, at: now) {
            closed(id, SubflowEnd(), at: now)
        }
        planSample(at: now)
    }

    /// Whether a subflow has ended, though nothing told it.
    private func hasEnded(_ id: SubflowID, _ samples: [SubflowSample], at now: MonotonicTime) -> Bool {
        guard reconciler.subflows.contains(id) else { return false }
        let subflow = reconciler.subflows[id]
        guard let local = subflow.local else {
            // One that begins is listed. It ended before any sample showed it.
            return subflow.requested.duration(to: now) >= tuning.unlistedTimeout
        }
        // The kernel goes on listing the first one, closed.
        let own = samples.first { $0.local == local && $0.remote == subflow.remote }
        return own.map { $0.state == .closed } ?? true
    }

    /// A subflow that the peer made.
    private mutating func adopt(
        _ sample: SubflowSample, _ local: IPEndpoint, _ remote: IPEndpoint, at now: MonotonicTime
    ) {
        guard !traits.steers, sample.state.carriesData, let number = reconciler.id(ofAdopted: local.address)
        else { return }
        // At an accepting end a path is what leads to one of the peer's addresses.
        let path = paths.key(for: PathID(remote.address))
        let id = reconciler.subflows.add(
            Subflow.Route(
                path: path, interface: allowed.snapshot?.interface(with: local.address)?.index ?? 0,
                address: SubflowAction.LocalAddress(local.address, id: number), remote: remote),
            .data, port: local.port, isBackup: false, at: now)
        reconciler.subflows[id].phase = .open(since: now)
        _ = reconciler.subflows[id].ingest(sample, written: nil, at: now, tuning)
        if paths[path].hasFailed { paths.reset(path) }
        tell(.joined(paths.id(of: path)))
    }

    // MARK: One subflow

    private mutating func observe(
        _ id: SubflowID, _ sample: SubflowSample, written: MonotonicTime?, at now: MonotonicTime
    ) {
        let progress = reconciler.subflows[id].ingest(sample, written: written, at: now, tuning)
        guard progress.isAny else { return }
        lastActivity = now
        stranding.progressed()
        gap.note(progress)
        if progress.hasReceived {
            let isShared = sharesStream(id, at: now)
            reconciler.subflows[id].stream.continues(isShared: isShared, at: now, tuning)
        }
        switch reconciler.subflows[id].role {
        case .successor: observeSuccessor(id, progress, at: now)
        case .reserve: observeReserve(id, progress, at: now)
        case .data: observeData(id, progress, sample, at: now)
        }
    }

    private mutating func observeReserve(_ id: SubflowID, _ progress: Progress, at now: MonotonicTime) {
        let path = reconciler.subflows[id].path
        // What comes in this way does not come the other.
        if progress.hasReceived, let data = reconciler.subflows.data(on: path),
            reconciler.subflows[data].stream.isStream
        {
            reconciler.subflows[data].stream.expectAnew(at: now)
        }
        weigh(.progressBeside, on: path, at: now)
    }

    private mutating func observeData(
        _ id: SubflowID, _ progress: Progress, _ sample: SubflowSample, at now: MonotonicTime
    ) {
        // What comes in says nothing of what waits here.
        let isAnswer = progress.hasAcknowledged || reconciler.subflows[id].progress.waitingSince == nil
        if isAnswer { reconciler.subflows[id].stuckSince = nil }
        let (path, isBackup) = (reconciler.subflows[id].path, reconciler.subflows[id].isBackup)
        if progress.hasAcknowledged {
            paths[path].noteDelivery(sample, tuning)
            let recent = reconciler.subflows[id].progress.recentRTT ?? sample.smoothedRTT
            let known = paths[path].latency ?? recent
            // Half of what was known: one late answer is not yet a slow path. A mode that follows latencies has its own
            // patience, and can't wait for a second measurement to know that a path has become slower.
            let isWorse = traits.followsLatency && recent > known
            paths[path].noteLatency(isWorse ? recent : (known + recent) / 2, at: now, tuning)
        }
        let hadFailed = paths[path].hasFailed
        guard hadFailed ? progress.hasAcknowledged || revives(id, at: now) : isAnswer else { return }
        weigh(.progress(isCarrying: !isBackup), on: path, at: now)
        // What we send gets through again. The peer's timer may have backed off for long: it is shown another way.
        if hadFailed, !paths[path].hasFailed, !progress.hasReceived,
            reconciler.subflows[id].stream.isFresh(at: now, tuning)
        {
            succeed(id, at: now)
        }
    }

    /// Whether what comes in has a failed path work again. Where there is another it has to go on, or follow at once while another
    /// is being joined: what is late was on its way before. And it says nothing for a subflow that gets nothing of ours through
    /// over a path that answers.
    private mutating func revives(_ id: SubflowID, at now: MonotonicTime) -> Bool {
        let subflow = reconciler.subflows[id]
        guard let heard = subflow.progress.newsAt else { return false }
        let soon = max(subflow.longestStreamPause(at: now, tuning), pace * 2)
        let returned = subflow.returnedAt.flatMap { $0.duration(to: heard) <= soon ? $0 : nil }
        if returned == nil { reconciler.subflows[id].returnedAt = heard }
        guard hasOther(than: subflow.path) else {
            return !isJoining(otherThan: subflow.path)
                || returned.map { $0.duration(to: heard) >= tuning.silence / 2 } ?? false
        }
        return subflow.stuckSince == nil && heard.duration(to: now) < tuning.silence
    }

    /// Whether a subflow is being made over another path that nothing is known against.
    private func isJoining(otherThan path: PathKey) -> Bool {
        reconciler.subflows.all.contains {
            $0.path != path && $0.role == .data && $0.phase == .requested && !paths[$0.path].hasFailed
        }
    }

    // MARK: The next sample

    /// Plans when to look again, after a sample.
    private mutating func planSample(at now: MonotonicTime) {
        var plan = SamplePlan()
        for subflow in reconciler.subflows.all {
            switch subflow.role {
            case .data where subflow.isOpen: planSample(of: subflow, &plan, at: now)
            case .successor where subflow.lingersUntil.map { now < $0 } ?? false:
                // The peer was shown this way.
                let pause = max(subflow.progress.answerTime(tuning), tuning.leastOfferLook)
                plan.add(now.advanced(by: pause))
            default: break
            }
            if subflow.port == nil, subflow.requested.duration(to: now) < tuning.portLook { plan.add(now) }
        }
        if !configuration.hasHints { plan.add(now.advanced(by: idleLook(at: now))) }
        if plan.due == nil, let time = unsentDue(at: now) { plan.add(time) }
        // Where round trips change, what carries is measured as often as what doesn't.
        if plan.due != nil, wanders(at: now) { plan.add(now.advanced(by: tuning.closeLook)) }
        if let first = plan.first {
            agenda.schedule(sampleAt: max(first, now.advanced(by: pace)), forSilence: plan.due == nil)
        }
        planGlances(at: now)
        // What one path lost may be acknowledged over another that carries as well: a glance does not see that.
        let carrying = reconciler.subflows.all.count { $0.role == .data && !$0.isBackup }
        agenda.isRested = agenda.mayGlance(at: now) && agenda.nextSample == nil && carrying <= 1
    }

    /// Says for how long glances are enough from now on.
    private mutating func planGlances(at now: MonotonicTime) {
        // Whether the peer has ended as well a glance does not tell.
        guard isCalm, !reconciler.hasEnded else { return agenda.endGlances() }
        agenda.glancesUntil = now.advanced(by: pace * tuning.calmPaces)
        let hasFailed = paths.keys.contains { paths[$0].hasFailed }
        agenda.glancePause = hasFailed ? nil : max(answerTime ?? tuning.firstLook, pace)
    }

    /// The user has written or read something, as many connections' users do.
    ///
    /// - Parameter pace: the least time between two looks at one connection.
    /// - Returns: when a glance will tell all that there is to know of it; nil where the machine must hear of it at once
    ///   (`dataMoves`).
    package mutating func dataMovesCalmly(pace: Duration, at now: MonotonicTime) -> MonotonicTime? {
        if agenda.isRested {
            self.pace = pace
            planGlances(at: now)
        }
        guard let pause = agenda.pauseBeforeGlance(at: now) else { return nil }
        agenda.isRested = false
        lastActivity = now
        let due = now.advanced(by: pause)
        agenda.glanceDue = due
        return due
    }

    /// How soon an idle connection is looked at again whose owner does not tell when data moves.
    private func idleLook(at now: MonotonicTime) -> Duration {
        guard configuration.isLent else { return tuning.idleLook }
        let share = lastActivity.duration(to: now) / tuning.idleLookShare
        return min(tuning.idleLook, max(tuning.leastIdleLook, share))
    }

    /// When to look again: because something is under way, or because of silence only.
    private struct SamplePlan {
        private(set) var due: MonotonicTime?
        private var silence: MonotonicTime?
        var first: MonotonicTime? {
            guard let due, let silence else { return due ?? silence }
            return min(due, silence)
        }

        mutating func add(_ time: MonotonicTime) { due = min(due ?? time, time) }
        mutating func add(silence time: MonotonicTime) { silence = min(silence ?? time, time) }
    }

    private func planSample(of subflow: Subflow, _ plan: inout SamplePlan, at now: MonotonicTime) {
        let hasFailed = paths[subflow.path].hasFailed
        if subflow.progress.waitingSince != nil {
            plan.add(
                hasFailed
                    ? now.advanced(by: tuning.failedPathLook) : suspicionDue(subflow, at: now) ?? now)
        }
        if probes, paths[subflow.path].state.probing == nil, let due = silenceDue(subflow, at: now) {
            plan.add(silence: hasFailed ? failedLook(subflow, at: now) : due)
        }
        // An owner that tells of data wakes the machine by the next that moves.
        if !configuration.hasHints, subflow.progress.progressAt == now {
            plan.add(now.advanced(by: subflow.progress.answerTime(tuning)))
        }
    }

    /// When a failed path's silence is looked after: ever less often, so that how long it lasts is known well enough.
    private func failedLook(_ subflow: Subflow, at now: MonotonicTime) -> MonotonicTime {
        let silence = (subflow.stream.silence.heardAt ?? now).duration(to: now)
        let pause = max(silence / tuning.suspectWaitShare, tuning.leastSuspectLook)
        return now.advanced(by: min(pause, tuning.failedPathLook))
    }

    /// When to look for data that is on no subflow yet, though there is one: it has only just been made, or the peer does
    /// not read.
    private func unsentDue(at now: MonotonicTime) -> MonotonicTime? {
        guard outstanding > 0 else { return nil }
        var newest: MonotonicTime?
        var soonest: Duration?
        for subflow in reconciler.subflows.all where subflow.role == .data {
            guard let since = subflow.openSince else { continue }
            newest = max(newest ?? since, since)
            let time = subflow.progress.answerTime(tuning)
            soonest = min(soonest ?? time, time)
        }
        guard let newest, let soonest else { return nil }
        let pause = max(lastActivity, newest).duration(to: now) / tuning.unsentLookShare
        return now.advanced(by: min(max(soonest, pause), tuning.longestUnsentLook))
    }

    /// Whether the latest round trips and losses are known for a while. A mode that follows latencies wants each.
    private var isCalm: Bool {
        !traits.followsLatency && configuration.hasHints && reconciler.isReady && awaitedSince == nil
            && reconciler.subflows.all.allSatisfy { subflow in
                subflow.isOpen && !subflow.stream.isStream && subflow.progress.waitingSince == nil
                    && (subflow.role == .data || subflow.role == .reserve && subflow.isBackup)
                    && paths[subflow.path].isCalm
            }
    }
}
