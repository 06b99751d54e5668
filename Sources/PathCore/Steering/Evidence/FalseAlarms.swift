/// Suspicions of a path that proved wrong lately. Each that is not forgotten makes the next one slower.
struct FalseAlarms: Sendable {
    private var count = 0
    private var latest = MonotonicTime.zero

    mutating func note(at now: MonotonicTime, _ tuning: SteeringTuning) {
        let isForgotten = latest.duration(to: now) > tuning.falseAlarmMemory
        count = isForgotten ? 1 : count + 1
        latest = now
    }

    /// How many times as long as usual a suspicion takes.
    func patience(at now: MonotonicTime, _ tuning: SteeringTuning) -> Int {
        guard latest.duration(to: now) <= tuning.falseAlarmMemory else { return 1 }
        return 1 << min(max(count - tuning.freeFalseAlarms, 0), tuning.mostPatienceDoublings)
    }
}
