// Judges one path by its evidence. It knows neither modes nor other paths nor subflows.
//
// Call order: `handle` as evidence comes, and do what it returns; `beginProbing` where probes can be sent, and
// `advanceProbing` at the times that it names; `validate` while the path is validating.

/// What a connection knows of one path: its state, and what it has learnt.
struct PathMachine: Sendable {
    private(set) var state = PathState.good(PathState.Good())
    /// When it may be tried next, where it has no subflow or has failed.
    var retry = Retry()
    /// How much it loses, how long its round trips take.
    private(set) var loss = LossEstimate()
    private(set) var latency: Duration?
    private(set) var measuredAt: MonotonicTime?
    private var wandering = Wandering()
    /// Failures in a row.
    private var failures = 0
    private var falseAlarms = FalseAlarms()

    var hasFailed: Bool { state.hasFailed }
    /// Whether it is being probed because it is suspected or silent, and not to measure it.
    var isProbedForTrouble: Bool { state.probing?.isMeasurement == false }
    /// Whether nothing is known against it, and it is not being probed.
    var isCalm: Bool { state.isGood && state.probing == nil }

    // MARK: Evidence

    mutating func handle(
        _ evidence: Evidence, at now: MonotonicTime, _ tuning: SteeringTuning
    ) -> [PathEffect] {
        switch evidence {
        case .joined(let isOnly): return joined(isOnly: isOnly, at: now, tuning)
        case .progress(let isCarrying):
            defer { if isProbedForTrouble { state.probing = nil } }
            if isCarrying, case .failed(let failed) = state { return revive(failed, at: now, tuning) }
            return clear(at: now, tuning)
        case .progressBeside: return clear(at: now, tuning)
        case .noProgress: return suspect(.noAcknowledgement, at: now, tuning)
        case .probeAnswered:
            if case .failed(let failed) = state { return revive(failed, at: now, tuning) }
            return clear(at: now, tuning)
        case .probesUnanswered(let trouble), .sharedVerdict(let trouble):
            return die(trouble, retryAt: now.advanced(by: tuning.firstRetry), at: now, tuning)
        case .longSilence, .stuck:
            return die(.noAcknowledgement, retryAt: now.advanced(by: tuning.firstRetry), at: now, tuning)
        case .joinTimedOut: return die(.noAnswer, retryAt: now, at: now, tuning)
        case .tablesSay(let trouble): return die(trouble, retryAt: now, at: now, tuning)
        case .subflowEnded(let wasShort):
            // The peer may have no room for it, or not want it: the pauses grow, and so does the validation.
            fail(.subflowEnded, at: now, tuning)
            let pause = wasShort ? tuning.shortLivedPause : tuning.endedPause
            let doublings = min(failures - 1, tuning.mostEndedDoublings)
            retry.at = now.advanced(by: min(pause * (1 << doublings), tuning.longestEndedPause))
            return []
        }
    }

    private mutating func joined(
        isOnly: Bool, at now: MonotonicTime, _ tuning: SteeringTuning
    ) -> [PathEffect] {
        switch state {
        case .failed(let failed):
            state =
                isOnly
                ? .good(PathState.Good(from: failed, at: now))
                : .validating(
                    PathState.Validating(from: failed, until: now.advanced(by: validationTime(tuning))))
            return [.tellAnswered]
        case .good(var good):
            good.joined(at: now)
            state = .good(good)
        case .suspect(var suspect):
            suspect.joined(at: now)
            state = .suspect(suspect)
        case .validating(var validating):
            validating.joined(at: now)
            state = .validating(validating)
        }
        return []
    }

    private mutating func suspect(
        _ trouble: PathTrouble, at now: MonotonicTime, _ tuning: SteeringTuning
    ) -> [PathEffect] {
        switch state {
        case .good(let good):
            state = .suspect(PathState.Suspect(from: good, trouble))
            return [.tellSuspected(trouble), .probe(trouble)]
        case .validating(var validating):
            // To end the subflow for a mere suspicion would cost more than it does where it stands by.
            validating.restart(until: now.advanced(by: validationTime(tuning)))
            state = .validating(validating)
        case .suspect, .failed: break
        }
        return [.probe(trouble)]
    }

