// When a change is told. Changes come in bursts: an interface that comes up is a link, three addresses and
// two routes. So a change waits until nothing more has come for a quiet period. Each further change starts
// that period again, and on a machine where interfaces come and go all day it would never end: so there is
// a hard limit, counted from the first change that waits.
//
// Call order: `changed` for each change, `timeReached` at `nextDeadline`; deliver where either says so.

/// Decides when changes that have piled up are delivered.
package struct Coalescer: Sendable {
    private let configuration: Coalescing
    private var waiting: (since: MonotonicTime, latest: MonotonicTime)?

    package init(configuration: Coalescing = Coalescing()) {
        self.configuration = configuration
    }

    /// When to call `timeReached`; nil while nothing waits.
    package var nextDeadline: MonotonicTime? {
        waiting.map {
            min(
                $0.latest.advanced(by: configuration.quietPeriod),
                $0.since.advanced(by: configuration.maximumWait))
        }
    }

    /// Something changed.
    ///
    /// - Parameters:
    ///   - isUrgent: whether it can't wait; what waits goes with it.
    ///   - now: the time of the call.
    /// - Returns: whether to deliver now.
    package mutating func changed(isUrgent: Bool, at now: MonotonicTime) -> Bool {
        if isUrgent {
            waiting = nil
            return true
        }
        waiting = (waiting?.since ?? now, now)
        return timeReached(now)
    }

    /// - Returns: whether to deliver now.
    package mutating func timeReached(_ now: MonotonicTime) -> Bool {
        guard let deadline = nextDeadline, now >= deadline else { return false }
        waiting = nil
        return true
    }
}

/// How long changes of the paths are gathered before they are delivered as one.
public struct Coalescing: Sendable, Hashable {
    /// How long nothing must have changed. 50 ms unless set.
    public var quietPeriod: Duration = .milliseconds(50)
    /// How long a change waits at most. 250 ms unless set.
    public var maximumWait: Duration = .milliseconds(250)

    /// The defaults.
    public init() {}
}
