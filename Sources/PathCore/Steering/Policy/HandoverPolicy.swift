// Handover: the connection survives losing its path, and costs nothing on the others until then.
//
//  1. The most preferred path that works carries, alone.
//  2. Others stand by at once where that costs nothing. One that is expensive or constrained is joined when
//     the carrying path is suspect or its radio's signal falls, and let go when that has been clear for a while.
//  3. Suspicion warms, proof moves: data leaves a path only when it is dead, gone or refused.
//  4. Before this end sends no more another path is warm, and stays so: later none can be made.
//  5. It goes back as soon as a more preferred path is good again. How long a path that failed has to prove
//     itself is not decided here: until then it is validating.

struct HandoverPolicy: SteeringPolicy {
    let traits = PolicyTraits()
    private var carrier: PathKey?
    private var suspectSince: MonotonicTime?
    private var warmUntil: MonotonicTime?
    private var staysWarm = false

    mutating func decide(
        _ paths: [PathView], at now: MonotonicTime, _ tuning: SteeringTuning
    ) -> SteeringDecision {
        let current = paths.first { $0.key == carrier }
        var reason: MoveReason?
        let best = paths.first { $0.canCarry && $0.standing == .good } ?? paths.first { $0.canCarry }
        var next = current
        if current == nil || current?.standing == .failed || current?.isJoined == false {
            // Anything that may work is better than nothing.
            next = best ?? paths.first { $0.standing != .failed } ?? current
        } else if let best, let current, best.standing == .good,
            let new = paths.firstIndex(of: best), let old = paths.firstIndex(of: current), new < old
        {
            (next, reason) = (best, .preferred)
            warmUntil = now.advanced(by: tuning.coolDown)
        }
        carrier = next?.key
        var hesitatesUntil: MonotonicTime?
        if let next, next.standing == .suspect, next.isJoined {
            let due = (suspectSince ?? now).advanced(by: tuning.hesitation)
            suspectSince = suspectSince ?? now
            if now >= due { warmUntil = now.advanced(by: tuning.coolDown) } else { hesitatesUntil = due }
        } else {
            suspectSince = nil
            if let next, next.standing != .good || !next.isJoined {
                warmUntil = now.advanced(by: tuning.coolDown)
            }
        }
        // A signal that falls moves nothing, but another path is ready when it is gone.
        if let next, next.isFading { warmUntil = now.advanced(by: tuning.coolDown) }
        let isWarm = staysWarm || warmUntil.map { now < $0 } ?? false
        let position = paths.firstIndex { $0.key == carrier } ?? paths.endIndex
        // One path warms at a time.
        let helper =
            isWarm ? paths.indices.first { $0 != position && paths[$0].standing != .failed } : nil
        let isLost = paths.allSatisfy { $0.standing == .failed }
        let roles = paths.indices.map { index -> PathRole in
            if index == position { return .carry }
            // Whichever is back first, whatever it costs.
            if isLost { return .standby }
            let path = paths[index]
            // A more preferred one is wanted, whatever it costs: the data is to go there.
            return path.isFree || index < position || index == helper || (isWarm && path.isJoined)
                ? .standby : .none
        }
        let again =
            isWarm && !staysWarm && roles.indices.contains { !paths[$0].isFree && roles[$0] == .standby }
        return SteeringDecision(
            roles: roles, reason: reason, again: hesitatesUntil ?? (again ? warmUntil : nil))
    }

    mutating func endsSending() { staysWarm = true }
}
