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
    static let patience = Duration.milliseconds(100)
    private static let margin = 1.25
    private static let least = Duration.milliseconds(5)
    /// A move back within this time shows that the one before was for nothing.
    private static let regret = Duration.seconds(3)

    private var carrier: String?
    private var contender: (name: String, since: MonotonicTime)?
    private var moved: (from: String, at: MonotonicTime)?
    private var reluctance = 0

    mutating func decide(_ paths: [PathView], at now: MonotonicTime) -> SteeringDecision {
        let current = paths.first { $0.name == carrier }
        let able = paths.filter { $0.canCarry && $0.standing == .good }
        let fastest = able.min { time($0) < time($1) }
        var reason: MoveReason?
        var next = current
        var again: MonotonicTime?
        if let current, current.standing != .dead, current.isJoined {
            if current.standing == .suspect {
                if let other = able.filter({ $0.name != current.name }).min(by: { time($0) < time($1) }) {
                    // While it waits this grows.
                    let enough = time(other) / 2
                    if time(current) >= enough {
                        (next, reason) = (other, .stalled)
                    } else {
                        again = now.advanced(by: max(enough - time(current), .milliseconds(1)))
                    }
                }
            } else if let fastest, fastest.name != current.name, time(fastest) < time(current) {
                let since = contender?.name == fastest.name ? contender?.since ?? now : now
                contender = (fastest.name, since)
                let due = since.advanced(by: Self.patience * (1 << reluctance))
                if !isMuchBetter(fastest, current) {
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
                fastest ?? paths.first(where: \.canCarry) ?? paths.first { $0.standing != .dead } ?? current
        }
        if let next, let old = carrier, next.name != old { note(from: old, to: next.name, at: now) }
        carrier = next?.name
        return SteeringDecision(
            roles: paths.map { $0.name == carrier ? .carry : .standby }, reason: reason,
            measures: Set(paths.filter { $0.isLatencyOld && $0.isJoined }.map(\.name)), again: again)
    }

    private func time(_ path: PathView) -> Duration { path.latency ?? .seconds(1) }

    private func isMuchBetter(_ new: PathView, _ old: PathView) -> Bool {
        guard let new = new.latency, let old = old.latency else { return false }
        return old > new * Self.margin + Self.least
    }

    private mutating func note(from old: String, to new: String, at now: MonotonicTime) {
        if let moved {
            let pause = moved.at.duration(to: now)
            if moved.from == new, pause < Self.regret {
                reluctance = min(reluctance + 1, 3)
            } else if pause > Self.regret * 4 {
                reluctance = 0
            }
        }
        moved = (old, now)
        contender = nil
    }
}
