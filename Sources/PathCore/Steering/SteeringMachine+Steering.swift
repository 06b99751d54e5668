// Makes the subflows what the mode's rules want them to be.

extension SteeringMachine {
    mutating func steer(_ paths: [PathInterface], at now: MonotonicTime) {
        for path in paths where records[path.name] == nil { records[path.name] = PathState() }
        if configuration.isAcceptor {
            leaveDead(at: now)
        } else {
            let interval = measureInterval(at: now)
            let views = paths.map { view($0, measuredEach: interval, at: now) }
            let decision = rules.decide(views, at: now)
            for name in decision.measures.sorted() { ask(name, .measurement, at: now) }
            for (path, role) in zip(paths, decision.roles) { attend(path, role, at: now) }
            for (path, role) in zip(paths, decision.roles) { demote(path.name, role, at: now) }
            leaveDead(at: now)
            // Last: what is not needed goes when what is needed carries.
            for (path, role) in zip(paths, decision.roles) where role == .none { release(path.name, at: now) }
            keepReserve(paths, at: now)
            tellCarrier(paths, decision, at: now)
            if let again = decision.again { wakeUps.append(again) }
            for view in views where configuration.mode == .interactive && view.isJoined {
                if isActive(at: now), let measured = records[view.name]!.latencyAt {
                    wakeUps.append(
                        max(measured.advanced(by: interval), now.advanced(by: .milliseconds(5))))
                }
            }
        }
        dismissAnswered(at: now)
        settleWithdrawals(at: now)
        checkStranded(paths, at: now)
    }

    /// How often a path that carries nothing is measured: more often while round trips change.
    private func measureInterval(at now: MonotonicTime) -> Duration {
        wanders(at: now) ? .milliseconds(100) : .milliseconds(400)
    }

    /// Whether it matters that some path's round trips take ever longer, or ever shorter.
    func wanders(at now: MonotonicTime) -> Bool {
        configuration.mode == .interactive && records.values.contains { $0.wanders(at: now) }
    }

    func isActive(at now: MonotonicTime) -> Bool { lastActivity.duration(to: now) < .seconds(1) }

    private func view(
        _ path: PathInterface, measuredEach interval: Duration, at now: MonotonicTime
    ) -> PathView {
        let record = records[path.name]!
        let data = dataSubflow(path.name)
        let subflow = data.map { subflows[$0] }
        var latency = record.latency
        if let since = subflow?.watch.waitingSince, let known = latency {
            latency = max(known, since.duration(to: now))
        }
        let standing: PathView.Standing =
            switch record.standing {
            case .good: .good
            case .suspect: .suspect
            case .dead: .dead
            case .validating: .validating
            }
        let isOld = record.latencyAt.map { $0.duration(to: now) >= interval } ?? true
        return PathView(
            name: path.name, isFree: !path.isExpensive && !path.isConstrained, standing: standing,
            isJoined: subflow?.isEstablished ?? false, latency: latency,
            isLatencyOld: isOld && isActive(at: now) && record.probe == nil
                && subflow?.watch.waitingSince == nil && quietFrom(at: now).map { $0 <= now } ?? false)
    }

    // MARK: One path

    /// Gives a path the subflow that its role needs.
    private mutating func attend(_ path: PathInterface, _ role: PathRole, at now: MonotonicTime) {
        guard role != .none else { return }
        let name = path.name
        guard let data = dataSubflow(name) else {
            // One that failed has to prove itself, but not where there is nothing else: to make it carry only then takes
            // a message that may get lost (MP_PRIO).
            let isOnProbation = records[name]!.isDead && hasOther(than: name)
            join(path, isBackup: role == .standby || isOnProbation, at: now)
            return
        }
        let subflow = subflows[data]
        if !subflow.isEstablished {
            giveUpSlowJoin(data, at: now)
        } else if records[name]!.isDead {
            retry(path, data, at: now)
        } else if role == .carry, subflow.isBackup, subflow.keepsPriority {
            // Seen of an IPv4 subflow on an IPv6 socket. One that is made anew has the priority it is made with.
            destroy(subflow)
            subflows.remove(at: data)
            join(path, isBackup: false, at: now)
        } else if role == .carry, subflow.isBackup, prioritize(data, isBackup: false, at: now) {
            subflows[data].watch.carriesSince = now
        }
    }

    /// Has a subflow carry or stand by, where and when the kernel takes such an order.
    /// - Returns: whether the order was given.
    @discardableResult
    mutating func prioritize(_ index: Int, isBackup: Bool, at now: MonotonicTime) -> Bool {
        let subflow = subflows[index]
        guard subflow.isEstablished, !subflow.keepsPriority, let local = subflow.local else { return false }
        guard now >= subflow.prioritizedFrom else {
            wakeUps.append(subflow.prioritizedFrom)
            return false
        }
        subflows[index].isBackup = isBackup
        perform(.prioritize(local: local, remote: subflow.remote, isBackup: isBackup))
        return true
    }

