// Aggregate: the most throughput all allowed paths give together.
//
//  1. Every allowed path carries, expensive ones too: a caller that does not want that prohibits them.
//  2. A path that is suspect is put aside at once: the kernel's scheduler would go on filling it, and data in
//     the middle of the stream would wait there while the receive buffer fills with what comes after it. (The
//     kernel never gets out of that by itself: see the deadlock in net/mptcp with small messages.)
//  3. It carries again as soon as it answers. One that is dead is gone from the connection, so that the peer
//     sends again what it had on it.
//  4. Of several suspects the most preferred goes on carrying, and of several that have yet to prove themselves.

struct AggregatePolicy: SteeringPolicy {
    let traits = PolicyTraits(spreadsStream: true, samplesEagerly: true, wantsReserve: true)

    mutating func decide(
        _ paths: [PathView], at now: MonotonicTime, _ tuning: SteeringTuning
    ) -> SteeringDecision {
        let hasGood = paths.contains { $0.canCarry && $0.standing == .good }
        let alive = paths.filter { $0.standing != .failed }
        let last = (alive.first(where: \.canCarry) ?? alive.first(where: \.isJoined) ?? alive.first)?.key
        return SteeringDecision(
            roles: paths.map { path in
                switch path.standing {
                case .good: .carry
                case .suspect where !hasGood && path.key == last: .carry
                case .validating where !hasGood && path.key == last: .carry
                case .suspect, .validating: .standby
                case .failed: hasGood || path.key != last ? .standby : .carry
                }
            })
    }
}
