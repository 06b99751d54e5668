/// What a mode is asked to decide about: one path that the caller's rules allow, as a connection sees it.
struct PathView: Sendable, Equatable {
    enum Standing: Sendable, Equatable {
        /// Nothing is known against it.
        case good
        /// Data waits there for longer than it ever should.
        case suspect
        /// It failed and answers again, but has to keep that up for a while.
        case validating
        case dead
    }

    var name: String
    /// Neither expensive nor constrained: standing by there costs nothing.
    var isFree: Bool
    var standing: Standing
    /// Whether it has a subflow whose handshake is complete.
    var isJoined: Bool
    /// The newest measurement of its round trip, its present delay included.
    var latency: Duration?
    /// Whether a measurement is older than the mode wants it.
    var isLatencyOld = false

    /// Whether it can carry data now.
    var canCarry: Bool { isJoined && (standing == .good || standing == .suspect) }
}

/// What a mode wants a path to do.
enum PathRole: Sendable, Equatable {
    /// No subflow.
    case none
    /// A subflow that carries nothing as long as another one can (RFC 8684's backup).
    case standby
    case carry
}

/// What a mode decides.
struct SteeringDecision: Sendable, Equatable {
    /// One for each path, in the order of the views.
    var roles: [PathRole]
    /// Why it is not what it was.
    var reason: MoveReason?
    /// Paths whose round trip is to be measured.
    var measures: Set<String> = []
    /// When to decide again though nothing happens.
    var again: MonotonicTime?
}

/// The rules of one mode. Paths come in the order of preference; dead ones among them, refused ones not.
protocol SteeringPolicy: Sendable {
    mutating func decide(_ paths: [PathView], at now: MonotonicTime) -> SteeringDecision
}
