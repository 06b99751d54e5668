import Testing

@testable import PathCore

@Suite("A stream that a subflow brings")
struct StreamDetectorTests {
    private let tuning = SteeringTuning()
    private var detector = StreamDetector()
    private var latest: SubflowSample?
    /// As the receiver measures it.
    private var roundTrip = Duration.zero

    /// A sample of a path of 20 ms.
    private mutating func ingest(
        received: UInt64, sent: UInt64 = 0, segments: UInt32 = 0, early: UInt32 = 0, at time: Int64
    ) {
        var sample = SubflowSample(
            id: 0, local: nil, remote: nil, bytesSent: sent, bytesRetransmitted: 0, bytesReceived: received,
            smoothedRTT: .milliseconds(20), rttVariation: .milliseconds(3), minimumRTT: nil)
        sample.receivedSegments = segments
        sample.earlySegments = early
        sample.receiverRTT = roundTrip
        let isNews = latest.map { received > $0.bytesReceived } ?? false
        detector.ingest(sample, after: latest, at: at(time), tuning)
        if isNews { detector.continues(isShared: false, at: at(time), tuning) }
        latest = sample
    }

    @Test("is one when it comes without being asked for, also behind gaps")
    mutating func stream() {
        for (time, bytes) in [(0, 0), (40, 100), (60, 100), (80, 200), (100, 200)] as [(Int64, UInt64)] {
            ingest(received: bytes, at: 1000 + time)
        }
        #expect(detector.run == 2 && !detector.isStream)
        #expect(detector.silence.receivedAt == at(1080))
        ingest(received: 300, at: 1120)
        #expect(detector.isStream && detector.streamedAt == at(1120))
    }

    @Test("is none where each message answers one of ours")
    mutating func answers() {
        for count in 0..<5 as Range<UInt64> {
            ingest(received: count * 100, sent: count * 50, at: 1000 + Int64(count) * 40)
        }
        #expect(detector.run == 1 && !detector.isStream)
        #expect(detector.due(at: at(1200), tuning) == nil)
    }

    @Test("is probed after 25 ms of silence, then ever later, four times in all")
    mutating func pauses() {
        for count in 0..<4 as Range<UInt64> { ingest(received: count * 100, at: 1000 + Int64(count) * 10) }
        var pauses: [Duration] = []
        while let due = detector.due(at: at(1030), tuning), pauses.count < 9 {
            pauses.append(at(1030).duration(to: due))
            detector.wasProbed()
        }
        #expect(pauses == [25, 275, 2000, 20_000].map { .milliseconds($0) })
    }

    @Test("is probed after the longest pause that it had lately, and half of it")
    mutating func ownPauses() {
        for count in 0..<4 as Range<UInt64> { ingest(received: count * 100, at: 1000 + Int64(count) * 10) }
        ingest(received: 300, at: 1070)
        ingest(received: 1000, at: 1090)
        #expect(detector.due(at: at(1090), tuning) == at(1090 + 60))
        // A shorter one changes nothing, and after some seconds they are forgotten.
        ingest(received: 1000, at: 1120)
        ingest(received: 1100, at: 1130)
        #expect(detector.due(at: at(1130), tuning) == at(1130 + 60))
        #expect(detector.due(at: at(6091), tuning) == at(1130 + 25))
    }

    @Test("has no pause between two of them, where the second was awaited anew")
    mutating func betweenStreams() {
        for count in 0..<4 as Range<UInt64> { ingest(received: count * 100, at: 1000 + Int64(count) * 10) }
        ingest(received: 300, at: 1200)
        detector.ends()
        ingest(received: 300, at: 1400)
        detector.expectAnew(at: at(1450))
        for count in 4..<8 as Range<UInt64> { ingest(received: count * 100, at: 1420 + Int64(count) * 10) }
        #expect(detector.due(at: at(1490), tuning) == at(1490 + 25))
    }

    @Test(
        "is bulk by what comes in within a quarter of a second, however many samples that takes, for a second after"
    )
    mutating func bulk() {
        for count in 0..<100 as Range<UInt64> { ingest(received: count * 1448, at: 1000 + Int64(count) * 2) }
        #expect(detector.isBulk)
        // A sender that measures the path sends four segments a round trip for 200 ms (BBR).
        for count in 0..<10 as Range<UInt64> {
            ingest(received: 99 * 1448 + (count + 1) * 4 * 1448, at: 1198 + (Int64(count) + 1) * 20)
        }
        #expect(detector.isBulk)
        ingest(received: 139 * 1448 + 4344, at: 2700)
        #expect(!detector.isBulk)
    }

