// Where a player is that plays what this fetches: it begins with the first segment, goes on in real time, stands still where
// nothing is left (a stall), and goes on with the next segment. A player that reads slowly (it is paused, say) holds it without a
// stall: what it lacks is not the network's.

/// Counts what is played, and what playing waits for. Times are in seconds.
struct Playhead: Sendable, Equatable {
    /// A wait in the middle of the stream.
    struct Stall: Sendable, Hashable {
        var begun: Double
        var length: Double
    }

    /// Seconds of media that were fetched.
    private(set) var fetched = 0.0
    /// Of these, those that the output has taken.
    private(set) var taken = 0.0
    private(set) var played = 0.0
    private(set) var stalls: [Stall] = []
    private(set) var begun: Double?
    private(set) var stalledSince: Double?
    private var isComplete = false
    private var time = 0.0

    /// Seconds of media ahead of the player.
    var buffer: Double { fetched - played }

    /// Time has come so far. - Returns: whether a stall began.
    mutating func advance(to now: Double) -> Bool {
        defer { time = max(time, now) }
        guard begun != nil, stalledSince == nil, now > time else { return false }
        let due = played + (now - time)
        if due < taken {
            played = due
            return false
        }
        // It stands: for the network where all that came is played, else for its reader.
        let emptyAt = time + (taken - played)
        played = taken
        guard taken >= fetched, !isComplete else { return false }
        stalledSince = min(emptyAt, now)
        return true
    }

    /// A segment is there. - Returns: how long the stall was that it ended.
    mutating func fetched(_ seconds: Double, at now: Double) -> Double? {
        fetched += seconds
        begun = begun ?? now
        guard let since = stalledSince else { return nil }
        stalledSince = nil
        let stall = Stall(begun: since, length: now - since)
        stalls.append(stall)
        return stall.length
    }

    /// The output has taken as much.
    mutating func took(_ seconds: Double) { taken = min(taken + seconds, fetched) }

    /// No more will come.
    mutating func complete() { isComplete = true }

    /// When a stall begins if nothing comes; nil where none can.
    var emptyAt: Double? {
        guard begun != nil, stalledSince == nil, !isComplete, taken >= fetched else { return nil }
        return time + (taken - played)
    }

    /// Seconds of all stalls, the one that lasts among them.
    func stalled(at now: Double) -> Double {
        stalls.reduce(0) { $0 + $1.length } + (stalledSince.map { now - $0 } ?? 0)
    }
}