    /// After all that are to carry do so.
    private mutating func demote(_ name: String, _ role: PathRole, at now: MonotonicTime) {
        guard role == .standby, let data = dataSubflow(name), !subflows[data].isBackup,
            !records[name]!.isDead,
            subflows.contains(where: {
                $0.path != name && $0.purpose == .data && $0.isEstablished && !$0.isBackup
            })
        else { return }
        prioritize(data, isBackup: true, at: now)
    }

    private mutating func join(_ path: PathInterface, isBackup: Bool, at now: MonotonicTime) {
        guard isReady, !peerHasEnded else { return }
        let next = records[path.name]!.nextAttempt
        guard now >= next else { return wakeUps.append(next) }
        guard let (local, remote) = endpoints(on: path),
            let id = book.id(
                of: local, isUsed: { address in subflows.contains { $0.address.address == address } })
        else { return }
        if records[path.name]!.isDead {
            guard isAwake(path, at: now) else { return }
        }
        // A peer has room for few subflows (Linux: two beside the first, unless it is told otherwise).
        for subflow in subflows where subflow.lingersUntil != nil { destroy(subflow) }
        subflows.removeAll { $0.lingersUntil != nil && $0.port != nil }
        if additionalSubflows >= Self.room, let reservePath = reserve.map({ subflows[$0].path }),
            giveUpReserve(at: now)
        {
            // The word of its end may take the slower path.
            let pause = max((records[reservePath]?.latency ?? .zero) * 2, .milliseconds(20))
            records[path.name]!.nextAttempt = now.advanced(by: min(pause, Self.retry))
            return wakeUps.append(records[path.name]!.nextAttempt)
        }
        if records[path.name]!.isDead {
            records[path.name]!.isAwake = false
            planRetry(path.name, at: now)
        }
        create(
            on: path.name, path.index,
            SubflowAction.LocalAddress(local, id: id, interface: path.index), remote, .data,
            isBackup: isBackup, at: now)
        wakeUps.append(now.advanced(by: Self.retry))
    }

    /// A handshake that takes too long. The kernel would repeat its SYN after 1, 3, 7 s; a new one goes sooner. But where
    /// several in a row took too long the path is rather that slow.
    private mutating func giveUpSlowJoin(_ data: Int, at now: MonotonicTime) {
        let subflow = subflows[data]
        let expected = (records[subflow.path]!.latency ?? .milliseconds(250)) * 3
        let due = subflow.asked.advanced(
            by: max(Self.retry, expected) * (1 << min(records[subflow.path]!.slowJoins, 4)))
        guard now >= due else { return wakeUps.append(due) }
        if !records[subflow.path]!.isDead {
            die(subflow.path, .noAnswer, at: now)
            records[subflow.path]!.nextAttempt = now
            // Another may be wanted now.
            wakeUps.append(now)
        }
        guard subflow.port != nil else {
            // An endpoint that all share gave this connection nothing: it is asked for again.
            if !configuration.isAlone { subflows.remove(at: data) }
            return schedule(sampleAt: now)
        }
        // It costs nothing to leave it until another has a chance.
        guard let path = latestSnapshot?.path(subflow.interface), isAwake(path, at: now) else { return }
        destroy(subflow)
        subflows.remove(at: data)
        records[subflow.path]!.slowJoins += 1
        records[subflow.path]!.nextAttempt = now
        wakeUps.append(now)
    }

    /// A dead path whose subflow was kept, because there was no other: a new handshake may get through.
    private mutating func retry(_ path: PathInterface, _ data: Int, at now: MonotonicTime) {
        guard !peerHasEnded, isAwake(path, at: now) else { return }
        // Its subflow may be forgotten somewhere; one that answers takes its place.
        let subflow = subflows[data]
        records[path.name]!.isAwake = false
        planRetry(path.name, at: now)
        create(
            on: path.name, subflow.interface, subflow.address, subflow.remote, .probe, isBackup: true, at: now
        )
    }

    /// TCPProbes at a dead path when it is time, and tells whether it has answered.
    private mutating func isAwake(_ path: PathInterface, at now: MonotonicTime) -> Bool {
        if records[path.name]!.isAwake { return true }
        let next = records[path.name]!.nextAttempt
        guard now >= next, let (_, remote) = endpoints(on: path) else {
            wakeUps.append(next)
            return false
        }
        planRetry(path.name, at: now)
        actions.append(.startProbe(path.name, interface: path.index, remote: remote))
        return false
    }

