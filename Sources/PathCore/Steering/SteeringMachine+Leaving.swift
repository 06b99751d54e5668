// Paths that are left, and what the user is told of where the data goes.

extension SteeringMachine {
    /// Gives up the subflows whose interface, address, route or permission is gone, or prepares that.
    ///
    /// - Parameter mayWait: whether it may be done in a moment, where that is better (`Handoff`, `ReserveSubflow`).
    /// - Returns: whether it is done.
    @discardableResult
    mutating func giveUpLost(mayWait: Bool, at now: MonotonicTime) -> Bool {
        guard allowed.snapshot != nil else { return true }
        var lost: [PathKey: MoveReason] = [:]
        for subflow in reconciler.subflows.all where lost[subflow.path] == nil {
            lost[subflow.path] = allowed.loss(of: subflow)
        }
        if mayWait, !lost.isEmpty {
            keepReserve(at: now)
            // What is not allowed any more is left at once.
            let isAllowed = !lost.values.contains { if case .refused = $0 { true } else { false } }
            if isAllowed, prepareHandoff(of: lost, at: now) || awaitsReserve(insteadOf: lost.keys, at: now) {
                return false
            }
        }
        handoff = nil
        guard !lost.isEmpty else { return true }
        let leaving = paths.keys.filter { lost[$0] != nil }
        for path in leaving {
            if case .trouble(let trouble) = lost[path] {
                weigh(.tablesSay(trouble), on: path, at: now)
            } else {
                paths.reset(path)
                reconciler.forgetWithdrawal(of: path)
            }
        }
        for path in leaving {
            guard let reason = lost[path], !canWait(path, because: reason, at: now) else { continue }
            leave(path, because: reason, isCertain: true, at: now)
        }
        return true
    }

    /// Whether a path that is in trouble is left when no bulk transfer is under way any more: nothing of that went there, and the end
    /// of any subflow has both kernels send again what is unacknowledged on the whole connection. Once what carries is not well
    /// either it can't wait: the peer might send there.
    private mutating func canWait(_ path: PathKey, because reason: MoveReason, at now: MonotonicTime) -> Bool
    {
        guard case .trouble = reason, traits.steers, hasOther(than: path), reconciler.hasRoom(tuning),
            // Its interface may be back with the address, and data could go there again.
            allowed.refusal(of: paths.id(of: path)) == nil,
            reconciler.subflows.all.allSatisfy({
                $0.path == path ? $0.isIdleStandby : $0.isBackup || paths[$0.path].state.isGood
            })
        else { return false }
        let quiet = quietFrom(at: now) ?? now.advanced(by: tuning.transfer.pause)
        guard now < quiet else { return false }
        timers.set(.connection(.release), at: quiet)
        return true
    }

    /// - Returns: whether the lost paths are not to be left yet.
    private mutating func prepareHandoff(of lost: [PathKey: MoveReason], at now: MonotonicTime) -> Bool {
        guard
            var handoff = handoff
                ?? Handoff(
                    of: lost, reconciler.subflows, paths, outstanding: outstanding,
                    sent: verdictDue(at: now) == nil ? nil : standbyProbe, at: now, tuning),
            !handoff.isDone(lost, reconciler.subflows, at: now, tuning)
        else { return false }
        var due = handoff.due
        if let time = handoff.asksAt {
            if now >= time {
                reconciler.add(.probeIdle)
                handoff.asks()
            } else {
                due = min(due, time)
            }
        }
        self.handoff = handoff
        agenda.schedule(sampleAt: now.advanced(by: max(pace, tuning.handoff.look)))
        timers.set(.connection(.handoff), at: due)
        return true
    }

    /// Failed paths are left when another one is there to take what was on them; those that are gone when that need not wait any
    /// more (`canWait`): their interfaces may be back, and take a new subflow.
    mutating func leaveFailed(at now: MonotonicTime) {
        keepReserve(at: now)
        for path in paths.keys {
            guard case .failed(let failed) = paths[path].state, let data = reconciler.subflows.data(on: path),
                reconciler.subflows[data].isOpen
            else { continue }
            let isGone = allowed.loss(of: reconciler.subflows[data]) != nil
            guard isGone || hasOther(than: path), !canWait(path, because: .trouble(failed.trouble), at: now),
                !awaitsReserve(insteadOf: CollectionOfOne(path), at: now)
            else { continue }
            leave(path, because: .trouble(failed.trouble), isCertain: isGone, at: now)
        }
    }

    /// Whether a path carries that has failed though it is there, and another can take over.
    var leavesFailedCarrier: Bool {
        reconciler.subflows.all.contains {
            $0.role == .data && $0.isOpen && !$0.isBackup && paths[$0.path].hasFailed
                && hasOther(than: $0.path) && allowed.loss(of: $0) == nil
        }
    }

