// A wake-up that comes late. This process did not run for a while, or the whole machine did not, and then what did not come
// in time says nothing of the paths: the answers may lie in a queue that was not read yet.

extension SteeringMachine {
    /// Begins an input.
    ///
    /// - Returns: whether there is anything to steer.
    mutating func wakes(at now: MonotonicTime) -> Bool {
        guard takesInput else { return false }
        if let due = agenda.nextDeadline, due.duration(to: now) >= tuning.lateness { wasLate(at: now) }
        return true
    }

    /// Has all that is waited for begin anew. Some times in a row only: a process that is always late has to judge all the same.
    private mutating func wasLate(at now: MonotonicTime) {
        if lateness.at.duration(to: now) >= tuning.excuseMemory { lateness.count = 0 }
        guard lateness.count < tuning.mostExcuses else {
            // It goes on.
            if lateness.count == tuning.mostExcuses { lateness.at = now }
            return
        }
        lateness = (now, now, lateness.count + 1)
        reconciler.subflows.updateEach { subflow in
            subflow.progress.excuse(at: now)
            subflow.progress.carriesSince = now
            subflow.stuckSince = nil
            subflow.stream.excuse(at: now)
        }
        for path in paths.keys { paths[path].prolongProbing(at: now) }
    }
}
