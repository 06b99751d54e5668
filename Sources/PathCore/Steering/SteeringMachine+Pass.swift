// What the parts of a pass share.

extension SteeringMachine {
    mutating func tell(_ event: SteeringEvent) { reconciler.add(.tell(event)) }

    /// Has a path judged by what speaks for it or against it.
    mutating func weigh(_ evidence: Evidence, on path: PathKey, at now: MonotonicTime) {
        switch evidence {
        // It was stuck over a path that answers; this one does not. And what came in before speaks for it no more.
        case .probesUnanswered, .sharedVerdict:
            reconciler.subflows.updateEach {
                if $0.path == path { ($0.stuckSince, $0.returnedAt) = (nil, nil) }
            }
        default: break
        }
        for effect in paths[path].handle(evidence, at: now, tuning) {
            switch effect {
            case .tellSuspected(let trouble):
                tell(.suspected(paths.id(of: path), trouble))
                probeStandbys(insteadOf: path, at: now)
            case .tellCleared: tell(.cleared(paths.id(of: path)))
            case .tellFailed(let trouble): tell(.failed(paths.id(of: path), trouble))
            case .tellAnswered: tell(.answered(paths.id(of: path)))
            case .probe(let trouble): probe(path, .trouble(trouble), at: now)
            }
        }
    }

    /// Asks over what stands by what the peer has, before anything is known of a path: the answer is to be there with the verdict.
    mutating func probeStandbys(insteadOf path: PathKey, at now: MonotonicTime) {
        guard verdictDue(at: now) == nil, outstanding >= UInt64(tuning.handoff.firstWindows),
            let probe = StandbyProbe(
                reconciler.subflows, paths, notOver: { $0 == path }, at: now, tuning)
        else { return }
        reconciler.add(.probeIdle)
        standbyProbe = probe
    }

    /// When a verdict is drawn at the latest that waits for the peer's word on what it has; nil where none waits for that.
    func verdictDue(at now: MonotonicTime) -> MonotonicTime? {
        guard let standbyProbe,
            !standbyProbe.isDone(reconciler.subflows, at: now, isLost: { !paths[$0].state.isGood })
        else { return nil }
        return standbyProbe.due
    }

    /// Has a subflow carry or stand by, now or when the kernel takes such an order.
    /// - Returns: whether the order was given.
    @discardableResult
    mutating func prioritize(_ id: SubflowID, isBackup: Bool, at now: MonotonicTime) -> Bool {
        switch reconciler.prioritize(id, isBackup: isBackup, at: now) {
        case .ordered: return true
        case .later(let time): timers.set(.subflow(id, .priority), at: time)
        case .impossible: break
        }
        return false
    }

    mutating func create(
        _ route: Subflow.Route, _ role: Subflow.Role, isBackup: Bool, at now: MonotonicTime
    ) {
        reconciler.create(route, role, isBackup: isBackup, at: now)
        // To learn its port.
        agenda.schedule(sampleAt: now)
    }

    // MARK: Facts

    /// How long an answer takes at most on the subflow where it takes the least; nil where none is established.
    var answerTime: Duration? {
        var least: Duration?
        for subflow in reconciler.subflows.all where subflow.role == .data && subflow.isOpen {
            let time = subflow.progress.answerTime(tuning)
            least = min(least ?? time, time)
        }
        return least
    }

    /// Whether another path has a subflow and has not failed.
    func hasOther(than path: PathKey) -> Bool { reconciler.goesOn(paths, without: path) }

    /// The path that would take over from one: the most preferred of the others that has not failed.
    func alternative(to path: PathKey) -> AllowedPath? {
        allowed.list.first { $0.key != path && !paths[$0.key].hasFailed }
    }

    /// Whether what is known of the transfer is of this moment. If not, a sample is asked for, and another pass follows it.
    mutating func isFresh(at now: MonotonicTime) -> Bool {
        if sampledAt == now { return true }
        agenda.endGlances()
        agenda.schedule(sampleAt: now)
        return false
    }

    /// Whether data has moved lately.
    func isActive(at now: MonotonicTime) -> Bool { lastActivity.duration(to: now) < tuning.activeTime }

    /// Whether it matters that some path's round trips take ever longer, or ever shorter.
    func wanders(at now: MonotonicTime) -> Bool {
        traits.followsLatency && paths.keys.contains { paths[$0].wanders(at: now, tuning) }
    }

    /// From when on the end of a subflow costs nothing: it has both kernels send again what is unacknowledged on the whole
    /// connection, which on a slow path takes seconds. So no stream may come in either, however slow; nil while a bulk transfer is
    /// under way. (What this end sends slowly is up to 64 KB, and not counted.)
    func endsFreelyFrom(at now: MonotonicTime) -> MonotonicTime? {
        guard var free = quietFrom(at: now) else { return nil }
        for subflow in reconciler.subflows.all {
            if let end = subflow.stream.endsFrom(tuning) { free = max(free, end) }
        }
        return free
    }

    /// From when on no bulk transfer is under way; nil while one is.
    func quietFrom(at now: MonotonicTime) -> MonotonicTime? {
        guard outstanding <= tuning.transfer.outstanding else { return nil }
        var last: MonotonicTime?
        for subflow in reconciler.subflows.all {
            let received = subflow.stream.isBulk ? subflow.stream.silence.heardAt : nil
            let delivered = subflow.delivery.isBulk ? subflow.deliveredAt : nil
            for time in [received, delivered] {
                if let time { last = max(last ?? time, time) }
            }
        }
        return last.map { $0.advanced(by: tuning.transfer.pause) } ?? now
    }
}
