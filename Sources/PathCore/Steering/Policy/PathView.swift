/// What a mode is asked to decide about: one path that the caller's rules allow, as a connection sees it.
struct PathView: Sendable, Equatable {
    enum Standing: Sendable, Equatable {
        /// Nothing is known against it.
        case good
        /// Data waits there for longer than it ever should.
        case suspect
        /// It failed and answers again, but has to keep that up for a while.
        case validating
        case failed

        init(_ state: PathState) {
            self =
                switch state {
                case .good: .good
                case .suspect: .suspect
                case .validating: .validating
                case .failed: .failed
                }
        }
    }

    var key: PathKey
    /// Neither expensive nor constrained: standing by there costs nothing.
    var isFree: Bool
    var standing: Standing
    /// Whether it has a subflow whose handshake is complete.
    var isJoined: Bool
    /// The newest measurement of its round trip, its present delay included.
    var latency: Duration?
    /// Whether its radio's signal is weak or falling: it may be gone soon.
    var isFading = false
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
