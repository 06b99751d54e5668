// Makes the subflows what the mode wants them to be.

extension SteeringMachine {
    mutating func steer(at now: MonotonicTime) {
        // What has come in since the latest sample may speak for the path that is about to be left.
        guard !leavesFailedCarrier || isFresh(at: now) else { return }
        if traits.steers { followPolicy(at: now) } else { leaveFailed(at: now) }
        dismissSuccessors(at: now)
        reconciler.settleWithdrawals(paths, &timers, at: now, tuning)
        reconciler.settlePromotions(&timers, at: now)
        reconciler.settleReset(paths)
        checkStranded(at: now)
    }

    private mutating func followPolicy(at now: MonotonicTime) {
        let interval = wanders(at: now) ? tuning.closeMeasurementPause : tuning.measurementPause
        let views = allowed.list.map { view($0, measuredEach: interval, at: now) }
        let decision = policy.decide(views, at: now, tuning)
        // A lone path has none to be compared with.
        let compares = traits.followsLatency && views.count > 1
        for path in paths.keys where compares && decision.measures.contains(path) {
            probe(path, .measurement, at: now)
        }
        let wanted = Array(zip(allowed.list, decision.roles))
        // Before the one that is left is told to carry: what is on a failed path is to be repeated first.
        if hasOnlyOne { leaveFailed(at: now) }
        for (path, role) in wanted { attend(path, role, at: now) }
        for (path, role) in wanted {
            demote(path.key, role, at: now)
            if role != .carry { callOffJoin(over: path, at: now) }
        }
        leaveFailed(at: now)
        // Last: what is not needed goes when what is needed carries.
        for (path, role) in wanted where role == .none { release(path.key, at: now) }
        tellCarrier(wanted, decision, at: now)
        if let again = decision.again { timers.set(.connection(.policy), at: again) }
        if compares { planMeasurements(of: views, every: interval, at: now) }
    }

    /// Whether one path is left that works and is joined.
    private var hasOnlyOne: Bool {
        reconciler.subflows.all.count { $0.role == .data && $0.isOpen && !paths[$0.path].hasFailed } == 1
    }

    /// Plans when joined paths are measured next. What stands in the way of that (a bulk transfer, data that waits, a probe that
    /// is under way) ends with a pass, and that plans anew.
    private mutating func planMeasurements(
        of views: [PathView], every interval: Duration, at now: MonotonicTime
    ) {
        guard isActive(at: now), let quiet = quietFrom(at: now) else { return }
        for view in views where view.isJoined {
            guard let measured = paths[view.key].measuredAt, paths[view.key].state.probing == nil,
                !paths[view.key].hasFailed, let data = reconciler.subflows.data(on: view.key),
                reconciler.subflows[data].progress.waitingSince == nil
            else { continue }
            let due = max(
                measured.advanced(by: interval), quiet, now.advanced(by: tuning.leastMeasurementPause))
            timers.set(.path(view.key, .measurement), at: due)
        }
    }

    private func view(
        _ path: AllowedPath, measuredEach interval: Duration, at now: MonotonicTime
    ) -> PathView {
        let machine = paths[path.key]
        let data = reconciler.subflows.data(on: path.key).map { reconciler.subflows[$0] }
        var latency = machine.latency
        if let since = data?.progress.waitingSince, let known = latency {
            latency = max(known, since.duration(to: now))
        }
        let isOld = machine.measuredAt.map { $0.duration(to: now) >= interval } ?? true
        return PathView(
            key: path.key, isFree: path.isFree,
            standing: PathView.Standing(machine.state), isJoined: data?.isOpen ?? false, latency: latency,
            isFading: path.interface.quality.isFading,
            isLatencyOld: isOld && isActive(at: now) && machine.state.probing == nil
                && data?.progress.waitingSince == nil && quietFrom(at: now).map { $0 <= now } ?? false)
    }

    // MARK: One path