    /// Ends all subflows of a path.
    ///
    /// - Parameter isCertain: whether it is gone, and not only bad or not needed.
    mutating func leave(_ path: PathKey, because reason: MoveReason, isCertain: Bool, at now: MonotonicTime) {
        let leaving = reconciler.subflows.all.filter { $0.path == path }
        guard let first = leaving.first(where: { $0.role == .data }) ?? leaving.first else { return }
        useReserve(insteadOf: path, at: now)
        // An accepting end has one address for all paths: taking it back would end them all.
        if traits.steers { reconciler.withdraw(first.address, of: path, paths, at: now, tuning) }
        reconciler.endAll(on: path, isCertain: isCertain, end(of: path, because: reason))
        if isActive(at: now) { gap.watch(at: now, tuning) }
        // What was on its way there goes another one from now on.
        reconciler.subflows.updateEach { $0.progress.carriesSince = now }
        for subflow in leaving {
            guard let time = subflow.stream.streamedAt else { continue }
            streamedAt = max(streamedAt ?? time, time)
        }
        awaitStream(at: now)
        paths[path].endProbing()
        if leaving.contains(where: { $0.role == .data && $0.isOpen }) {
            tell(.left(paths.id(of: path), because: reason))
        }
    }

    /// The peer is to send nothing more there, not even what it has queued: RM_ADDR has made it send that over another path
    /// as well, and where a dead path is back it would come twice. But a connection whose last subflow was reset ends at
    /// once where an end has said its last word, and lives for the kernel's time only otherwise; it may be meant to live
    /// longer. What is not allowed carries no byte more, whatever it costs.
    private func end(of path: PathKey, because reason: MoveReason) -> Reconciler.FirstEnd {
        let mayBeLast: Bool
        switch reason {
        case .refused:
            mayBeLast = reconciler.takesJoins && configuration.pathLossTimeout <= tuning.closeTimeout
        case .trouble: mayBeLast = false
        default: return .shutdown
        }
        return mayBeLast || hasOther(than: path) ? .reset : .resetLater
    }

    // MARK: What is told

    /// Tells the user if the data goes another way.
    mutating func tellCarrier(
        _ wanted: [(AllowedPath, PathRole)], _ decision: SteeringDecision, at now: MonotonicTime
    ) {
        let carrying = wanted.first { path, role in
            guard role == .carry, let data = reconciler.subflows.data(on: path.key) else { return false }
            let subflow = reconciler.subflows[data]
            return subflow.isOpen && !subflow.isBackup && !paths[path.key].hasFailed
        }?.0.key
        guard let carrying, carrying != carrierKey else { return }
        let old = carrierKey
        carrierKey = carrying
        guard let old else { return }
        let reason = decision.reason ?? reasonToLeave(old, for: carrying, at: now)
        tell(.moved(from: paths.id(of: old), to: paths.id(of: carrying), because: reason))
    }

    private func reasonToLeave(_ old: PathKey, for new: PathKey, at now: MonotonicTime) -> MoveReason {
        if let trouble = paths[old].state.trouble ?? paths[old].state.overcame { return .trouble(trouble) }
        if let refusal = allowed.refusal(of: paths.id(of: old)) { return .refused(refusal) }
        // (Or the kernel found none that could carry.)
        guard let data = reconciler.subflows.data(on: old), reconciler.subflows[data].isOpen,
            now >= reconciler.subflows[data].prioritizedFrom
        else { return .trouble(.subflowEnded) }
        // It has worked again since another was wanted, which is no better than it.
        if let trouble = paths[old].state.revoked,
            allowed.list.first(where: { $0.key == old || $0.key == new })?.key == old
        {
            return .trouble(trouble)
        }
        return .preferred
    }

    /// Tells the user when no path is left, and gives the connection up when that lasts.
    mutating func checkStranded(at now: MonotonicTime) {
        // One that is being made over a path that nothing is known against is a path that is left; once none is, it has to be
        // complete.
        let lives = reconciler.subflows.all.contains {
            $0.role == .data && ($0.isOpen || !stranding.isStranded) && !paths[$0.path].hasFailed
        }
        guard !lives else { return stranding.lives(at: now) }
        // Where both ends have said all, and it has arrived, the subflows end before the connection does: no path is missing.
        if reconciler.hasEnded, !stranding.isStranded {
            guard isFresh(at: now) else { return }
            if reconciler.peerHasEnded, outstanding == 0 { return }
        }
        if stranding.begin(at: now, tuning) {
            tell(.stranded)
            // A path that was left alone for long may be all there is.
            for path in paths.keys {
                paths[path].stranded(at: now, tuning)
                timers.set(.path(path, .retry), at: paths[path].retry.at)
            }
        }
        let end = (stranding.since ?? now).advanced(by: configuration.pathLossTimeout)
        if now >= end {
            agenda.isOver = true
            tell(.pathLossTimedOut(after: configuration.pathLossTimeout))
        } else {
            timers.set(.connection(.disconnection), at: end)
        }
    }
}
