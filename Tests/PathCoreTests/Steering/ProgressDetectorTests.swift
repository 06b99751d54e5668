import Testing

@testable import PathCore

@Suite("A subflow's data")
struct ProgressDetectorTests {
    private var detector = ProgressDetector()
    private let tuning = SteeringTuning()

    /// A sample of a path of 20 ms; times are how long ago, in milliseconds.
    private func sample(
        unacknowledged: UInt32 = 0, acknowledged: UInt64 = 0, received: UInt64 = 0, sent: UInt64 = 0,
        delivered: UInt32 = 0, retransmissions: UInt32 = 0, roundTrip: Int = 20,
        lastAcknowledgement: Int = 0, lastSent: Int = 0, lastReceived: Int = 0
    ) -> SubflowSample {
        var sample = SubflowSample(
            id: 0, local: nil, remote: nil, bytesSent: sent, bytesRetransmitted: 0, bytesReceived: received,
            smoothedRTT: .milliseconds(roundTrip), rttVariation: .milliseconds(3), minimumRTT: nil)
        sample.state = .established
        (sample.delivered, sample.retransmissions) = (delivered, retransmissions)
        (sample.unacknowledged, sample.acknowledged) = (unacknowledged, acknowledged)
        sample.sinceAcknowledgement = .milliseconds(lastAcknowledgement)
        sample.sinceDataSent = .milliseconds(lastSent)
        sample.sinceDataReceived = .milliseconds(lastReceived)
        return sample
    }

    @Test("waits for nothing while nothing is outstanding")
    mutating func idle() {
        _ = detector.ingest(sample(), written: nil, at: at(1000), tuning)
        #expect(detector.waitingSince == nil)
        #expect(detector.answerTime(tuning) == .milliseconds(32))
    }

    @Test("waits since the first write that no sample has seen")
    mutating func written() {
        _ = detector.ingest(sample(), written: nil, at: at(1000), tuning)
        _ = detector.ingest(
            sample(unacknowledged: 2, lastAcknowledgement: 500), written: at(1490), at: at(1500), tuning)
        #expect(detector.waitingSince == at(1490))
    }

    @Test("waits since the first write also where its first sample comes after that")
    mutating func newborn() {
        detector.isNewborn = true
        var other = detector
        _ = detector.ingest(
            sample(unacknowledged: 2, lastAcknowledgement: 100), written: at(1490), at: at(1500), tuning)
        #expect(detector.waitingSince == at(1490))
        // Something of it was acknowledged since.
        _ = other.ingest(
            sample(unacknowledged: 2, lastAcknowledgement: 4), written: at(1490), at: at(1500), tuning)
        #expect(other.waitingSince == at(1496))
        var unknown = ProgressDetector()
        _ = unknown.ingest(
            sample(unacknowledged: 2, lastAcknowledgement: 100), written: at(1490), at: at(1500), tuning)
        #expect(unknown.waitingSince == at(1500))
    }

    @Test("waits since a lone segment was sent, where no writer tells of writes")
    mutating func lone() {
        _ = detector.ingest(sample(), written: nil, at: at(1000), tuning)
        _ = detector.ingest(
            sample(unacknowledged: 1, lastAcknowledgement: 500, lastSent: 30), written: nil, at: at(1500),
            tuning)
        #expect(detector.waitingSince == at(1470))
    }

    @Test("waits anew with each acknowledgement, which a counter must prove")
    mutating func progress() {
        _ = detector.ingest(sample(unacknowledged: 3), written: at(990), at: at(1000), tuning)
        let first = detector.ingest(
            sample(unacknowledged: 3, acknowledged: 1000, lastAcknowledgement: 10), written: nil,
            at: at(1050), tuning
        )
        #expect(first.hasAcknowledged && detector.waitingSince == at(1040))
        // What the peer sends again refreshes the time, and proves nothing.
        let second = detector.ingest(
            sample(unacknowledged: 3, acknowledged: 1000, lastAcknowledgement: 1), written: nil, at: at(1090),
            tuning)
        #expect(!second.isAny && detector.waitingSince == at(1040))
        _ = detector.ingest(sample(acknowledged: 4000), written: nil, at: at(1100), tuning)
        #expect(detector.waitingSince == nil)
    }