    /// While somebody waits a dead path is tried every second, otherwise ever less often.
    private mutating func planRetry(_ name: String, at now: MonotonicTime) {
        records[name]!.attempts += 1
        let pause =
            isActive(at: now) || strandedSince != nil
            ? Self.retry : min(Self.retry * (1 << min(records[name]!.attempts, 6)), .seconds(60))
        records[name]!.nextAttempt = now.advanced(by: pause)
        wakeUps.append(records[name]!.nextAttempt)
    }

    mutating func create(
        on name: String, _ interface: InterfaceIndex, _ address: SubflowAction.LocalAddress,
        _ remote: IPEndpoint, _ purpose: Subflow.Purpose, isBackup: Bool, at now: MonotonicTime
    ) {
        subflows.append(
            Subflow(
                path: name, interface: interface, address: address, remote: remote, port: nil,
                purpose: purpose, isBackup: isBackup, asked: now, number: nextNumber()))
        perform(.create(address, isBackup: isBackup, remote: remote))
        book.made(address)
        // To learn its port.
        schedule(sampleAt: now)
    }

    mutating func destroy(_ subflow: Subflow) {
        guard let local = subflow.local else { return }
        perform(.destroy(local: local, remote: subflow.remote))
        book.destroyed(local.address)
    }

    /// Ends the probes that were answered, as soon as that costs little.
    private mutating func dismissAnswered(at now: MonotonicTime) {
        guard let first = subflows.compactMap(\.lingersUntil).min() else { return }
        guard let quiet = quietFrom(at: now) else { return }
        let due = max(first, quiet)
        guard now >= due else { return wakeUps.append(due) }
        for subflow in subflows where subflow.isDone(now) { destroy(subflow) }
        subflows.removeAll { $0.isDone(now) }
    }

    /// From when on no bulk transfer is under way; nil while one is.
    private func quietFrom(at now: MonotonicTime) -> MonotonicTime? {
        guard outstanding <= 64 * 1024 else { return nil }
        let streams = subflows.compactMap { $0.watch.isBulk ? $0.watch.receivedAt : nil }
        return streams.max().map { $0.advanced(by: .milliseconds(200)) } ?? now
    }

    private mutating func withdraw(_ address: SubflowAction.LocalAddress) {
        // The kernel takes back only what it knows; telling the peer of the address makes it known again.
        if !book.canWithdraw(address) { perform(.announce(address)) }
        perform(.withdraw(address))
        book.destroyed(address.address)
    }

    // MARK: Leaving

    /// Dead paths are left when another one is there to take what was on them.
    private mutating func leaveDead(at now: MonotonicTime) {
        for name in sortedNames() {
            guard case .dead(let trouble) = records[name]!.standing, let data = dataSubflow(name),
                subflows[data].isEstablished, hasOther(than: name)
            else { continue }
            leave(name, because: .trouble(trouble), isCertain: false, at: now)
        }
    }

    private mutating func release(_ name: String, at now: MonotonicTime) {
        guard let data = dataSubflow(name), hasOther(than: name), configuration.isAlone else { return }
        // Put aside it costs nothing but its place.
        if !subflows[data].isBackup { prioritize(data, isBackup: true, at: now) }
        guard let quiet = quietFrom(at: now) else { return }
        guard now >= quiet else { return wakeUps.append(quiet) }
        leave(name, because: .unneeded, isCertain: false, at: now)
    }

    /// Whether another path has a subflow and is not dead.
    func hasOther(than name: String) -> Bool {
        subflows.contains {
            $0.path != name && $0.purpose == .data && $0.isEstablished && !(records[$0.path]?.isDead ?? true)
        }
    }

    /// From when on a subflow of another address can tell the peer something; nil where there is none.
    private func canSignal(about address: SubflowAction.LocalAddress) -> MonotonicTime? {
        subflows.filter { subflow in
            subflow.address.id != address.id && subflow.isEstablished
                && !(records[subflow.path]?.isDead ?? true)
        }.compactMap(\.signalsFrom).min()
    }

    /// Ends all subflows of a path.
    mutating func leave(_ name: String, because reason: MoveReason, isCertain: Bool, at now: MonotonicTime) {
        let leaving = subflows.filter { $0.path == name }
        guard let first = leaving.first(where: { $0.purpose == .data }) ?? leaving.first else { return }
        useReserve(insteadOf: name, at: now)
        // An accepting end has one address for all paths: taking it back would end them all.
        if !configuration.isAcceptor {
            switch canSignal(about: first.address) {
            case .some(let from) where from <= now: withdraw(first.address)
            case .some(let from): records[name]?.withdrawal = (first.address, from)
            case nil: records[name]?.withdrawal = (first.address, now)
            }
        }
        for subflow in leaving { destroy(subflow) }
        subflows.removeAll { $0.path == name && ($0.port != nil || isCertain) }
        for index in subflows.indices
        where subflows[index].path == name && subflows[index].purpose == .reserve {
            subflows[index].isUnwanted = true
        }
        // What was on its way there goes another one from now on.
        for index in subflows.indices { subflows[index].watch.carriesSince = now }
        streamedAt = (leaving.compactMap(\.streamedAt) + [streamedAt].compactMap { $0 }).max()
        awaitStream(at: now)
        records[name]?.probe = nil
        if leaving.contains(where: { $0.purpose == .data && $0.isEstablished }) {
            tell(.left(name, because: reason))
        }
    }

