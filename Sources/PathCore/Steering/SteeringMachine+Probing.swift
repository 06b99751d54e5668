// Probes: plain TCP handshakes with the peer over a path, half open, made to see whether it answers, and how soon.
//
// They are no part of the connection. A subflow that is made for that tells no more, and its end makes both kernels send
// a window again (see `Reconciler`); this one costs three small packets and the transfer nothing.

extension SteeringMachine {
    /// Asks whether a path lives, or how long its round trip takes, where that can be asked.
    mutating func probe(_ path: PathKey, _ cause: Probing.Cause, at now: MonotonicTime) {
        guard probes, !paths[path].hasFailed, reconciler.subflows.data(on: path) != nil,
            begin(cause, on: path, at: now)
        else { return }
        if cause != .measurement { probeStandbys(insteadOf: path, at: now) }
        advanceProbing(path, at: now)
    }

    private mutating func begin(
        _ cause: Probing.Cause, on path: PathKey, at now: MonotonicTime
    ) -> Bool {
        let isThin = cause == .trouble(.noAnswer) && isAwaitedOnly(on: path, at: now)
        let least = leastProbes(of: path, isThin: isThin)
        return paths[path].beginProbing(cause, least: least, isThin: isThin, tuning)
    }

    /// Data that goes to a path which costs something for want of one answer is money for want of one packet.
    private func leastProbes(of path: PathKey, isThin: Bool) -> Int {
        let least = isThin ? tuning.probesOfAwaited : 1
        guard let next = alternative(to: path), !next.isFree else { return least }
        return max(least, tuning.probesBeforeExpense)
    }

    /// Whether only the user's word says that something is to come, and no stream that has just been heard.
    private func isAwaitedOnly(on path: PathKey, at now: MonotonicTime) -> Bool {
        awaitedSince != nil && !hasFreshStream(on: path, at: now)
    }

    private func hasFreshStream(on path: PathKey, at now: MonotonicTime) -> Bool {
        guard let data = reconciler.subflows.data(on: path) else { return false }
        return reconciler.subflows[data].stream.isFresh(at: now, tuning)
    }

    /// Whether such silence is still all there is: a stream that has moved there proves more, and so does data of ours that waits too
    /// long. That the user awaits nothing any more makes it no proof.
    private func isThin(_ probing: Probing, _ path: PathKey, at now: MonotonicTime) -> Bool {
        probing.isThin && paths[path].state.trouble == nil && !hasFreshStream(on: path, at: now)
    }

    /// Sends what is still to be sent, and draws the conclusion.
    mutating func advanceProbing(_ path: PathKey, at now: MonotonicTime) {
        guard let probing = paths[path].state.probing else { return }
        guard let data = reconciler.subflows.data(on: path) else { return paths[path].endProbing() }
        let subflow = reconciler.subflows[data]
        var plan = ProbePlan(answerTime: expectedAnswer(subflow, probing, at: now), tuning)
        if isThin(probing, path, at: now) {
            plan.spacing = max(plan.spacing, tuning.awaitedProbeSpacing)
            plan.patience = max(plan.patience, tuning.awaitedProbePatience)
        }
        let timer = SteeringTimer.path(path, .probing)
        switch paths[path].advanceProbing(plan, repairedAt: repairedAt(path), at: now) {
        case .wait(let due): timers.set(timer, at: due)
        case .send(let look):
            reconciler.add(
                .startProbe(path, interface: subflow.route.interface, remote: subflow.remote))
            timers.set(timer, at: look)
            if paths[path].state.probing?.hasSentAll ?? false { lookForRepairs(probing, plan, at: now) }
        case .unanswered: judgeUnanswered(path, data, plan, at: now)
        case nil: break
        }
    }

