/// What is waited for on a connection's behalf.
enum ConnectionTimer: Sendable, Hashable {
    /// A lost path is left, whatever is still on its way (`Handoff`).
    case handoff
    /// A reserve is made, or is not waited for any longer.
    case reserve
    /// The mode decides again, though nothing has happened.
    case policy
    /// The peer is told what carries now.
    case promotion
    /// What has just been decided is looked at once more.
    case review
    /// Room is made for what a gap in the data lacks.
    case gap
    /// Successors that were not needed are ended.
    case dismissal
    /// A subflow that the mode does not need is let go.
    case release
    /// This end may send no more, whatever stands by by then.
    case preparation
    /// The connection is given up: it was without a path for too long.
    case disconnection
}

/// What is waited for on one path's behalf.
enum PathTimer: Sendable, Hashable {
    /// The next probe is sent, or the verdict is drawn from those that went unanswered.
    case probing
    /// The path has kept answering for long enough, and may carry.
    case validation
    /// The path is joined, or probed, again.
    case retry
    /// A handshake takes too long.
    case join
    /// The peer is told to forget an address.
    case withdrawal
    /// The path's latency is measured.
    case measurement
}

/// What is waited for on one subflow's behalf.
enum SubflowTimer: Sendable, Hashable {
    /// What it has sent has waited for too long.
    case suspicion
    /// What it has sent has waited for so long that its path has failed, where no probe can tell.
    case verdict
    /// What it is to bring has not come for too long.
    case silence
    /// It is ended, because the peer has made another in its place.
    case replacement
    /// The kernel may take an order about its priority.
    case priority
}

/// Something that happens at a time, unless it is stopped before.
enum SteeringTimer: Sendable, Hashable {
    case connection(ConnectionTimer)
    case path(PathKey, PathTimer)
    case subflow(SubflowID, SubflowTimer)
}

/// The timers that run. Few do at a time, so they stand in an array.
struct TimerTable: Sendable {
    private var running: [(timer: SteeringTimer, due: MonotonicTime)] = []

    /// When the first is due; nil while none runs.
    var next: MonotonicTime? {
        var first: MonotonicTime?
        for entry in running where first.map({ entry.due < $0 }) ?? true { first = entry.due }
        return first
    }

    /// When a timer is due; nil while it does not run.
    func due(_ timer: SteeringTimer) -> MonotonicTime? { running.first { $0.timer == timer }?.due }

    /// Starts a timer, or sets one that runs to another time.
    mutating func set(_ timer: SteeringTimer, at due: MonotonicTime) {
        if let place = running.firstIndex(where: { $0.timer == timer }) {
            running[place].due = due
        } else {
            running.append((timer, due))
        }
    }

    /// Starts a timer, or sets one that runs to another time, unless it is due sooner.
    mutating func set(_ timer: SteeringTimer, noLaterThan due: MonotonicTime) {
        set(timer, at: min(self.due(timer) ?? due, due))
    }

    mutating func stop(_ timer: SteeringTimer) { running.removeAll { $0.timer == timer } }

    /// Stops all. What is still waited for is set again by the pass that follows, which looks at everything.
    mutating func stopAll() { running.removeAll(keepingCapacity: true) }
}
