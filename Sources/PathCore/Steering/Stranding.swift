/// Tells since when a connection is without any path.
///
/// A peer that believes in subflows that are gone may reset each new one as soon as it is there: one that lives for less than
/// `SteeringTuning.shortLife` does not begin the wait anew.
struct Stranding: Sendable {
    private(set) var since: MonotonicTime?
    /// When a path was there again.
    private var livesAgainAt: MonotonicTime?

    var isStranded: Bool { since != nil && livesAgainAt == nil }

    mutating func lives(at now: MonotonicTime) { if isStranded { livesAgainAt = now } }

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
