/// When a path may be tried next, where it has no subflow or has failed.
struct Retry: Sendable, Hashable {
    /// Until when the path is left alone.
    var at = MonotonicTime.zero
    /// Attempts in a row that came to nothing.
    var attempts = 0

    /// A failed path was tried.
    ///
    /// - Parameter isHurried: whether something waits for it.
    mutating func noteAttempt(isHurried: Bool, at now: MonotonicTime, _ tuning: SteeringTuning) {
        attempts += 1
        let doublings = min(attempts, tuning.mostRetryDoublings)
        let pause = min(tuning.retryPause * (1 << doublings), tuning.longestRetryPause)
        at = now.advanced(by: isHurried ? tuning.retryPause : pause)
    }

    /// The kernel did not make a subflow.
    ///
    /// - Parameter isReady: whether it takes orders already.
    mutating func noteFailedOrder(isReady: Bool, at now: MonotonicTime, _ tuning: SteeringTuning) {
        attempts += 1
        let pause = isReady ? tuning.failedJoinPause : tuning.notReadyPause
        let doublings = min(attempts, tuning.mostJoinDoublings)
        at = now.advanced(by: min(pause * (1 << doublings), tuning.longestJoinPause))
    }
}
