// Successors: a path answers, but its subflow gets nothing through, because a translator has forgotten it, for one. Another
// over the same path takes its place.

extension SteeringMachine {
    /// Makes a successor of a path's subflow, unless one is under way.
    mutating func succeed(_ data: SubflowID, at now: MonotonicTime) {
        let subflow = reconciler.subflows[data]
        guard traits.steers, configuration.isAlone, reconciler.isReady else { return }
        // Its address may have been taken back since, or be denied.
        let interface = allowed.snapshot?.interface(subflow.route.interface)
        guard reconciler.takesJoins,
            let remote = interface.flatMap({ allowed.remote(on: $0, like: subflow, reconciler.subflows) })
        else {
            // One end takes none any more.
            if subflow.progress.waitingSince != nil { weigh(.stuck, on: subflow.path, at: now) }
            return
        }
        if let existing = successor(on: subflow.path) {
            // One that is there already has been the peer's to use. If it is stuck as well, the next takes its place.
            if reconciler.subflows[existing].isOpen, subflow.progress.waitingSince != nil {
                return replace(data, by: existing, at: now)
            }
            guard giveUpSlowSuccessor(existing, at: now) else { return }
        }
        // The next answer finds the place free.
        if !reconciler.hasRoom(tuning), giveUpReserve(at: now) {
            return reconciler.subflows[data].stream.askAgain()
        }
        create(subflow.route.leading(to: remote), .successor, isBackup: subflow.isBackup, at: now)
    }

    private func successor(on path: PathKey) -> SubflowID? {
        reconciler.subflows.first { $0.path == path && $0.role == .successor }
    }

    /// Its path answers while its handshake is not answered: that was lost, and is repeated after 1 s only.
    ///
    /// - Returns: whether it has made room for another.
    private mutating func giveUpSlowSuccessor(_ id: SubflowID, at now: MonotonicTime) -> Bool {
        let subflow = reconciler.subflows[id]
        guard !subflow.isOpen, subflow.port != nil,
            subflow.requested.duration(to: now) >= longestJoin(over: subflow.path)
        else { return false }
        reconciler.end(id)
        return true
    }

    /// A successor's handshake is complete.
    mutating func successorOpened(_ id: SubflowID, at now: MonotonicTime) {
        let path = reconciler.subflows[id].path
        guard let data = reconciler.subflows.data(on: path) else {
            // It comes too late to take over, and in time to be the path's own.
            becomesOwn(id, at: now)
            return joined(path, at: now)
        }
        let hadFailed = paths[path].hasFailed
        weigh(.probeAnswered, on: path, at: now)
        // A failed path's old subflow was kept for want of another one.
        if hadFailed || isLongStuck(data, at: now) { return replace(data, by: id, at: now) }
        reconciler.subflows[id].lingersUntil = now.advanced(by: tuning.offerLinger)
        let pause = max(reconciler.subflows[data].progress.answerTime(tuning), tuning.leastOfferLook)
        agenda.schedule(sampleAt: now.advanced(by: pause))
    }

    /// The peer takes no successor.
    mutating func successorRefused(_ successor: Subflow, at now: MonotonicTime) {
        // It may be for want of the place that the reserve takes. If not, no other can take the subflow's place.
        if reconciler.subflows.reserve != nil {
            giveUpReserve(at: now)
        } else if let data = reconciler.subflows.data(on: successor.path), !paths[successor.path].hasFailed,
            isStuck(data, at: now)
        {
            weigh(.stuck, on: successor.path, at: now)
        }
    }

    /// Data comes this way while the path's own subflow gets nothing: that one is forgotten somewhere.
    mutating func observeSuccessor(_ id: SubflowID, _ progress: Progress, at now: MonotonicTime) {
        let successor = reconciler.subflows[id]
        guard let data = reconciler.subflows.data(on: successor.path) else { return }
        let own = reconciler.subflows[data]
        // What we send takes either way, and says nothing of one on which nothing waits.
        guard progress.hasReceived || own.progress.waitingSince != nil else { return }
        // One that has just taken its place is given its time, and one that got something through is not forgotten.
        guard max(own.progress.progressAt ?? .zero, own.openSince ?? .zero) < successor.requested else {
            // What comes in this way does not come the other.
            if progress.hasReceived, own.stream.isStream {
                reconciler.subflows[data].stream.expectAnew(at: now)
            }
            return
        }
        replace(data, by: id, at: now)
    }

    /// The path answers, but its subflow gets nothing through: another takes its place.
    mutating func replace(_ data: SubflowID, by fresh: SubflowID, at now: MonotonicTime) {
        let old = reconciler.subflows[data]
        reconciler.subflows[fresh].stream.takePauses(from: old.stream)
        becomesOwn(fresh, at: now)
        if old.stream.isFresh(at: now, tuning), let time = old.stream.streamedAt {
            reconciler.subflows[fresh].stream.expectStream(of: time, at: now)
        }
        if !old.isBackup, reconciler.subflows[fresh].isBackup { prioritize(fresh, isBackup: false, at: now) }
        reconciler.end(data)
        tell(.left(paths.id(of: old.path), because: .stuck))
        tell(.joined(paths.id(of: old.path)))
    }

    /// Ends the successors that were not needed, when that costs nothing.
    mutating func dismissSuccessors(at now: MonotonicTime) {
        var first: MonotonicTime?
        for subflow in reconciler.subflows.all {
            guard let time = subflow.lingersUntil else { continue }
            first = min(first ?? time, time)
        }
        guard let first, let quiet = endsFreelyFrom(at: now) else { return }
        let due = max(first, quiet)
        guard now >= due, isFresh(at: now) else {
            return timers.set(.connection(.dismissal), at: max(due, now))
        }
        reconciler.endAll { $0.isDone(at: now) }
    }
}
