/// When a `SteeringMachine` wants to be called again. Plain values: the owner of many machines asks each of them often,
/// and is not to copy it for that.
package struct SteeringAgenda: Sendable {
    /// When the next sample is worth taking; nil while the connection is idle.
    package internal(set) var nextSample: MonotonicTime?
    /// Whether it is to tell of silence only, which may be long from now.
    var awaitsSilence = false
    /// When the first timer is due.
    var nextTimer: MonotonicTime?
    /// Until when it is enough to know that nothing waits for an acknowledgement.
    var glancesUntil = MonotonicTime.zero
    /// How long after data has moved a glance is soon enough. Nil where it is not, because a path has failed.
    var glancePause: Duration?
    /// Whether nothing has moved since a sample that showed nothing under way: what it showed still holds, however long ago.
    var isRested = false
    /// When a glance is to tell what became of data that has moved; nil where none is to come.
    var glanceDue: MonotonicTime?
    /// Whether a path is being probed because it is suspected or silent: then it matters what other connections hear.
    var isSeeking = false
    package var seeksSignsOfLife: Bool { isSeeking && !isOver }
    /// Whether there is nothing more to steer: the connection is closed, or plain TCP, or was given up.
    package internal(set) var isOver = false

    /// Whether `dataMoves` is to be said when data moves.
    package var awaitsData: Bool { nextSample == nil || awaitsSilence }

    /// When to look again; nil for not before something happens.
    package var nextDeadline: MonotonicTime? {
        guard !isOver else { return nil }
        guard let nextTimer else { return nextSample }
        return nextSample.map { min($0, nextTimer) } ?? nextTimer
    }

    /// Whether a sample is due.
    package func needsSample(at now: MonotonicTime) -> Bool {
        guard !isOver, let nextSample else { return false }
        return nextSample <= now
    }

    /// Whether instead of a sample that is due a `glance` is enough: if data was written since the sample before,
    /// and all of it is acknowledged.
    package func mayGlance(at now: MonotonicTime) -> Bool { now < glancesUntil }

    /// How long after data has moved a glance tells all that there is to know of it; nil where that takes a sample.
    package func pauseBeforeGlance(at now: MonotonicTime) -> Duration? {
        nextSample == nil && !isOver && mayGlance(at: now) ? glancePause : nil
    }

    /// A glance is not enough until the next sample.
    mutating func endGlances() {
        glancesUntil = .zero
        isRested = false
        glanceDue = nil
    }

    /// When the machine is to be called, a glance included: later than that is late.
    var nextCall: MonotonicTime? {
        guard let glanceDue else { return nextDeadline }
        return min(glanceDue, nextDeadline ?? glanceDue)
    }

    /// A sample is to be taken, and tells more than a glance.
    ///
    /// - Parameter forSilence: whether it is to tell of silence only.
    mutating func schedule(sampleAt time: MonotonicTime, forSilence: Bool = false) {
        awaitsSilence = forSilence && (nextSample == nil || awaitsSilence)
        nextSample = min(nextSample ?? time, time)
        isRested = false
        glanceDue = nil
    }

    /// What was scheduled has been looked at.
    mutating func wasLookedAt() {
        nextSample = nil
        glanceDue = nil
    }
}
