// Whether bytes come in steadily. A receiver has nothing outstanding, so for it silence counts, but only in the middle of a
// stream, and only where it is longer than the stream's own pauses.

/// Tells whether a subflow brings a stream, and when its silence is to be probed.
struct StreamDetector: Sendable {
    private(set) var silence = SilenceDetector()
    private(set) var volume = TransferVolume()
    private var pauses = PauseMemory()
    /// How many samples in a row found new bytes, each soon after the one before, and nothing sent between: a stream,
    /// not answers.
    private(set) var run = 0
    private var sentBefore: UInt64?
    /// Whether bytes came steadily.
    private(set) var isStream = false
    /// When the stream was last heard, here or where it came before.
    private(set) var streamedAt: MonotonicTime?
    /// How long the peer's next word takes to follow from an acknowledgement, with the queues on the way: the receiving end
    /// sees that best.
    private(set) var roundTrip = Duration.zero

    /// Whether much comes in.
    var isBulk: Bool { volume.isBulk }

    /// - Parameter latest: the sample before.
    mutating func ingest(
        _ sample: SubflowSample, after latest: SubflowSample?, at now: MonotonicTime, _ tuning: SteeringTuning
    ) {
        roundTrip = max(sample.minimumRTT ?? .zero, sample.receiverRTT)
        guard let latest else { return }
        let bytes = sample.bytesReceived &- latest.bytesReceived
        volume.add(bytes, at: now, tuning)
        if sample.bytesReceived > latest.bytesReceived {
            let soon = sample.answerTime(tuning) * 2 + tuning.streamPause
            let isSoon = silence.receivedAt.map { $0.duration(to: now) < soon } ?? false
            run = isSoon && sentBefore == sample.bytesSent ? run + 1 : 1
            sentBefore = sample.bytesSent
            pauses.ends(at: now, tuning)
            silence.received(at: now.advanced(by: .zero - sample.sinceDataReceived))
        } else if sample.earlySegments != latest.earlySegments {
            // Something is lost, and is being repaired. (What was acknowledged and comes again is no sign of life: the peer
            // does not hear us.)
            // The time of these isn't told; it is between the samples.
            silence.heard(at: now)
        } else if let heard = silence.heardAt {
            pauses.lasts(heard.duration(to: now))
        }
    }

    /// Bytes came in.
    ///
    /// - Parameter isShared: whether they are part of a stream that comes over another path as well.
    mutating func continues(isShared: Bool, at now: MonotonicTime, _ tuning: SteeringTuning) {
        silence.forgetProbes()
        // An answer to what was sent before the first may be among them.
        if run >= tuning.streamRun || isShared { isStream = true }
        if isStream { streamedAt = now }
    }

    /// A probe was sent because of it.
    mutating func wasProbed() { silence.wasProbed() }

    /// Nothing could follow from the answer to the latest probe: it is sent again.
    mutating func askAgain() { silence.forgetLatestProbe() }

    /// From now on bytes are to come in: they come another way as well, or came there before, or the user awaits them.
    mutating func expect(at now: MonotonicTime) {
        pauses.abandon()
        silence.received(at: now)
    }

    /// The same, and their silence is asked about as if it were for the first time: the user awaits them from now on, or the
    /// stream comes another way as well, so that nothing is to be asked here yet.
    mutating func expectAnew(at now: MonotonicTime) {
        silence.forgetProbes()
        expect(at: now)
    }

    /// All that was awaited is there: it is none any more, until bytes come steadily again.
    mutating func ends() { (isStream, run, streamedAt) = (false, 0, nil) }

    /// What did not come in time is given it anew: this machine did not run.
    mutating func excuse(at now: MonotonicTime) {
        if silence.heardAt != nil { expect(at: now) }
    }

    /// A stream that came over another subflow is to go on here.
    mutating func expectStream(of time: MonotonicTime, at now: MonotonicTime) {
        (isStream, streamedAt) = (true, time)
        expect(at: now)
    }

    /// A stream has its pauses wherever it comes.
    mutating func takePauses(from other: StreamDetector) {
        pauses = other.pauses
        pauses.abandon()
    }

    /// When silence is to be probed: the first time soon, then ever less often, and in the end not at all.
    func due(at now: MonotonicTime, _ tuning: SteeringTuning) -> MonotonicTime? {
        guard isStream, let pause = pause(usualPause(at: now, tuning), tuning) else { return nil }
        return silence.due(after: pause, repairTime: tuning.repairTime)
    }

    private func pause(_ quiet: Duration, _ tuning: SteeringTuning) -> Duration? {
        // One probe more is sent when its answer may lead to an offer, between two of the others or after the second.
        let offer = longestSilence(tuning)
        var place = silence.probes
        if place >= 2, isStream, offer > quiet + tuning.secondSilence {
            let before = 2 + tuning.laterSilences.count { $0 < offer }
            if place == before { return offer }
            if place > before { place -= 1 }
        }
        switch place {
        case 0: return quiet
        case 1: return quiet + tuning.secondSilence
        default:
            return place - 2 < tuning.laterSilences.count ? tuning.laterSilences[place - 2] : nil
        }
    }