    /// The peer's side of another path may be no better: what came over the one that was left has to go on.
    mutating func awaitStream(at now: MonotonicTime) {
        guard let time = streamedAt, Self.isFresh(time, at: now) else { return }
        for index in subflows.indices where subflows[index].purpose == .data && subflows[index].isEstablished
        {
            subflows[index].expectStream(of: time, at: now)
            streamedAt = nil
        }
        if streamedAt == nil { schedule(sampleAt: now.advanced(by: .milliseconds(25))) }
    }

    /// A stream that was heard long ago has ended.
    static func isFresh(_ time: MonotonicTime, at now: MonotonicTime) -> Bool {
        time.duration(to: now) < .seconds(10)
    }

    /// What could not be told the peer when it was due.
    private mutating func settleWithdrawals(at now: MonotonicTime) {
        for name in sortedNames() {
            guard let (address, after) = records[name]!.withdrawal else { continue }
            guard
                !subflows.contains(where: {
                    $0.address.id == address.id && $0.purpose == .data && $0.isEstablished
                })
            else {
                // It is in use again.
                records[name]!.withdrawal = nil
                continue
            }
            // A handshake from that address is under way: the peer would end what it has of it.
            if subflows.contains(where: { $0.address.id == address.id }) { continue }
            guard let from = canSignal(about: address) else { continue }
            let due = max(from, after)
            guard now >= due else {
                wakeUps.append(due)
                continue
            }
            records[name]!.withdrawal = nil
            withdraw(address)
        }
    }

    // MARK: What is told

    private mutating func tellCarrier(
        _ paths: [PathInterface], _ decision: SteeringDecision, at now: MonotonicTime
    ) {
        let carrying = zip(paths, decision.roles).first { path, role in
            role == .carry
                && dataSubflow(path.name).map { subflows[$0].isEstablished && !subflows[$0].isBackup }
                    ?? false
                && !(records[path.name]!.isDead)
        }?.0.name
        guard let carrying, carrying != carrier else { return }
        let old = carrier
        carrier = carrying
        guard let old else { return }
        var reason = decision.reason ?? .preferred
        if decision.reason == nil {
            if let trouble = records[old]?.trouble ?? records[old]?.overcome {
                reason = .trouble(trouble)
            } else if let path = latestSnapshot?.interface(named: old),
                let refusal = configuration.policy.refusal(of: path)
            {
                reason = .refused(refusal)
            } else if dataSubflow(old).map({
                !subflows[$0].isEstablished || now < subflows[$0].prioritizedFrom
            })
                ?? true
            {
                // (Or the kernel found none that could carry.)
                reason = .trouble(.subflowEnded)
            }
        }
        tell(.moved(from: old, to: carrying, because: reason))
    }

    private mutating func checkStranded(_ paths: [PathInterface], at now: MonotonicTime) {
        let lives = subflows.contains { subflow in
            subflow.purpose == .data && subflow.isEstablished && !(records[subflow.path]?.isDead ?? true)
        }
        guard !lives else {
            strandedSince = nil
            return
        }
        if strandedSince == nil {
            strandedSince = now
            tell(.stranded)
            // A path that was left alone for long may be all there is.
            for name in records.keys {
                let pause = min(.milliseconds(20) * (1 << min(records[name]!.failures, 6)), Self.retry)
                records[name]!.nextAttempt = min(records[name]!.nextAttempt, now.advanced(by: pause))
                wakeUps.append(records[name]!.nextAttempt)
            }
        }
        let end = strandedSince!.advanced(by: configuration.disconnectedTimeout)
        if now >= end {
            isOver = true
            tell(.gaveUp(after: configuration.disconnectedTimeout))
        } else {
            wakeUps.append(end)
        }
    }
}

extension Subflow {
    /// Whether it is a probe that was answered and is kept no longer.
    fileprivate func isDone(_ time: MonotonicTime) -> Bool {
        // (Without its port it can't be ended; the next sample tells that.)
        purpose == .probe && port != nil && lingersUntil.map { $0 <= time } ?? false
    }
}
