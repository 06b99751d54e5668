// Probes: joins over a path that are made to see whether it answers.

extension SteeringMachine {
    /// Asks whether a path lives, or how long its round trip takes, where that can be asked.
    mutating func probe(_ path: PathKey, _ cause: Probing.Cause, at now: MonotonicTime) {
        guard probes, reconciler.isReady, !paths[path].hasFailed, reconciler.subflows.data(on: path) != nil,
            paths[path].beginProbing(cause, tuning)
        else { return }
        advanceProbing(path, at: now)
    }

    /// Sends what is still to be sent, and draws the conclusion.
    mutating func advanceProbing(_ path: PathKey, at now: MonotonicTime) {
        guard let probing = paths[path].state.probing else { return }
        guard let data = reconciler.subflows.data(on: path) else { return paths[path].endProbing() }
        let answerTime = expectedAnswer(reconciler.subflows[data], probing, at: now)
        let plan = ProbePlan(answerTime: answerTime, tuning)
        let timer = SteeringTimer.path(path, .probing)
        switch paths[path].advanceProbing(plan, at: now) {
        case .wait(let due): timers.set(timer, at: due)
        case .send(let look):
            sendProbe(path, at: now)
            timers.set(timer, at: look)
        case .unanswered: probesTimedOut(path, data, plan, at: now)
        case nil: break
        }
    }

    private mutating func probesTimedOut(
        _ path: PathKey, _ data: SubflowID, _ plan: ProbePlan, at now: MonotonicTime
    ) {
        guard let probing = paths[path].state.probing else { return }
        let subflow = reconciler.subflows[data]
        // What came in at the last moment counts.
        if let news = subflow.progress.newsAt, news >= probing.latest { return paths[path].endProbing() }
        paths[path].noteProbe(isAnswered: false, tuning)
        switch probing.cause {
        case .measurement:
            paths[path].measurementTimedOut(plan, tuning)
            timers.set(.connection(.review), at: now)
        case .trouble(let trouble):
            reconciler.add(
                .share(
                    PathVerdict(
                        interface: subflow.route.interface, remote: subflow.remote.address, trouble: trouble,
                        since: probing.first)))
            weigh(.probesUnanswered(trouble), on: path, at: now)
        }
    }

    /// How long a handshake over a subflow's path takes at most.
    private func expectedAnswer(_ data: Subflow, _ probing: Probing, at now: MonotonicTime) -> Duration {
        // Where nothing has come in for a while no queue is full: the answer takes the path's shortest time. (What
        // the kernel measured is of little use: a receiver sends too seldom.)
        if probing.cause == .trouble(.noAnswer), let least = data.progress.latest?.minimumRTT,
            let heard = data.stream.silence.heardAt,
            heard.duration(to: probing.count == 0 ? now : probing.latest) >= tuning.quietTime
        {
            return least * tuning.quietAllowance + tuning.quietMargin
        }
        let isUnknown = data.progress.latest == nil
        return max(
            isUnknown ? tuning.unknownProbeTime : data.progress.answerTime(tuning),
            paths[data.path].latency ?? .zero)
    }

    /// A join over the path, which stands by so that no data takes it.
    private mutating func sendProbe(_ path: PathKey, at now: MonotonicTime) {
        // In a bulk transfer those before are still there, and there is not room for any number.
        let answered = reconciler.subflows.all.filter { $0.path == path && $0.lingersUntil != nil }
        if answered.count >= tuning.mostAnsweredProbes { reconciler.end(answered[0].id) }
        guard let data = reconciler.subflows.data(on: path) else { return }
        createProbe(reconciler.subflows[data].route, at: now)
    }

    /// Makes a probe in place of the oldest one that was not answered, where there are many of those.
    mutating func createProbe(_ route: Subflow.Route, at now: MonotonicTime) {
        let unanswered = reconciler.subflows.all.filter {
            $0.path == route.path && $0.role == .probe && !$0.isOpen && $0.port != nil
        }
        if unanswered.count >= tuning.mostUnansweredProbes { reconciler.end(unanswered[0].id) }
        create(route, .probe, isBackup: true, at: now)
    }

    // MARK: Answers

    /// A probe's handshake is complete.
    mutating func probeOpened(_ id: SubflowID, at now: MonotonicTime) {
        let path = reconciler.subflows[id].path
        // Where a translator has forgotten the path's own subflow, what the peer sends comes this way. One way is enough:
        // of several answers the first has shown it.
        let isSerious = paths[path].state.probing.map { !$0.isMeasurement } ?? false
        reconciler.subflows[id].lingersUntil = isSerious ? now.advanced(by: tuning.probeLinger) : now
        paths[path].endProbing()
        guard let data = reconciler.subflows.data(on: path) else { return }
        let hadFailed = paths[path].hasFailed
        weigh(.probeAnswered, on: path, at: now)
        // Its old subflow was kept for want of another one, and may be forgotten.
        if hadFailed { return replace(data, by: id, at: now) }
        guard reconciler.subflows[data].progress.waitingSince != nil else {
            if isSerious { invite(id, insteadOf: data, at: now) }
            return
        }
        if isStuck(data, at: now) { replace(data, by: id, at: now) }
    }

    /// A probe was refused: the refusal comes from the peer's host as well.
    mutating func probeRefused(_ probe: Subflow, at now: MonotonicTime) {
        let path = probe.path
        guard paths[path].state.probing != nil else { return }
        weigh(.probeAnswered, on: path, at: now)
        paths[path].endProbing()
        paths[path].noteProbe(isAnswered: true, tuning)
        paths[path].noteLatency(
            probe.roundTrip(answered: now, known: paths[path].latency, tuning), at: now, tuning)
        // It may be for want of the place that the reserve takes. If not, no other can take the subflow's place.
        if reconciler.subflows.reserve != nil {
            giveUpReserve(at: now)
        } else if let data = reconciler.subflows.data(on: path), isStuck(data, at: now) {
            weigh(.stuck, on: path, at: now)
        }
    }

    /// Nothing of ours waits; whether something of the peer's does is not known here. It is shown another way, which
    /// it takes if its own subflow does not get through.
    private mutating func invite(_ fresh: SubflowID, insteadOf data: SubflowID, at now: MonotonicTime) {
        let own = reconciler.subflows[data]
        guard !own.isBackup, prioritize(fresh, isBackup: false, at: now) else { return }
        let pause = max(own.progress.answerTime(tuning), tuning.leastInvitationLook)
        agenda.schedule(sampleAt: now.advanced(by: pause))
    }

    /// Ends the probes that were answered, as soon as that costs little.
    mutating func dismissAnswered(at now: MonotonicTime) {
        var first: MonotonicTime?
        for subflow in reconciler.subflows.all {
            guard let time = subflow.lingersUntil else { continue }
            first = min(first ?? time, time)
        }
        guard let first, let quiet = quietFrom(at: now) else { return }
        let due = max(first, quiet)
        guard now >= due else { return timers.set(.connection(.dismissal), at: due) }
        reconciler.endAll { $0.isDone(at: now) }
    }
}