    /// A suspicion was wrong.
    private mutating func clear(at now: MonotonicTime, _ tuning: SteeringTuning) -> [PathEffect] {
        guard case .suspect(let suspect) = state else { return [] }
        state = .good(PathState.Good(from: suspect))
        falseAlarms.note(at: now, tuning)
        return [.tellCleared]
    }

    /// A failed path's data got through.
    private mutating func revive(
        _ failed: PathState.Failed, at now: MonotonicTime, _ tuning: SteeringTuning
    ) -> [PathEffect] {
        state = .good(PathState.Good(from: failed, at: now))
        falseAlarms.note(at: now, tuning)
        return [.tellAnswered]
    }

    private mutating func die(
        _ trouble: PathTrouble, retryAt: MonotonicTime, at now: MonotonicTime, _ tuning: SteeringTuning
    ) -> [PathEffect] {
        fail(trouble, at: now, tuning)
        retry.at = retryAt
        return [.tellFailed(trouble)]
    }

    private mutating func fail(_ trouble: PathTrouble, at now: MonotonicTime, _ tuning: SteeringTuning) {
        let wasGood = state.goodSince.map { $0.duration(to: now) > tuning.goodMemory } ?? false
        failures = wasGood ? 1 : failures + 1
        retry.attempts = 0
        state =
            switch state {
            case .good(let good): .failed(PathState.Failed(from: good, trouble))
            case .suspect(let suspect): .failed(PathState.Failed(from: suspect, trouble))
            case .validating(let validating): .failed(PathState.Failed(from: validating, trouble))
            case .failed(let failed): .failed(PathState.Failed(from: failed, tablesSay: trouble))
            }
    }

    /// How many times as long as usual a suspicion takes.
    func patience(at now: MonotonicTime, _ tuning: SteeringTuning) -> Int {
        falseAlarms.patience(at: now, tuning)
    }

    // MARK: Validation

    /// How long it must have kept answering before it carries again.
    private func validationTime(_ tuning: SteeringTuning) -> Duration {
        let doublings = min(max(failures - 1, 0), tuning.mostValidationDoublings)
        return min(tuning.validation * (1 << doublings), tuning.longestValidation)
    }

    /// Ends the validation where it is due.
    ///
    /// - Parameter isOnly: whether there is nothing else to lose, and so nothing to prove.
    /// - Returns: when it ends otherwise; nil for a path that is not validating.
    mutating func validate(isOnly: Bool, at now: MonotonicTime) -> MonotonicTime? {
        guard case .validating(let validating) = state else { return nil }
        guard now >= validating.until || isOnly else { return validating.until }
        state = .good(PathState.Good(from: validating, at: now))
        return nil
    }

    // MARK: Probing

    /// - Parameters:
    ///   - least: how many must go unanswered even where nothing gets lost.
    ///   - isThin: whether there is little that says that something should have come.
    /// - Returns: whether there is something to do about it now.
    mutating func beginProbing(
        _ cause: Probing.Cause, least: Int = 1, isThin: Bool = false, _ tuning: SteeringTuning
    ) -> Bool {
        let isMeasurement = cause == .measurement
        if var probing = state.probing {
            guard probing.isMeasurement, !isMeasurement else { return false }
            // What was sent to measure counts as the first probe.
            (probing.cause, probing.needed, probing.isThin) = (cause, max(loss.probes(tuning), least), isThin)
            state.probing = probing
        } else {
            let needed = isMeasurement ? 1 : max(loss.probes(tuning), least)
            state.probing = Probing(cause, needed: needed, isThin: isThin)
        }
        return true
    }

    /// One did not leave this machine: that none is answered is no verdict.
    mutating func probeFailed() { state.probing?.wasAsked = false }

    /// Another connection has heard the peer's host over it.
    mutating func heardElsewhere(_ sign: SignOfLife) { state.probing?.heardElsewhere(sign) }