    private mutating func judgeUnanswered(
        _ path: PathKey, _ data: SubflowID, _ plan: ProbePlan, at now: MonotonicTime
    ) {
        guard let probing = paths[path].state.probing else { return }
        // What came in meanwhile counts, up to the last moment.
        let timer = SteeringTimer.path(path, .probing)
        guard isFresh(at: now) else { return timers.set(timer, at: now) }
        if hasNews(from: path, since: probing.first) {
            paths[path].endProbing()
            // What is silent since is asked again.
            return timers.set(.connection(.review), at: now)
        }
        if !probing.wasAsked {
            paths[path].endProbing()
            return judgeWithoutProbes(data, at: now)
        }
        let subflow = reconciler.subflows[data]
        let isThin = isThin(probing, path, at: now)
        if isThin, alternative(to: path) == nil {
            // Nothing would follow from it but that the path had to prove itself.
            paths[path].endProbing()
            return timers.set(.connection(.review), at: now)
        }
        if probing.cause == .trouble(.noAnswer), let due = subflow.silenceIsCertain(at: now, tuning),
            now < due
        {
            lookForRepairs(probing, plan, at: now)
            return timers.set(timer, at: due)
        }
        switch probing.cause {
        case .measurement:
            paths[path].noteProbe(isAnswered: false, tuning)
            paths[path].measurementTimedOut(plan, isThin: isAwaitedOnly(on: path, at: now), tuning)
            timers.set(.connection(.review), at: now)
        case .trouble(let trouble):
            // While others hear the peer it proves little to those that happen not to.
            if !isThin, !probing.isShared, !probing.isHeardElsewhere {
                paths[path].verdictShared()
                reconciler.add(
                    .share(
                        PathVerdict(
                            interface: subflow.route.interface, remote: subflow.remote.address,
                            trouble: trouble, since: probing.first)))
            }
            if let due = verdictDue(at: now) {
                agenda.schedule(sampleAt: now.advanced(by: max(pace, tuning.handoff.look)))
                return timers.set(timer, at: due)
            }
            paths[path].noteProbe(isAnswered: false, tuning)
            weigh(.probesUnanswered(trouble), on: path, at: now)
        }
    }

    /// Whether anything that goes on has come in over a path since a time.
    private func hasNews(from path: PathKey, since time: MonotonicTime) -> Bool {
        reconciler.subflows.all.contains { subflow in
            subflow.path == path && subflow.isOpen && subflow.progress.newsAt.map { $0 >= time } ?? false
        }
    }

    /// Whether a loss is being repaired is to be known before the answer is given up.
    private mutating func lookForRepairs(_ probing: Probing, _ plan: ProbePlan, at now: MonotonicTime) {
        guard probing.cause == .trouble(.noAnswer) else { return }
        agenda.schedule(sampleAt: now.advanced(by: max(plan.patience / 2, pace)), forSilence: true)
    }

    /// When a segment came in last over a path that was behind a lost one.
    private func repairedAt(_ path: PathKey) -> MonotonicTime? {
        reconciler.subflows.all.compactMap { subflow in
            subflow.path == path && subflow.isOpen ? subflow.stream.silence.repairedAt : nil
        }.max()
    }

    /// How long a handshake over a subflow's path takes at most.
    func expectedAnswer(_ data: Subflow, _ probing: Probing, at now: MonotonicTime) -> Duration {
        // Where nothing has come in for a while no queue is full: the answer takes the path's shortest time. (What
        // the kernel measured is of little use: a receiver sends too seldom.) If the queue fills meanwhile, what fills
        // it comes in, unless it is repeated. Where no stream was heard, or others hear the peer, it may be others' queue.
        let isThin = isThin(probing, data.path, at: now)
        let elsewhere = probing.heardElsewhere?.answerTime
        if probing.cause == .trouble(.noAnswer), !isThin, elsewhere == nil,
            let least = data.progress.latest?.minimumRTT,
            let heard = data.stream.silence.heardAt,
            heard.duration(to: probing.count == 0 ? now : probing.latest) >= tuning.quietTime
        {
            return least * tuning.quietAllowance + tuning.quietMargin
        }
        let isUnknown = data.progress.latest == nil
        return max(
            isUnknown ? tuning.unknownProbeTime : data.progress.answerTime(tuning),
            isThin ? tuning.unknownProbeTime : .zero, paths[data.path].latency ?? .zero, elsewhere ?? .zero)
    }

    // MARK: Answers

    /// A probe was answered, with a yes or a no: either comes from the peer's host.
    ///
    /// - Parameter time: how long that took.
    mutating func answered(_ path: PathKey, after time: Duration, at now: MonotonicTime) {
        paths[path].noteProbe(isAnswered: true, tuning)
        let trip = tuning.roundTrip(of: time, known: paths[path].latency)
        paths[path].noteLatency(trip, at: now, tuning)
        if paths[path].hasFailed { return paths[path].wakeUp(at: now) }
        let wasAsked = paths[path].isProbedForTrouble
        paths[path].endProbing()
        weigh(.probeAnswered, on: path, at: now)
        guard let data = reconciler.subflows.data(on: path) else { return }
        let subflow = reconciler.subflows[data]
        if subflow.progress.waitingSince != nil {
            if isStuck(data, at: now) {
                succeed(data, at: now)
                // Until that is there the same probe would have the same answer. (It may have been there.)
                if reconciler.subflows.contains(data) {
                    reconciler.subflows[data].progress.excuse(at: now)
                }
            }
        } else if wasAsked, !subflow.isBackup,
            subflow.stream.mayOffer(isShared: sharesStream(data, at: now), at: now, tuning)
        {
            // Nothing of ours waits; whether something of the peer's does is not known here. It is shown another way,
            // which it takes if its own subflow does not get through.
            succeed(data, at: now)
        }
    }
}