    @Test(
        "ends a second after its last bytes, or three round trips where those take longer, up to ten seconds")
    mutating func end() {
        #expect(detector.endsFrom(tuning) == nil)
        for (trip, pause) in [(20, 1000), (700, 2100), (60_000, 10_000)] as [(Int64, Int64)] {
            (detector, latest, roundTrip) = (StreamDetector(), nil, .milliseconds(trip))
            for count in 0..<4 as Range<UInt64> {
                ingest(received: count * 100, at: 1000 + Int64(count) * 10)
            }
            #expect(detector.endsFrom(tuning) == at(1030 + pause))
        }
    }

    @Test(
        "is probed once more when its sender may be shown another way, three round trips after its last bytes"
    )
    mutating func offers() {
        for (trip, expected) in [
            (80, [25, 275, 2000, 20_000]), (200, [25, 275, 600, 2000, 20_000]),
            (2000, [25, 275, 2000, 6000, 20_000]),
        ] as [(Int64, [Int64])] {
            (detector, latest, roundTrip) = (StreamDetector(), nil, .milliseconds(trip))
            for count in 0..<4 as Range<UInt64> {
                ingest(received: count * 100, at: 1000 + Int64(count) * 10)
            }
            var pauses: [Duration] = []
            while let due = detector.due(at: at(1030), tuning), pauses.count < 9 {
                pauses.append(at(1030).duration(to: due))
                #expect(
                    detector.mayOffer(at: due, tuning) == (pauses.count > 2 && due >= at(1030 + trip * 3)))
                detector.wasProbed()
            }
            #expect(pauses == expected.map { .milliseconds($0) })
        }
    }

    @Test("is probed although bytes come, where they carry nothing on for longer than a repair takes")
    mutating func repairs() {
        for count in 0..<4 as Range<UInt64> { ingest(received: count * 100, at: 1000 + Int64(count) * 10) }
        for count in 1...50 as ClosedRange<Int64> {
            ingest(received: 300, segments: UInt32(count), early: UInt32(count), at: 1030 + count * 10)
        }
        #expect(detector.silence.heardAt == at(1530))
        #expect(detector.due(at: at(1530), tuning) == at(1030 + 425))
    }

    @Test("is silent where all that comes is what was there already: the peer does not hear us")
    mutating func repetitions() {
        for count in 0..<4 as Range<UInt64> { ingest(received: count * 100, at: 1000 + Int64(count) * 10) }
        for count in 1...5 as ClosedRange<Int64> {
            ingest(received: 300, segments: UInt32(count), at: 1030 + count * 4)
        }
        #expect(detector.silence.heardAt == at(1030))
        #expect(detector.due(at: at(1050), tuning) == at(1030 + 25))
    }

    @Test("has a pause when it goes on, as long as the longest part of it in which nothing came in")
    mutating func pausesOfRepairs() {
        for count in 0..<4 as Range<UInt64> { ingest(received: count * 100, at: 1000 + Int64(count) * 10) }
        ingest(received: 300, at: 1070)
        ingest(received: 300, early: 1, at: 1071)
        ingest(received: 300, early: 1, at: 1081)
        #expect(detector.silence.repairedAt == at(1071))
        // Not yet: what is not over may be the path's end.
        #expect(detector.usualPause(at: at(1081), tuning) == .milliseconds(25))
        ingest(received: 500, early: 1, at: 1090)
        #expect(detector.silence.repairedAt == nil)
        #expect(detector.usualPause(at: at(1090), tuning) == .milliseconds(60))
    }

    @Test("has no pause where it was not expected")
    mutating func elsewhere() {
        for count in 0..<4 as Range<UInt64> { ingest(received: count * 100, at: 1000 + Int64(count) * 10) }
        ingest(received: 300, at: 1300)
        detector.expectAnew(at: at(1300))
        ingest(received: 400, at: 1310)
        #expect(detector.usualPause(at: at(1310), tuning) == .milliseconds(25))
    }
}
