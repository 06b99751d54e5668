import Testing

@testable import PathCore

@Suite("A signal")
struct SignalDetectorTests {
    /// The verdict after each reading, one every 500 ms.
    private func verdicts(_ signals: [Int?]) -> [Bool] {
        var detector = SignalDetector()
        return signals.enumerated().map { number, signal in
            detector.ingest(signal, at: MonotonicTime.zero.advanced(by: .milliseconds(500 * number)))
        }
    }

    @Test("that is good or wavers does not fade")
    func steady() {
        #expect(!verdicts([-50, -53, -48, -55, -50, -52, -57, -49]).contains(true))
        #expect(!verdicts([-75, -74, -75, -72, -75]).contains(true))
    }

    @Test("below −75 dBm fades, until it is at −70 dBm again")
    func weak() {
        #expect(verdicts([-75, -76, -74, -71, -70]) == [false, true, true, true, false])
        #expect(verdicts([-76, -72, -70, -70, -70, -70]) == [true, true, false, false, false, false])
    }

    @Test("that falls by 10 dB within 2 s fades, however good it still is, until it falls no longer")
    func falling() {
        #expect(
            verdicts([-40, -44, -48, -50, -50, -50, -50, -50]) == [
                false, false, false, true, true, true, false, false,
            ])
        // As much in a longer time is a walk through the house.
        #expect(!verdicts([-40, -42, -44, -46, -48, -50, -52, -54]).contains(true))
    }

    @Test("that is not there, because its network is gone, begins anew")
    func absent() {
        #expect(verdicts([-80, nil, -60]) == [true, false, false])
    }
}
