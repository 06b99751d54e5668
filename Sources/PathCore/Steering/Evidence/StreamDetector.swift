// Whether bytes come in steadily. A receiver has nothing outstanding, so for it silence counts, but only in the middle of a
// stream.

/// Tells whether a subflow brings a stream, and when its silence is to be probed.
struct StreamDetector: Sendable {
    private(set) var silence = SilenceDetector()
    /// How many samples in a row found new bytes, each soon after the one before, and nothing sent between: a stream,
    /// not answers.
    private(set) var run = 0
    private var sentBefore: UInt64?
    /// Whether much came in between the latest two samples.
    private(set) var isBulk = false
    /// How often lately the stream went on behind a probe: it is one with gaps.
    private(set) var gaps = 0
    /// Whether bytes came steadily.
    private(set) var isStream = false
    /// When the stream was last heard, here or where it came before.
    private(set) var streamedAt: MonotonicTime?

    /// - Parameter latest: the sample before.
    mutating func ingest(
        _ sample: SubflowSample, after latest: SubflowSample?, at now: MonotonicTime, _ tuning: SteeringTuning
    ) {
        guard let latest else {
            isBulk = false
            return
        }
        isBulk = sample.bytesReceived &- latest.bytesReceived > tuning.bulkStep
        if sample.bytesReceived > latest.bytesReceived {
            let soon = sample.answerTime(tuning) * 2 + tuning.streamPause
            let isSoon = silence.receivedAt.map { $0.duration(to: now) < soon } ?? false
            run = isSoon && sentBefore == sample.bytesSent ? run + 1 : 1
            sentBefore = sample.bytesSent
            silence.received(at: now.advanced(by: .zero - sample.sinceDataReceived))
        } else if sample.receivedSegments != latest.receivedSegments {
            // The time of these isn't told; it is between the samples.
            silence.heard(at: now)
        }
    }

    /// Bytes came in.
    ///
    /// - Parameter isShared: whether they are part of a stream that comes over another path as well.
    mutating func continues(isShared: Bool, at now: MonotonicTime, _ tuning: SteeringTuning) {
        if silence.probes > 0 {
            noteGap(tuning)
        } else if run.isMultiple(of: tuning.gapMemory) {
            gaps = max(gaps - 1, 0)
        }
        silence.forgetProbes()
        // An answer to what was sent before the first may be among them.
        if run >= tuning.streamRun || isShared { isStream = true }
        if isStream { streamedAt = now }
    }

    /// The stream had a pause, which a probe fell into.
    mutating func noteGap(_ tuning: SteeringTuning) { gaps = min(gaps + 1, tuning.mostSilenceGaps) }

    /// A probe was sent because of it.
    mutating func wasProbed() { silence.wasProbed() }

    /// From now on bytes are to come in: they come another way as well, or came there before.
    mutating func expect(at now: MonotonicTime) { silence.received(at: now) }

    /// A stream comes in another way as well, so nothing is to be asked here.
    mutating func comesElsewhere(at now: MonotonicTime) {
        silence.forgetProbes()
        expect(at: now)
    }

    /// A stream that came over another subflow is to go on here.
    mutating func expectStream(of time: MonotonicTime, at now: MonotonicTime) {
        (isStream, streamedAt) = (true, time)
        expect(at: now)
    }

    /// A stream has its gaps wherever it comes.
    mutating func takeGaps(from other: StreamDetector) { gaps = other.gaps }

    /// When silence is to be probed: the first time soon, then ever less often, and in the end not at all.
    func due(_ tuning: SteeringTuning) -> MonotonicTime? {
        guard isStream, let pause = pause(tuning) else { return nil }
        return silence.due(after: pause, repairTime: tuning.repairTime)
    }

    private func pause(_ tuning: SteeringTuning) -> Duration? {
        let quiet = tuning.silence * (1 << min(gaps, tuning.mostSilenceGaps))
        switch silence.probes {
        case 0: return quiet
        case 1: return quiet + tuning.secondSilence
        default:
            let place = silence.probes - 2
            return place < tuning.laterSilences.count ? tuning.laterSilences[place] : nil
        }
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
