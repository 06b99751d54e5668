/// Tells since when a connection is without any path.
///
/// A peer that believes in subflows that are gone may reset each new one as soon as it is there: one that brings nothing, and lives
/// for less than `SteeringTuning.shortLife`, does not begin the wait anew.
struct Stranding: Sendable {
    private(set) var since: MonotonicTime?
    /// When a path was there again that has brought nothing yet.
    private var livesAgainAt: MonotonicTime?
    /// Whether data got through although no path was left.
    private var hasProgress = false

    var isStranded: Bool { since != nil && livesAgainAt == nil }

    /// Data has got through.
    mutating func progressed() {
        guard since != nil else { return }
        if isStranded { hasProgress = true } else { self = Stranding() }
    }

    /// A path is there.
    mutating func lives(at now: MonotonicTime) {
        guard isStranded else { return }
        if hasProgress { self = Stranding() } else { livesAgainAt = now }
    }

    /// No path is left.
    ///
    /// - Returns: whether one was, until now.
    mutating func begin(at now: MonotonicTime, _ tuning: SteeringTuning) -> Bool {
        guard !isStranded else { return false }
        if let livesAgainAt, livesAgainAt.duration(to: now) >= tuning.shortLife { since = nil }
        (since, livesAgainAt) = (since ?? now, nil)
        return true
    }
}
