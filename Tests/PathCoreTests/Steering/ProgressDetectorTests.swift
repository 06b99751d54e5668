import Testing

@testable import PathCore

@Suite("A subflow's data")
struct ProgressDetectorTests {
    private var detector = ProgressDetector()

    private func at(_ milliseconds: Int64) -> MonotonicTime {
        MonotonicTime(nanoseconds: milliseconds * 1_000_000)
    }

    /// A sample of a path of 20 ms; times are how long ago, in milliseconds.
    private func sample(
        unacknowledged: UInt32 = 0, acknowledged: UInt64 = 0, received: UInt64 = 0, sent: UInt64 = 0,
        lastAcknowledgement: Int = 0, lastSent: Int = 0, lastReceived: Int = 0
    ) -> SubflowSample {
        var sample = SubflowSample(
            id: 0, local: nil, remote: nil, bytesSent: sent, bytesRetransmitted: 0, bytesReceived: received,
            smoothedRTT: .milliseconds(20), rttVariation: .milliseconds(3), minimumRTT: nil)
        sample.state = .established
        (sample.unacknowledged, sample.acknowledged) = (unacknowledged, acknowledged)
        sample.sinceAcknowledgement = .milliseconds(lastAcknowledgement)
        sample.sinceDataSent = .milliseconds(lastSent)
        sample.sinceDataReceived = .milliseconds(lastReceived)
        return sample
    }

    @Test("waits for nothing while nothing is outstanding")
    mutating func idle() {
        _ = detector.ingest(sample(), written: nil, at: at(1000))
        #expect(detector.waitingSince == nil)
        #expect(detector.answerTime(SteeringTuning()) == .milliseconds(32))
    }

    @Test("waits since the first write that no sample has seen")
    mutating func written() {
        _ = detector.ingest(sample(), written: nil, at: at(1000))
        _ = detector.ingest(
            sample(unacknowledged: 2, lastAcknowledgement: 500), written: at(1490), at: at(1500))
        #expect(detector.waitingSince == at(1490))
    }

    @Test("waits since the first write also where its first sample comes after that")
    mutating func newborn() {
        detector.isNewborn = true
        var other = detector
        _ = detector.ingest(
            sample(unacknowledged: 2, lastAcknowledgement: 100), written: at(1490), at: at(1500))
        #expect(detector.waitingSince == at(1490))
        // Something of it was acknowledged since.
        _ = other.ingest(sample(unacknowledged: 2, lastAcknowledgement: 4), written: at(1490), at: at(1500))
        #expect(other.waitingSince == at(1496))
        var unknown = ProgressDetector()
        _ = unknown.ingest(
            sample(unacknowledged: 2, lastAcknowledgement: 100), written: at(1490), at: at(1500))
        #expect(unknown.waitingSince == at(1500))
    }

    @Test("waits since a lone segment was sent, where no writer tells of writes")
    mutating func lone() {
        _ = detector.ingest(sample(), written: nil, at: at(1000))
        _ = detector.ingest(
            sample(unacknowledged: 1, lastAcknowledgement: 500, lastSent: 30), written: nil, at: at(1500))
        #expect(detector.waitingSince == at(1470))
    }

    @Test("waits anew with each acknowledgement, which a counter must prove")
    mutating func progress() {
        _ = detector.ingest(sample(unacknowledged: 3), written: at(990), at: at(1000))
        let first = detector.ingest(
            sample(unacknowledged: 3, acknowledged: 1000, lastAcknowledgement: 10), written: nil, at: at(1050)
        )
        #expect(first.hasAcknowledged && detector.waitingSince == at(1040))
        // What the peer sends again refreshes the time, and proves nothing.
        let second = detector.ingest(
            sample(unacknowledged: 3, acknowledged: 1000, lastAcknowledgement: 1), written: nil, at: at(1090))
        #expect(!second.isAny && detector.waitingSince == at(1040))
        _ = detector.ingest(sample(acknowledged: 4000), written: nil, at: at(1100))
        #expect(detector.waitingSince == nil)
    }

    @Test("does not count the time before this path carried")
    mutating func carries() {
        _ = detector.ingest(sample(lastAcknowledgement: 400), written: nil, at: at(1400))
        detector.carriesSince = at(1480)
        _ = detector.ingest(
            sample(unacknowledged: 1, lastAcknowledgement: 500, lastSent: 100), written: nil, at: at(1500))
        #expect(detector.waitingSince == at(1480))
    }

    @Test("is excused by an answer: the wait begins again")
    mutating func excuse() {
        detector.excuse(at: at(900))
        #expect(detector.waitingSince == nil)
        _ = detector.ingest(sample(unacknowledged: 1), written: nil, at: at(1000))
        detector.excuse(at: at(1100))
        #expect(detector.waitingSince == at(1100))
    }
}
