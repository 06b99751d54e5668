// Whether a peer that says nothing can still be reached.
//
// A receiver that gets nothing can't tell a dead path from a peer with nothing to say by watching, so it
// asks: a handshake with the same address and port over the same path, closed as soon as it is complete. Any
// answer is one, a refusal too. It asks only while its user awaits bytes, because only then is silence strange
// at all, and ever less often while the answer is that all is well.
//
// Two probes are sent before the verdict, half an answer's time apart: one lost packet is no proof. As with
// what is sent, each false alarm doubles the time the next verdict takes.

/// Decides when to ask whether a silent path is alive, and what no answer means.
struct SilenceWatch: Sendable {
    private(set) var isDead = false
    /// When the next sample is worth taking; nil while nothing is awaited.
    private(set) var nextSample: MonotonicTime?

    private var isAwaiting = false
    private var received: UInt64?
    /// Samples in a row that found new bytes.
    private var run = 0
    /// Since when nothing was heard, neither bytes nor an answer; and how often the answer was that all is well.
    private var silence = SilenceDetector()
    private var asked: (count: Int, since: MonotonicTime, latest: MonotonicTime)?
    private var falseAlarms = 0

    private static let longest = Duration.seconds(30)
    private static let mostDoublings = 16

    /// The user awaits bytes from now on, or does no more.
    mutating func await(_ awaits: Bool, at now: MonotonicTime) {
        guard awaits != isAwaiting else { return }
        isAwaiting = awaits
        (asked, run) = (nil, 0)
        silence = SilenceDetector()
        silence.received(at: now)
        nextSample = awaits ? now : nil
        if !awaits { isDead = false }
    }

    /// The peer's host answered a probe.
    mutating func answered(at now: MonotonicTime) {
        if isDead { falseAlarms = min(falseAlarms + 1, 3) }
        (isDead, asked) = (false, nil)
        silence.received(at: now)
        silence.wasProbed()
        if isAwaiting { nextSample = now }
    }

    /// - Returns: whether to ask now.
    mutating func ingest(_ sample: SubflowSample, at now: MonotonicTime) -> Bool {
        let heard = received.map { $0 != sample.receivedSequence } ?? false
        received = sample.receivedSequence
        guard isAwaiting else { return false }
        if heard {
            if isDead { falseAlarms = min(falseAlarms + 1, 3) }
            (isDead, asked) = (false, nil)
            silence.received(at: now)
            silence.forgetProbes()
            run += 1
        }
        guard let asked else {
            let due = silence.due(after: quiet(sample)) ?? now
            if now < due {
                nextSample = min(due, now.advanced(by: .milliseconds(25)))
                // While nothing is late there is no hurry to look again.
                if run == 0 { nextSample = due }
                return false
            }
            ask(1, since: now, sample, at: now)
            return true
        }
        if isDead {
            // Ever less often, to notice that the path is back.
            let pause = min(Duration.seconds(1) * (1 << min(asked.count - 2, 5)), Self.longest)
            guard now >= asked.latest.advanced(by: pause) else {
                nextSample = asked.latest.advanced(by: pause)
                return false
            }
            ask(asked.count + 1, since: asked.since, sample, at: now)
            return true
        }
        let time = answerTime(sample)
        if now >= asked.since.advanced(by: time) {
            isDead = true
            nextSample = now.advanced(by: .seconds(1))
            return false
        }
        if asked.count == 1, now >= asked.since.advanced(by: time / 2) {
            ask(2, since: asked.since, sample, at: now)
            return true
        }
        nextSample = asked.since.advanced(by: asked.count == 1 ? time / 2 : time)
        return false
    }

    private mutating func ask(
        _ count: Int, since: MonotonicTime, _ sample: SubflowSample, at now: MonotonicTime
    ) {
        asked = (count, since, now)
        let time = answerTime(sample)
        nextSample =
            isDead ? now.advanced(by: .seconds(1)) : since.advanced(by: count == 1 ? time / 2 : time)
    }

    /// How long silence is nothing strange: in the middle of a stream 100 ms, before an answer a round trip
    /// more; doubled by each answer that all is well.
    private func quiet(_ sample: SubflowSample) -> Duration {
        let first =
            Duration.milliseconds(100) + (run >= 3 ? .zero : sample.smoothedRTT + sample.rttVariation * 4)
        return min(first * (1 << min(silence.probes, Self.mostDoublings)), Self.longest)
    }

    private func answerTime(_ sample: SubflowSample) -> Duration {
        // The receiver's own estimate counts the sender's pauses too, so it is believed only so far.
        let trip = max(sample.smoothedRTT, min(sample.receiverRTT, .milliseconds(250)))
        let time = trip * 3 / 2 + min(sample.rttVariation, trip) * 2
        return min(max(time, .milliseconds(100)), .seconds(3)) * (1 << falseAlarms)
    }
}
