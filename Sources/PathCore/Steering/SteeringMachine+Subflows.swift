// Subflows that are made, and that end, and what that says of their paths.

extension SteeringMachine {
    /// A subflow's handshake is complete.
    mutating func opened(_ id: SubflowID, at now: MonotonicTime) {
        let subflow = reconciler.subflows[id]
        guard !subflow.isOpen else { return }
        let path = subflow.path
        reconciler.subflows[id].phase = .open(since: now)
        paths[path].noteLatency(
            subflow.roundTrip(answered: now, known: paths[path].latency, tuning), at: now, tuning)
        paths[path].noteHandshake()
        paths[path].noteProbe(isAnswered: true, tuning)
        switch subflow.role {
        case .successor: successorOpened(id, at: now)
        case .reserve: if subflow.phase == .ending { reconciler.end(id) }
        case .data:
            becomesOwn(id, at: now)
            joined(path, at: now)
        }
    }

    /// A subflow is its path's own from now on. What the user awaits has time to come over it, and its silence means something.
    mutating func becomesOwn(_ id: SubflowID, at now: MonotonicTime) {
        reconciler.subflows[id].role = .data
        reconciler.subflows[id].lingersUntil = nil
        if awaitedSince != nil { reconciler.subflows[id].stream.expect(at: now) }
    }

    mutating func joined(_ path: PathKey, at now: MonotonicTime) {
        paths[path].forgetCounters()
        awaitStream(at: now)
        // What waited for a subflow takes this one, and a user that fills a buffer that is full does not tell of it.
        // And what comes in over it is counted from its beginning.
        if outstanding > 0 || traits.samplesEagerly { agenda.schedule(sampleAt: now) }
        tell(.joined(paths.id(of: path)))
        let isOnly = paths[path].hasFailed && !hasOther(than: path)
        weigh(.joined(isOnly: isOnly), on: path, at: now)
    }

    /// A subflow has ended.
    mutating func closed(_ id: SubflowID, _ end: SubflowEnd, at now: MonotonicTime) {
        let subflow = reconciler.subflows.remove(id)
        reconciler.noteEnd(of: id)
        let path = subflow.path
        switch subflow.role {
        case .successor:
            // One that the kernel does not list any more was refused as well: it tries for longer than that.
            if !subflow.isOpen { successorRefused(subflow, at: now) }
        case .reserve: break
        case .data:
            if isActive(at: now) { gap.watch(at: now, tuning) }
            if inherit(from: subflow, end, at: now) { return }
            // (At an accepting end a path may have several.)
            if !paths[path].hasFailed, reconciler.subflows.data(on: path) == nil {
                let wasShort = subflow.openSince.map { $0.duration(to: now) < tuning.shortLife } ?? true
                weigh(.subflowEnded(wasShort: wasShort), on: path, at: now)
            }
            if subflow.isOpen { tell(.left(paths.id(of: path), because: .ended(end))) }
        }
    }

    /// A reserve, or a successor, takes the place of its path's subflow that ended.
    private mutating func inherit(from old: Subflow, _ end: SubflowEnd, at now: MonotonicTime) -> Bool {
        guard
            let heir = reconciler.subflows.first(where: {
                $0.role != .data && $0.path == old.path && $0.isOpen
            }), !paths[old.path].hasFailed
        else { return false }
        becomesOwn(heir, at: now)
        if !old.isBackup, reconciler.subflows[heir].isBackup { prioritize(heir, isBackup: false, at: now) }
        tell(.left(paths.id(of: old.path), because: .ended(end)))
        tell(.joined(paths.id(of: old.path)))
        return true
    }

    // MARK: The reserve

