// When to suspicion a path, and how closely to look at it.

extension SteeringMachine {
    /// Between samples while round trips change.
    static let closeLook = Duration.milliseconds(50)

    /// When waiting data becomes suspicious, or, where it is already, is looked at again.
    func suspicionDue(_ subflow: Subflow, at now: MonotonicTime) -> MonotonicTime? {
        guard let due = suspectedAt(subflow, at: now), let since = subflow.watch.waitingSince else {
            return nil
        }
        if due > now { return due }
        // What has waited for long may wait a little longer.
        let pause = max(subflow.watch.answerTime / 4, since.duration(to: now) / 8)
        return now.advanced(by: max(pause, .milliseconds(5)))
    }

    /// When waiting data becomes suspicious. False alarms make that later. What is stuck on a path that answers is asked
    /// about again after as long as it has been stuck, and when it is to be replaced.
    func suspectedAt(_ subflow: Subflow, at now: MonotonicTime) -> MonotonicTime? {
        guard let since = subflow.watch.waitingSince, let record = records[subflow.path] else { return nil }
        var usual = subflow.watch.answerTime
        // The kernel's figure follows slowly, and not at all while another path carries.
        if configuration.mode == .interactive, let latency = record.latency {
            usual = max(usual, latency * 5 / 4)
        }
        // On a slow path a second more is patience enough.
        let due = since.advanced(by: min(usual * record.patience(at: now), usual + .seconds(1)))
        guard let stuck = subflow.stuckSince else { return due }
        let later = max(due, since.advanced(by: stuck.duration(to: since)))
        return min(
            later, max(since.advanced(by: subflow.watch.answerTime), stuck.advanced(by: Self.stuckTime)))
    }

    /// When to look for data that is on no subflow yet, though there is one: it has only just been made, or the peer does
    /// not read.
    func unsentDue(at now: MonotonicTime) -> MonotonicTime? {
        let open = subflows.filter { $0.isEstablished && $0.purpose == .data }
        guard outstanding > 0, let newest = open.compactMap(\.established).max() else { return nil }
        let pause = max(lastActivity, newest).duration(to: now) / 4
        return now.advanced(by: min(max(open.map(\.watch.answerTime).min() ?? pause, pause), .seconds(1)))
    }

    /// Whether a stream comes in over another path as well: of what is spread over both nothing goes on if one is silent.
    func sharesStream(_ index: Int, at now: MonotonicTime) -> Bool {
        configuration.mode == .aggregate
            && subflows.contains { other in
                other.path != subflows[index].path && other.isStream && other.purpose == .data
                    && !other.isBackup
                    && other.streamedAt.map { Self.isFresh($0, at: now) } ?? false
            }
    }

    /// Whether a subflow has got nothing through for long over a path that answers, as it does now.
    mutating func isStuck(_ data: Int, at now: MonotonicTime) -> Bool {
        guard subflows[data].watch.waitingSince != nil else { return false }
        if let since = subflows[data].stuckSince, since.duration(to: now) >= Self.stuckTime { return true }
        subflows[data].stuckSince = subflows[data].stuckSince ?? now
        subflows[data].watch.excuse(at: now)
        schedule(sampleAt: now.advanced(by: subflows[data].watch.answerTime))
        return false
    }

    /// For how long a path must answer while its subflow gets nothing through.
    static let stuckTime = Duration.milliseconds(500)
}