    @Test(
        "takes no one segment, acknowledged by the receiver's timer, for a sign that what was sent after it arrives"
    )
    mutating func delayed() {
        _ = detector.ingest(sample(unacknowledged: 20, delivered: 10), written: nil, at: at(1000), tuning)
        let late = sample(
            unacknowledged: 19, acknowledged: 1000, delivered: 11, roundTrip: 60, lastAcknowledgement: 5)
        #expect(!detector.ingest(late, written: nil, at: at(1060), tuning).isAny)
        #expect(detector.waitingSince == at(1000) && detector.newsAt == nil)
        #expect(detector.answerTime(tuning) == .milliseconds(32), "the receiver's delay is no round trip")
        // Nor is it once nothing more has come.
        #expect(!detector.ingest(late, written: nil, at: at(1065), tuning).isAny)
        #expect(detector.answerTime(tuning) == .milliseconds(32))
        // Another: segments come, if seldom.
        let next = sample(
            unacknowledged: 18, acknowledged: 2000, delivered: 12, roundTrip: 60, lastAcknowledgement: 2)
        #expect(detector.ingest(next, written: nil, at: at(1100), tuning).hasAcknowledged)
        #expect(detector.waitingSince == at(1098) && detector.answerTime(tuning) == .milliseconds(72))
        let third = sample(unacknowledged: 17, acknowledged: 3000, delivered: 13, roundTrip: 60)
        #expect(detector.ingest(third, written: nil, at: at(1150), tuning).hasAcknowledged)
    }

    /// What one acknowledgement found, after 20 segments had been sent at one time.
    struct Acknowledgement: CustomTestStringConvertible, Sendable {
        let testDescription: String
        var sent: UInt32 = 20
        var left: UInt32 = 19
        var count: UInt32 = 1
        var retransmissions: UInt32 = 0
        var isSelective = false
        var time: Int64 = 1060
    }

    @Test(
        "takes any other acknowledgement for one",
        arguments: [
            Acknowledgement(testDescription: "of two segments", left: 18, count: 2),
            Acknowledgement(testDescription: "that comes sooner", time: 1025),
            Acknowledgement(testDescription: "that answers the first of a burst", time: 1045),
            Acknowledgement(testDescription: "that is selective", isSelective: true),
            Acknowledgement(testDescription: "of the last", left: 0),
            Acknowledgement(testDescription: "of one of two", sent: 2, left: 1),
            Acknowledgement(testDescription: "of what was sent again", retransmissions: 1),
        ])
    mutating func undelayed(found: Acknowledgement) {
        _ = detector.ingest(sample(unacknowledged: found.sent), written: nil, at: at(1000), tuning)
        let news = sample(
            unacknowledged: found.left, acknowledged: found.isSelective ? 0 : 1000, delivered: found.count,
            retransmissions: found.retransmissions)
        #expect(detector.ingest(news, written: nil, at: at(found.time), tuning).hasAcknowledged)
    }

    @Test("does not count the time before this path carried")
    mutating func carries() {
        _ = detector.ingest(sample(lastAcknowledgement: 400), written: nil, at: at(1400), tuning)
        detector.carriesSince = at(1480)
        _ = detector.ingest(
            sample(unacknowledged: 1, lastAcknowledgement: 500, lastSent: 100), written: nil, at: at(1500),
            tuning)
        #expect(detector.waitingSince == at(1480))
    }

    @Test("is excused by an answer: the wait begins again")
    mutating func excuse() {
        detector.excuse(at: at(900))
        #expect(detector.waitingSince == nil)
        _ = detector.ingest(sample(unacknowledged: 1), written: nil, at: at(1000), tuning)
        detector.excuse(at: at(1100))
        #expect(detector.waitingSince == at(1100))
    }
}
