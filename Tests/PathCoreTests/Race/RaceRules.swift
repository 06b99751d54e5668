import PathCore

/// The rules of the race, as questions to a run that is over. They know only the world and the actions.
struct RaceRules {
    let world: RaceWorld
    let run: RaceWorld.Run

    private struct Started {
        var id: RaceMachine.AttemptID
        var time: Int
        var candidate: Candidate
        var fate: RaceWorld.Fate

        /// When the attempt would end by itself.
        var end: Int? {
            switch fate {
            case .answers(let latency), .refuses(let latency): time + latency
            case .silent: nil
            }
        }

        var failure: Int? { if case .refuses = fate { end } else { nil } }
    }

    private let starts: [Started]
    private let byBranch: [Int: [Started]]

    init(_ world: RaceWorld, _ run: RaceWorld.Run) {
        (self.world, self.run) = (world, run)
        starts = run.steps.compactMap { step in
            guard case .start(let id, let candidate) = step.action else { return nil }
            return Started(id: id, time: step.time, candidate: candidate, fate: world.fate(of: candidate))
        }
        byBranch = Dictionary(grouping: starts) { Int($0.candidate.interface) }
    }

    /// The first rule that was broken, or nil.
    var broken: String? {
        if let fault = run.fault { return fault }
        guard let last = run.steps.last, run.steps.filter(\.action.isTerminal).count == 1,
            last.action.isTerminal
        else { return "there is not one terminal action, at the end" }
        return startsBroken(last) ?? staggerBroken(last) ?? openingBroken ?? cancelBroken(last)
            ?? endBroken(last)
    }

    private var delay: Int { min(max(world.attemptDelay, 10), 2000) }

    private func startsBroken(_ last: RaceStep) -> String? {
        if starts.map(\.id) != Array(starts.indices) { return "the attempts are not numbered as they start" }
        if Set(starts.map(\.candidate)).count != starts.count { return "a candidate is started twice" }
        for (branch, started) in byBranch
        where started.map(\.candidate) != Array(world.candidates[branch].prefix(started.count)) {
            return "the candidates of path \(branch) are not started in their order"
        }
        if let late = starts.first(where: { $0.time >= world.timeout && $0.time > 0 }) {
            return "\(late.candidate.label) is started at the deadline or later"
        }
        if last.time > world.timeout + world.timerLag { return "something runs past the deadline" }
        return nil
    }

    private func staggerBroken(_ last: RaceStep) -> String? {
        for (branch, started) in byBranch {
            let failures = Set(started.compactMap(\.failure).filter { $0 <= last.time })
            for (former, next) in zip(started, started.dropFirst())
            where next.time - former.time < delay && !failures.contains(next.time) {
                return "\(next.candidate.label) is started \(next.time - former.time) ms after the one before"
            }
            // Each failure is followed by a start at the same moment, while there is one left.
            let startTimes = Set(started.map(\.time))
            let hasMore = started.count < world.branches[branch].count
            for failure in failures where failure < last.time && hasMore && !startTimes.contains(failure) {
                return "the failure at \(failure) on path \(branch) starts nothing"
            }
        }
        return nil
    }

    private var openingBroken: String? {
        let open = world.branches.indices.filter { !world.branches[$0].isEmpty }
        for (former, next) in zip(open, open.dropFirst()) {
            guard let opening = byBranch[next]?.first?.time else { continue }
            guard let started = byBranch[former], let first = started.first else {
                return "path \(next) opens before path \(former)"
            }
            let isExhausted =
                started.count == world.branches[former].count
                && started.allSatisfy { $0.failure.map { $0 <= opening } ?? false }
            if opening - first.time < delay, !isExhausted {
                return "path \(next) opens \(opening - first.time) ms after the one before"
            }
        }
        return nil
    }

    /// In the terminal step all that still runs is cancelled, oldest first, and nothing else ever is.
    private func cancelBroken(_ last: RaceStep) -> String? {
        let cancelled = run.steps.compactMap { step -> (time: Int, id: RaceMachine.AttemptID)? in
            if case .cancel(let id) = step.action { (step.time, id) } else { nil }
        }
        if cancelled.contains(where: { $0.time != last.time }) { return "a cancel comes before the end" }
        let open = run.machine.attempts.indices.filter { run.machine.attempts[$0].outcome == .cancelled }
        if cancelled.map(\.id) != open { return "the cancelled attempts are not those reported so" }
        for (start, attempt) in zip(starts, run.machine.attempts) {
            switch attempt.outcome {
            case .pending: return "\(start.candidate.label) is left open"
            case .won: if last.action != .win(start.id) { return "\(start.candidate.label) won too" }
            case .pathLost: return "\(start.candidate.label) is said to have lost its path"
            case .failed:
                if start.failure == nil || start.failure ?? 0 > last.time {
                    return "\(start.candidate.label) is said to have failed"
                }
            case .cancelled:
                if let end = start.end, end < last.time {
                    return "\(start.candidate.label) is said to run still"
                }
            }
        }
        return nil
    }

    private func endBroken(_ last: RaceStep) -> String? {
        let count = world.branches.reduce(0) { $0 + $1.count }
        switch last.action {
        case .win(let id):
            guard case .answers = starts[id].fate, starts[id].end == last.time else {
                return "the winner had not answered"
            }
        case .fail(.timedOut): if last.time < world.timeout { return "the deadline came early" }
        case .fail(.cancelled): if last.time != world.cancelled { return "nobody cancelled" }
        case .fail(.resolution):
            if world.resolution != .fails(last.time) { return "the resolver did not fail" }
        case .fail(.noCandidate): if count > 0 { return "there were candidates" }
        case .fail(.allFailed):
            if starts.count != count || starts.contains(where: { $0.failure == nil }) {
                return "not all have failed"
            }
        case .start, .cancel, .confirm: break
        }
        if let latest = latestVictory, last.time > latest || last.action.isFailure {
            return "a candidate would have answered by \(latest)"
        }
        return nil
    }

    /// The latest moment at which the race must be won, if some candidate is fast enough for that: paths open
    /// one delay apart and candidates start one delay apart, or sooner.
    private var latestVictory: Int? {
        guard case .answers(let resolved) = world.resolution else { return nil }
        let paths = world.branches.filter { !$0.isEmpty }
        let victories = paths.enumerated().flatMap { opened, path in
            path.enumerated().compactMap { place, fate -> Int? in
                guard case .answers(let latency) = fate else { return nil }
                return resolved + (opened + place) * (delay + world.timerLag) + latency
            }
        }
        let limit = min(world.timeout, world.cancelled ?? .max)
        return victories.min().flatMap { $0 < limit ? $0 : nil }
    }
}

extension RaceMachine.Action {
    fileprivate var isFailure: Bool { if case .fail = self { true } else { false } }
}
