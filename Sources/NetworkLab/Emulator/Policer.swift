import PathCore

/// A token bucket that drops what exceeds a rate, and queues nothing: as carriers police video, and hotels their guests.
struct Policer: Sendable {
    private let policing: DirectionConditions.Policing
    private var tokens: Double
    private var filled: MonotonicTime

    init(_ policing: DirectionConditions.Policing, at now: MonotonicTime) {
        self.policing = policing
        tokens = Double(policing.bucket)
        filled = now
    }

    /// Whether a packet passes; it uses its bytes' tokens then.
    mutating func passes(_ bytes: Int, at now: MonotonicTime) -> Bool {
        let gained = filled.duration(to: now).inSeconds * DirectionConditions.lineRate(policing.rate) / 8
        tokens = min(Double(policing.bucket), tokens + gained)
        filled = now
        guard tokens >= Double(bytes) else { return false }
        tokens -= Double(bytes)
        return true
    }
}
