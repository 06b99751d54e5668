// At an accepting end: the peer connected to us, and makes the subflows. This end can't reach a peer behind a translator,
// and two that both make subflows would fight, so it only gives up what has proven to have failed.

struct AcceptorPolicy: SteeringPolicy {
    let traits: PolicyTraits

    /// - Parameter policy: of the mode whose way to look at subflows counts here too.
    init(following policy: any SteeringPolicy) {
        var traits = policy.traits
        traits.steers = false
        traits.wantsReserve = false
        self.traits = traits
    }

    mutating func decide(
        _ paths: [PathView], at now: MonotonicTime, _ tuning: SteeringTuning
    ) -> SteeringDecision {
        SteeringDecision(roles: paths.map { _ in .none })
    }
}
