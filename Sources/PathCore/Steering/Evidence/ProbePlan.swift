/// When probes are sent, and when no answer means that there will be none.
struct ProbePlan: Sendable, Hashable {
    /// Between two of them.
    var spacing: Duration
    /// How long the last one is waited for.
    var patience: Duration
    /// How many there are at most, and how many of them because other connections hear the peer.
    let most: Int
    let mostForOthers: Int

    /// - Parameter answerTime: how long an answer takes at most.
    init(answerTime: Duration, _ tuning: SteeringTuning) {
        spacing = max(answerTime / tuning.probeSpacingShare, tuning.leastProbeSpacing)
        patience = answerTime + answerTime / tuning.probePatienceShare
        most = tuning.mostProbes
        mostForOthers = tuning.mostProbesForOthers
    }
}

/// Probes that are under way to see whether a path answers.
struct Probing: Sendable, Hashable {
    enum Cause: Sendable, Hashable {
        case trouble(PathTrouble)
        /// The path carries nothing, and its latency is wanted.
        case measurement
    }

    /// What is to be done next.
    enum Step: Sendable, Hashable {
        case wait(until: MonotonicTime)
        /// Send one, and look again at a time.
        case send(lookAt: MonotonicTime)
        /// All that are necessary went unanswered.
        case unanswered
    }

    var cause: Cause
    /// How many must go unanswered.
    var needed: Int
    /// Whether only the user's word said that something was to come when silence began to be asked about, and no stream that had
    /// just been heard: such silence proves little.
    var isThin: Bool
    private(set) var count = 0
    /// How many were added because a loss is being repaired, and because other connections hear the peer.
    private var repeated = 0
    private var countForOthers = 0
    /// When other connections heard the peer last over the path, since the first was sent, and how long answers take for them.
    private(set) var heardElsewhere: SignOfLife?
    /// Whether all that were sent left this machine.
    var wasAsked = true
    /// Whether other connections have heard that they went unanswered.
    var isShared = false
    /// When the first and the latest were sent.
    private(set) var first = MonotonicTime.zero
    private(set) var latest = MonotonicTime.zero

    init(_ cause: Cause, needed: Int, isThin: Bool = false) {
        self.cause = cause
        self.needed = needed
        self.isThin = isThin
    }

    /// The latest is waited for anew.
    mutating func prolong(at now: MonotonicTime) { if count > 0 { latest = now } }

    /// Another connection has heard the peer over the path. Once others have heard of the verdict it is too late for that.
    mutating func heardElsewhere(_ sign: SignOfLife) {
        guard count > 0, !isShared, sign.at > first else { return }
        let known = heardElsewhere ?? sign
        heardElsewhere = SignOfLife(
            at: max(known.at, sign.at), answerTime: max(known.answerTime, sign.answerTime))
    }

    /// Whether that was after the latest was sent.
    var isHeardElsewhere: Bool { heardElsewhere.map { $0.at > latest } ?? false }

    var isMeasurement: Bool { cause == .measurement }
    /// Whether all that are necessary were sent.
    var hasSentAll: Bool { count >= needed }

    /// Goes on with the plan.
    ///
    /// - Parameter repairedAt: when a segment came in last that was behind a lost one. Where that was after the latest probe
    ///   one more is sent, for its answer may be in the queue behind such segments; each of these is sent after twice the time
    ///   of the one before. So it is, some times, where other connections have heard the peer since.
    mutating func advance(_ plan: ProbePlan, repairedAt: MonotonicTime?, at now: MonotonicTime) -> Step {
        if hasSentAll, count > 0, count < plan.most, !isMeasurement {
            let isRepaired = repairedAt.map { $0 > latest } ?? false
            let isHeardElsewhere = isHeardElsewhere && countForOthers < plan.mostForOthers
            if isRepaired || isHeardElsewhere { needed = count + 1 }
            if isRepaired { repeated += 1 } else if isHeardElsewhere { countForOthers += 1 }
        }
        guard !hasSentAll else {
            let due = latest.advanced(by: plan.patience)
            return now < due ? .wait(until: due) : .unanswered
        }
        let spacing = plan.spacing * (1 << max(repeated - 1, 0))
        let due = count == 0 ? now : latest.advanced(by: spacing)
        guard now >= due else { return .wait(until: due) }
        if count == 0 { first = now }
        count += 1
        latest = now
        return .send(lookAt: now.advanced(by: hasSentAll ? plan.patience : plan.spacing))
    }
}