    /// Gives a path the subflow that its role needs.
    private mutating func attend(_ path: AllowedPath, _ role: PathRole, at now: MonotonicTime) {
        guard role != .none else { return }
        guard let data = reconciler.subflows.data(on: path.key) else {
            // One that failed has to prove itself, but not where there is nothing else: to make it carry only then takes
            // a message that may get lost (MP_PRIO).
            let isOnProbation = paths[path.key].hasFailed && hasOther(than: path.key)
            return join(path, isBackup: role == .standby || isOnProbation, at: now)
        }
        let subflow = reconciler.subflows[data]
        if !subflow.isOpen {
            giveUpSlowJoin(data, at: now)
        } else if paths[path.key].hasFailed {
            retry(path, subflow, at: now)
        } else if role == .carry, subflow.isBackup, subflow.keepsPriority, reconciler.takesJoins {
            // Seen of an IPv4 subflow on an IPv6 socket. One that is made anew has the priority it is made with.
            reconciler.end(data)
            join(path, isBackup: false, at: now)
        } else if role == .carry, subflow.isBackup, prioritize(data, isBackup: false, at: now) {
            reconciler.subflows[data].progress.carriesSince = now
        }
    }

    /// Has a path stand by, after all that are to carry do so.
    private mutating func demote(_ path: PathKey, _ role: PathRole, at now: MonotonicTime) {
        guard role == .standby, let data = reconciler.subflows.data(on: path),
            !reconciler.subflows[data].isBackup, !paths[path].hasFailed,
            reconciler.subflows.all.contains(where: {
                $0.path != path && $0.role == .data && $0.isOpen && !$0.isBackup
            })
        else { return }
        prioritize(data, isBackup: true, at: now)
    }

    /// Lets the subflow of a path go that is not needed.
    private mutating func release(_ path: PathKey, at now: MonotonicTime) {
        guard let data = reconciler.subflows.data(on: path), hasOther(than: path), configuration.isAlone
        else { return }
        // Put aside it costs nothing but its place.
        if !reconciler.subflows[data].isBackup { prioritize(data, isBackup: true, at: now) }
        guard let quiet = endsFreelyFrom(at: now) else { return }
        guard now >= quiet, isFresh(at: now) else {
            return timers.set(.connection(.release), at: max(quiet, now))
        }
        leave(path, because: .unneeded, isCertain: false, at: now)
    }

    // MARK: Joins

    private mutating func join(_ path: AllowedPath, isBackup: Bool, at now: MonotonicTime) {
        guard reconciler.takesJoins else { return }
        let next = paths[path.key].retry.at
        guard now >= next else { return timers.set(.path(path.key, .retry), at: next) }
        guard let (local, remote) = allowed.endpoints(on: path.interface, reconciler.subflows),
            let id = reconciler.id(of: local)
        else { return }
        if paths[path.key].hasFailed, !isAwake(path.key, path.interface, at: now) { return }
        // What needs a place comes before what is kept in case, and before the reserve.
        if !reconciler.hasRoom(tuning) { reconciler.endAll { $0.lingersUntil != nil } }
        if !reconciler.hasRoom(tuning), let reserve = reconciler.subflows.reserve {
            let other = reconciler.subflows[reserve].path
            if giveUpReserve(at: now) {
                // The word of its end may take the slower path.
                let pause = max((paths[other].latency ?? .zero) * 2, tuning.leastRoomPause)
                paths[path.key].retry.at = now.advanced(by: min(pause, tuning.longestJoinPause))
                return timers.set(.path(path.key, .retry), at: paths[path.key].retry.at)
            }
        }
        if paths[path.key].hasFailed { planRetry(path.key, at: now) }
        let address = SubflowAction.LocalAddress(local, id: id, interface: path.interface.index)
        let route = Subflow.Route(
            path: path.key, interface: path.interface.index, address: address, remote: remote)
        create(route, .data, isBackup: isBackup, at: now)
        timers.set(.path(path.key, .join), at: now.advanced(by: tuning.joinTimeout))
    }

    /// How long a handshake over a path takes at most, by what is known of its round trips.
    func longestJoin(over path: PathKey) -> Duration {
        max(tuning.joinTimeout, (paths[path].latency ?? tuning.unknownJoinTime) * tuning.joinPatience)
    }