    /// Makes a subflow in reserve where one may be needed soon, and puts it aside again when another path carries.
    mutating func keepReserve(at now: MonotonicTime) {
        guard traits.wantsReserve, configuration.isAlone else { return }
        var carrying: [Subflow] = []
        for path in allowed.list where paths[path.key].isCalm {
            guard let data = reconciler.subflows.data(on: path.key) else { continue }
            let subflow = reconciler.subflows[data]
            if subflow.isOpen, !subflow.isBackup, allowed.loss(of: subflow) == nil {
                carrying.append(subflow)
            }
        }
        let existing = reconciler.subflows.reserve.map { reconciler.subflows[$0] }
        let mayMake = reconciler.takesJoins && reconciler.hasRoom(tuning) && isBulk
        let need = mayMake && existing == nil ? needForReserve(besides: carrying, at: now) : .none
        let step = reserve.step(
            carrying: carrying, existing, need: need, sends: outstanding > tuning.transfer.outstanding,
            at: now,
            tuning)
        switch step {
        case .none: break
        case .make(let data, let isBackup):
            let subflow = reconciler.subflows[data]
            guard let interface = allowed.snapshot?.interface(subflow.route.interface),
                let remote = allowed.remote(on: interface, like: subflow, reconciler.subflows)
            else { break }
            create(subflow.route.leading(to: remote), .reserve, isBackup: isBackup, at: now)
        case .prioritize(let id, let isBackup): prioritize(id, isBackup: isBackup, at: now)
        }
    }

    private var isBulk: Bool {
        outstanding > tuning.transfer.outstanding || reconciler.subflows.all.contains { $0.stream.isBulk }
    }

    /// Whether a path that carries may be left soon: it is in trouble, or was probed because it is silent. A probe is enough for a reserve
    /// over a less preferred path, which is what a transfer is best off with in any case; for one over a more preferred path the
    /// answer has to be late, which a timer is set for.
    private mutating func needForReserve(
        besides carrying: [Subflow], at now: MonotonicTime
    ) -> ReserveSubflow.Need {
        guard let living = carrying.first?.path else { return .none }
        var need = ReserveSubflow.Need.none
        for subflow in reconciler.subflows.all
        where subflow.role == .data && subflow.isOpen && !subflow.isIdleStandby
            && !carrying.contains(where: { $0.id == subflow.id })
        {
            let path = subflow.path
            if paths[path].hasFailed || allowed.loss(of: subflow) != nil { return .certain }
            if paths[path].state.trouble != nil { need = .likely }
            guard let probing = paths[path].state.probing, let opened = subflow.openSince,
                opened.duration(to: now) >= tuning.reserve.age
            else { continue }
            if allowed.list.first(where: { $0.key == path || $0.key == living })?.key == path {
                need = .likely
                continue
            }
            let due = probing.latest.advanced(by: expectedAnswer(subflow, probing, at: now))
            if now >= due { need = .likely } else { timers.set(.connection(.reserve), noLaterThan: due) }
        }
        return need
    }

    /// Whether the reserve that is to carry what was on paths is still being joined, and is worth waiting for before they are left. A
    /// timer is set for the end of that.
    mutating func awaitsReserve(insteadOf left: some Collection<PathKey>, at now: MonotonicTime) -> Bool {
        guard let id = reconciler.subflows.reserve else { return false }
        let subflow = reconciler.subflows[id]
        guard subflow.phase == .requested, !left.contains(subflow.path), !paths[subflow.path].hasFailed,
            let data = reconciler.subflows.data(on: subflow.path),
            reconciler.subflows.all.contains(where: {
                left.contains($0.path) && $0.role == .data && $0.isOpen && !$0.isIdleStandby
            })
        else { return false }
        let usual = max(
            reconciler.subflows[data].progress.answerTime(tuning), paths[subflow.path].latency ?? .zero)
        let due = subflow.requested.advanced(by: min(usual, tuning.reserve.longestJoin))
        guard now < due else { return false }
        timers.set(.connection(.reserve), noLaterThan: due)
        return true
    }

    /// Lets the reserve carry, because a path is being left.
    mutating func useReserve(insteadOf path: PathKey, at now: MonotonicTime) {
        guard let id = reconciler.subflows.reserve else { return }
        let subflow = reconciler.subflows[id]
        guard subflow.path != path, !paths[subflow.path].hasFailed else { return }
        reserve.begins()
        if subflow.isBackup { prioritize(id, isBackup: false, at: now) }
    }

    /// What needs the reserve's place, or what it hides, comes first.
    ///
    /// - Returns: whether there was one. Its place is free when the peer has heard of its end.
    @discardableResult
    mutating func giveUpReserve(at now: MonotonicTime) -> Bool {
        guard let id = reconciler.subflows.reserve, reconciler.subflows[id].phase != .ending
        else { return false }
        reserve.wasGivenUp(at: now, tuning)
        if reconciler.subflows[id].port == nil {
            reconciler.subflows[id].phase = .ending
        } else {
            reconciler.end(id)
        }
        return true
    }
}
