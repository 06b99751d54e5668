// Interactive: small messages see the lowest latency any allowed path offers.
//
// Two active subflows would not do: the kernel's scheduler spreads messages over both, and half of them take
// the slow way (measured: paths of 20 and 40 ms give 30 ms). So one path carries, the others stand by joined,
// and which one it is follows the measurements.
//
//  1. A path that stalls is left at once, for the best of the others: waiting for proof would cost more than a
//     wrong move does. But not for one that is much slower than the stall has lasted: an answer that is late by
//     some milliseconds is not worth a way of some hundreds.
//  2. Otherwise another path must be better by a quarter and 5 ms, and have been better at all for `patience`.
//     What the carrying path measures by its data and the others by asking is then noise no more; and where one
//     becomes slower while another becomes faster, the wait is over when the difference has become worth a move.
//  3. Each move that is taken back soon doubles the patience, up to 8 times; a quiet time forgets it.
//  4. Where measurements are missing, the caller's preference decides.

struct InteractivePolicy: SteeringPolicy {
    let traits = PolicyTraits(followsLatency: true)
    private var carrier: PathKey?
    private var contender: (key: PathKey, since: MonotonicTime)?
    private var moved: (from: PathKey, at: MonotonicTime)?
    private var reluctance = 0

    mutating func decide(
        _ paths: [PathView], at now: MonotonicTime, _ tuning: SteeringTuning
    ) -> SteeringDecision {
        func time(_ path: PathView) -> Duration { path.latency ?? tuning.interactive.unknownLatency }
        let current = paths.first { $0.key == carrier }
        let able = paths.filter { $0.canCarry && $0.standing == .good }
        let fastest = able.min { time($0) < time($1) }
        var reason: MoveReason?
        var next = current
        var again: MonotonicTime?
        if let current, current.standing != .failed, current.isJoined {
            if current.standing == .suspect {
                if let other = able.filter({ $0.key != current.key }).min(by: { time($0) < time($1) }) {
                    // While it waits this grows.
                    let enough = time(other) / tuning.interactive.stallShare
                    if time(current) >= enough {
                        (next, reason) = (other, .stalled)
                    } else {
                        again = now.advanced(
                            by: max(enough - time(current), tuning.interactive.leastStallLook))
                    }
                }
            } else if let fastest, fastest.key != current.key, time(fastest) < time(current) {
                let since = contender?.key == fastest.key ? contender?.since ?? now : now
                contender = (fastest.key, since)
                let due = since.advanced(by: tuning.interactive.contenderPatience * (1 << reluctance))
                if !isMuchBetter(fastest, current, tuning) {
                    // The next measurement tells.
                } else if now >= due {
                    reason = .latency(time(fastest), insteadOf: time(current))
                    next = fastest
                } else {
                    again = due
                }
            } else {
                contender = nil
            }
        } else {
            next =
                fastest ?? paths.first(where: \.canCarry) ?? paths.first { $0.standing != .failed } ?? current
        }
        if let next, let old = carrier, next.key != old { note(from: old, to: next.key, at: now, tuning) }
        carrier = next?.key
        return SteeringDecision(
            roles: paths.map { $0.key == carrier ? .carry : .standby }, reason: reason,
            measures: paths.filter { $0.isLatencyOld && $0.isJoined }.map(\.key), again: again)
    }

    private func isMuchBetter(
        _ new: PathView, _ old: PathView, _ tuning: SteeringTuning
    ) -> Bool {
        guard let new = new.latency, let old = old.latency else { return false }
        return old > new * tuning.interactive.latencyMargin + tuning.interactive.leastLatencyGain
    }

    private mutating func note(
        from old: PathKey, to new: PathKey, at now: MonotonicTime, _ tuning: SteeringTuning
    ) {
        if let moved {
            let pause = moved.at.duration(to: now)
            if moved.from == new, pause < tuning.interactive.regret {
                reluctance = min(reluctance + 1, tuning.interactive.mostReluctance)
            } else if pause > tuning.interactive.regret * tuning.interactive.regretMemory {
                reluctance = 0
            }
        }
        moved = (old, now)
        contender = nil
    }
}
