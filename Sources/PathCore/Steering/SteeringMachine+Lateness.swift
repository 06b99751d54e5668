// A wake-up that comes late. This process did not run for a while, or the whole machine did not, and then what did not come
// in time says nothing of the paths: the answers may lie in a queue that was not read yet.

/// Wake-ups that came late.
struct Lateness: Sendable {
    /// The last, whether it was an excuse, and the last that was one.
    var at = MonotonicTime.zero
    var excusedAt = MonotonicTime.zero
    /// How many were one, since the last time without a late one (`excuseMemory`).
    var count = 0
    /// By how much the longest of those was late that were one lately.
    var longest = Duration.zero
}

extension SteeringMachine {
    /// Begins an input.
    ///
    /// - Returns: whether there is anything to steer.
    mutating func wakes(at now: MonotonicTime) -> Bool {
        guard takesInput else { return false }
        // What stood still once is late once, however much waited for it.
        if let due = agenda.nextCall {
            let late = max(due, lateness.at).duration(to: now)
            if late >= tuning.lateness { wasLate(by: late, at: now) }
        }
        return true
    }

    /// Has all that is waited for begin anew. Some times in a row only: a process that is always late has to judge all the same.
    /// But one that is often a little late stood still all the same where it is late by many times that.
    private mutating func wasLate(by late: Duration, at now: MonotonicTime) {
        if lateness.at.duration(to: now) >= tuning.excuseMemory { lateness.count = 0 }
        if lateness.excusedAt.duration(to: now) >= tuning.excuseMemory { lateness.longest = .zero }
        lateness.at = now
        guard lateness.count < tuning.mostExcuses || late >= lateness.longest * tuning.strangeLateness
        else { return }
        lateness.count += 1
        lateness.longest = max(lateness.longest, late)
        lateness.excusedAt = now
        reconciler.subflows.updateEach { subflow in
            subflow.progress.excuse(at: now)
            subflow.progress.carriesSince = now
            subflow.stuckSince = nil
            subflow.stream.excuse(at: now)
        }
        for path in paths.keys { paths[path].prolongProbing(at: now) }
    }
}