    /// A handshake that takes too long. The kernel repeats its SYN after 1 s at the earliest; a new one goes sooner. But where
    /// several in a row took too long the path is rather that slow.
    private mutating func giveUpSlowJoin(_ data: SubflowID, at now: MonotonicTime) {
        let subflow = reconciler.subflows[data]
        let path = subflow.path
        let doublings = min(paths[path].slowJoins, tuning.mostSlowJoins)
        let due = max(
            subflow.requested.advanced(by: longestJoin(over: path) * (1 << doublings)),
            lateness.excusedAt.advanced(by: tuning.unknownJoinTime))
        guard now >= due else { return timers.set(.path(path, .join), at: due) }
        if !paths[path].hasFailed {
            weigh(.joinTimedOut, on: path, at: now)
            // Another may be wanted now.
            timers.set(.connection(.review), at: now)
        }
        guard subflow.port != nil else {
            // An endpoint that all share gave this connection nothing: it is asked for again.
            if !configuration.isAlone { reconciler.subflows.remove(data) }
            return agenda.schedule(sampleAt: now)
        }
        // It costs nothing to leave it until another has a chance.
        guard let interface = allowed.snapshot?.path(subflow.route.interface),
            isAwake(path, interface, at: now)
        else { return }
        reconciler.end(data)
        paths[path].noteSlowJoin(at: now)
        timers.set(.connection(.review), at: now)
    }

    /// Ends a handshake whose subflow would carry, and cost, when the path that it was to replace works again: once it is complete
    /// data goes there until the peer takes a word of it (MP_PRIO). The next one stands by from its beginning.
    private mutating func callOffJoin(over path: AllowedPath, at now: MonotonicTime) {
        guard !path.isFree, !paths[path.key].hasFailed,
            let data = reconciler.subflows.data(on: path.key), configuration.isAlone, reconciler.takesJoins
        else { return }
        let join = reconciler.subflows[data]
        guard join.phase == .requested, !join.isBackup, join.port != nil,
            outstanding <= tuning.transfer.outstanding,
            reconciler.subflows.all.contains(where: {
                $0.role == .data && $0.isOpen && !$0.isBackup && paths[$0.path].isCalm
                    && $0.returnedAt.map { $0 > join.requested } ?? false
            }), isFresh(at: now)
        else { return }
        reconciler.end(data)
        timers.set(.connection(.review), at: now)
    }

    // MARK: Failed paths

    /// A failed path whose subflow was kept, because there was no other: a new handshake may get through.
    private mutating func retry(_ path: AllowedPath, _ data: Subflow, at now: MonotonicTime) {
        guard !reconciler.peerHasEnded, isAwake(path.key, path.interface, at: now), isFresh(at: now)
        else { return }
        // Its subflow may be forgotten somewhere; one that answers takes its place.
        planRetry(path.key, at: now)
        succeed(data.id, at: now)
    }

    /// Probes a failed path by TCP when it is time, and tells whether it has answered.
    private mutating func isAwake(
        _ path: PathKey, _ interface: PathInterface, at now: MonotonicTime
    ) -> Bool {
        if paths[path].isAwake { return true }
        let next = paths[path].retry.at
        guard now >= next, let (_, remote) = allowed.endpoints(on: interface, reconciler.subflows) else {
            timers.set(.path(path, .retry), at: next)
            return false
        }
        planRetry(path, at: now)
        reconciler.add(.startProbe(path, interface: interface.index, remote: remote))
        return false
    }

    /// A failed path is being tried. While something waits that is done every second, otherwise ever less often.
    private mutating func planRetry(_ path: PathKey, at now: MonotonicTime) {
        paths[path].useAnswer()
        let isHurried = isActive(at: now) || stranding.isStranded
        paths[path].retry.noteAttempt(isHurried: isHurried, at: now, tuning)
        timers.set(.path(path, .retry), at: paths[path].retry.at)
    }
}