    /// How long a stream is silent at most that goes on: its sender's timer repeats what got lost.
    private func longestSilence(_ tuning: SteeringTuning) -> Duration {
        min(roundTrip * tuning.transfer.trips, tuning.transfer.longestPause)
    }

    /// Whether its sender may be shown another way, where the path answers: its timer would have sent again what was lost.
    ///
    /// - Parameter isShared: whether it comes over another path as well. Then the sender has a way, and one more is worth a
    ///   subflow's end, which makes room for it, only when it seems to have forgotten this one.
    func mayOffer(isShared: Bool = false, at now: MonotonicTime, _ tuning: SteeringTuning) -> Bool {
        guard isStream, silence.probes >= tuning.probesBeforeOffer, let heard = silence.heardAt else {
            return false
        }
        return heard.duration(to: now) >= (isShared ? tuning.transfer.longestPause : longestSilence(tuning))
    }

    /// The same where the user awaits bytes, stream or not.
    ///
    /// - Parameters:
    ///   - answerTime: how long an answer takes at most.
    ///   - answeredAt: when an acknowledgement came last, or they have been awaited since, whichever was later.
    func dueAwaited(
        answerTime: Duration, answeredAt: MonotonicTime, at now: MonotonicTime, _ tuning: SteeringTuning
    ) -> MonotonicTime? {
        if let due = due(at: now, tuning) { return due }
        let quiet = max(usualPause(at: now, tuning), tuning.awaitedSilence + answerTime)
        guard let pause = pause(quiet, tuning) else { return nil }
        return silence.due(after: pause, repairTime: tuning.repairTime, answeredAt: answeredAt)
    }

    /// How long a pause is nothing strange, by those that the stream had lately.
    func usualPause(at now: MonotonicTime, _ tuning: SteeringTuning) -> Duration {
        let known = pauses.longest(at: now, tuning) * tuning.pauseMargin
        return min(max(tuning.silence, known), tuning.longestPause)
    }

    /// From when on nothing of it is on its way any more, however slow it is; nil where nothing was.
    func endsFrom(_ tuning: SteeringTuning) -> MonotonicTime? {
        guard isStream || isBulk, let heard = silence.heardAt else { return nil }
        return heard.advanced(by: max(longestSilence(tuning), tuning.transfer.pause))
    }

    /// Whether a stream was heard lately. One that was heard long ago has ended.
    func isFresh(at now: MonotonicTime, _ tuning: SteeringTuning) -> Bool {
        isStream && streamedAt.map { tuning.isFresh($0, at: now) } ?? false
    }
}

extension SteeringTuning {
    /// Whether a stream that was last heard at a time may still go on.
    func isFresh(_ time: MonotonicTime, at now: MonotonicTime) -> Bool {
        time.duration(to: now) < streamMemory
    }
}

/// The longest pause of late that was followed by more. Samples see of a pause what was over when the last one before its end
/// was taken, so this is the least that it lasted.
struct PauseMemory: Sendable {
    private var longest = Duration.zero
    private var longestAt = MonotonicTime.zero
    /// How long the one that goes on has lasted, from one sign of life to the next.
    private var current = Duration.zero

    mutating func lasts(_ time: Duration) { current = max(current, time) }

    /// What goes on is no pause of the stream's.
    mutating func abandon() { current = .zero }

    mutating func ends(at now: MonotonicTime, _ tuning: SteeringTuning) {
        defer { current = .zero }
        guard current > .zero, current >= longest(at: now, tuning) else { return }
        (longest, longestAt) = (current, now)
    }

    func longest(at now: MonotonicTime, _ tuning: SteeringTuning) -> Duration {
        longestAt.duration(to: now) < tuning.pauseMemory ? longest : .zero
    }
}

/// Whether a bulk transfer goes on. Samples are taken at any distance from each other, so it is measured in bytes that come
/// in within a time, and remembered for some of those.
struct TransferVolume: Sendable {
    private var level: UInt64 = 0
    private var levelAt = MonotonicTime.zero
    private(set) var isBulk = false

    mutating func add(_ bytes: UInt64, at now: MonotonicTime, _ tuning: SteeringTuning) {
        let times = levelAt.duration(to: now) / tuning.transfer.time
        let lost = UInt64(min(times, Double(tuning.transfer.memory)) * Double(tuning.transfer.step))
        level = min(level - min(level, lost) + min(bytes, tuning.mostBulk), tuning.mostBulk)
        levelAt = now
        isBulk = level > tuning.transfer.step
    }
}

extension SteeringTuning {
    fileprivate var mostBulk: UInt64 { transfer.step * UInt64(transfer.memory) }
}