    /// Other connections have heard that its probes went unanswered.
    mutating func verdictShared() { state.probing?.isShared = true }

    /// The answers that did not come in time are given it anew.
    mutating func prolongProbing(at now: MonotonicTime) { state.probing?.prolong(at: now) }

    mutating func endProbing() { if state.probing != nil { state.probing = nil } }

    mutating func advanceProbing(
        _ plan: ProbePlan, repairedAt: MonotonicTime?, at now: MonotonicTime
    ) -> Probing.Step? {
        guard var probing = state.probing else { return nil }
        let step = probing.advance(plan, repairedAt: repairedAt, at: now)
        state.probing = probing
        return step
    }

    /// A probe to measure went unanswered: it takes more of them to know why.
    mutating func measurementTimedOut(_ plan: ProbePlan, isThin: Bool, _ tuning: SteeringTuning) {
        guard var probing = state.probing else { return }
        (probing.cause, probing.isThin) = (.trouble(.noAnswer), isThin)
        probing.needed = max(loss.probes(tuning), tuning.leastProbesAfterMeasurement)
        state.probing = probing
        // So long it takes at the least; when is not known.
        latency = max(latency ?? plan.patience, plan.patience)
    }

    mutating func noteProbe(isAnswered: Bool, _ tuning: SteeringTuning) {
        loss.probed(isAnswered: isAnswered, tuning)
    }

    // MARK: Measurements

    mutating func noteLatency(_ latency: Duration, at now: MonotonicTime, _ tuning: SteeringTuning) {
        self.latency = latency
        measuredAt = now
        wandering.note(latency, at: now, tuning)
    }

    func wanders(at now: MonotonicTime, _ tuning: SteeringTuning) -> Bool {
        wandering.wanders(at: now, tuning)
    }

    mutating func noteDelivery(_ sample: SubflowSample, _ tuning: SteeringTuning) {
        loss.ingest(sample, tuning)
    }

    /// A new subflow counts from the beginning.
    mutating func forgetCounters() { loss.forgetCounters() }

    // MARK: Attempts

    /// A TCP probe was answered, if the path has failed: it may be joined now.
    mutating func wakeUp(at now: MonotonicTime) {
        guard case .failed(var failed) = state else { return }
        failed.isAwake = true
        state = .failed(failed)
        retry.at = now
    }

    /// Whether a TCP probe was answered since it failed.
    var isAwake: Bool { if case .failed(let failed) = state { failed.isAwake } else { false } }

    /// What was answered is made use of.
    mutating func useAnswer() {
        guard case .failed(var failed) = state else { return }
        failed.isAwake = false
        state = .failed(failed)
    }

    var slowJoins: Int { if case .failed(let failed) = state { failed.slowJoins } else { 0 } }

    /// A join took too long: the next is given more time.
    mutating func noteSlowJoin(at now: MonotonicTime) {
        guard case .failed(var failed) = state else { return }
        failed.slowJoins += 1
        state = .failed(failed)
        retry.at = now
    }

    /// A handshake over it was completed: neither joins nor orders fail any more.
    mutating func noteHandshake() {
        retry.attempts = 0
        guard case .failed(var failed) = state, failed.slowJoins > 0 else { return }
        failed.slowJoins = 0
        state = .failed(failed)
    }

    /// Something waits for it: it is not left alone for longer than a moment.
    ///
    /// - Returns: whether that changes anything.
    mutating func hurry(at now: MonotonicTime, _ tuning: SteeringTuning) -> Bool {
        let latest = now.advanced(by: tuning.retryPause)
        guard hasFailed, retry.at > latest else { return false }
        retry.at = latest
        return true
    }

    /// No path is left: this one is tried soon, however long it was to be left alone.
    mutating func stranded(at now: MonotonicTime, _ tuning: SteeringTuning) {
        let doublings = min(failures, tuning.mostStrandedDoublings)
        let pause = min(tuning.strandedPause * (1 << doublings), tuning.longestStrandedPause)
        retry.at = min(retry.at, now.advanced(by: pause))
    }
}
