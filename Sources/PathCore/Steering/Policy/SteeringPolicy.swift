/// What a mode decides.
struct SteeringDecision: Sendable, Equatable {
    /// One for each path, in the order of the views.
    var roles: [PathRole]
    /// Why it is not what it was.
    var reason: MoveReason?
    /// Paths whose round trip is to be measured.
    var measures: [PathKey] = []
    /// When to decide again though nothing happens.
    var again: MonotonicTime?
}

/// What the rest of steering does differently in one mode. No other file asks which mode it is.
struct PolicyTraits: Sendable, Hashable {
    /// This end makes subflows, moves data between them and takes addresses back. Otherwise it only gives up what has
    /// failed.
    var steers = true
    /// Latencies decide: paths that carry nothing are measured, and what is slower than usual counts at once.
    var followsLatency = false
    /// Several paths carry one stream: if one is silent, nothing goes on.
    var spreadsStream = false
    /// A subflow that was just joined may carry at once, so it is looked at.
    var samplesEagerly = false
    /// A bulk transfer gets a subflow in reserve when a path may be dying (`ReserveSubflow`).
    var wantsReserve = false
}

/// The rules of one mode. Paths come in the order of preference; failed ones among them, refused ones not.
protocol SteeringPolicy: Sendable {
    var traits: PolicyTraits { get }

    mutating func decide(
        _ paths: [PathView], at now: MonotonicTime, _ tuning: SteeringTuning
    ) -> SteeringDecision

    /// This end is about to send no more. From then on its kernel makes no subflow: what may be needed must stand by.
    mutating func endsSending()
}

extension SteeringPolicy {
    mutating func endsSending() {}
}

extension SteeringConfiguration {
    /// The rules that the caller's mode stands for.
    func makePolicy() -> any SteeringPolicy {
        let policy: any SteeringPolicy =
            switch mode {
            case .handover: HandoverPolicy()
            case .interactive: InteractivePolicy()
            case .aggregate: AggregatePolicy()
            }
        return isAcceptor ? AcceptorPolicy(following: policy) : policy
    }
}
