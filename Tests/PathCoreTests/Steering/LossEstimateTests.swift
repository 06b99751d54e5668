import Testing

@testable import PathCore

@Suite("The number of probes")
struct LossEstimateTests {
    private let tuning = SteeringTuning()

    private func sample(_ delivered: UInt32, _ retransmissions: UInt32) -> SubflowSample {
        var sample = SubflowSample(
            id: 0, local: nil, remote: nil, bytesSent: 0, bytesRetransmitted: 0, bytesReceived: 0,
            smoothedRTT: .zero, rttVariation: .zero, minimumRTT: nil)
        (sample.delivered, sample.retransmissions) = (delivered, retransmissions)
        return sample
    }

    @Test("is one on a clean path")
    func clean() {
        var loss = LossEstimate()
        loss.ingest(sample(0, 0), tuning)
        loss.ingest(sample(1000, 0), tuning)
        #expect(loss.probes(tuning) == 1)
    }

    @Test("grows with the loss, to eight at most", arguments: [(10, 5), (20, 8), (45, 8), (100, 8)])
    func lossy(percent: UInt32, probes: Int) {
        var loss = LossEstimate()
        for round in 0...20 as ClosedRange<UInt32> {
            loss.ingest(sample(round * (100 - min(percent, 99)), round * percent), tuning)
        }
        #expect(loss.probes(tuning) == probes)
    }

    @Test("does not count a new subflow's counters as loss")
    func fresh() {
        var loss = LossEstimate()
        loss.ingest(sample(1000, 10), tuning)
        loss.ingest(sample(5, 0), tuning)
        #expect(loss.probes(tuning) == 1)
        loss.forgetCounters()
        loss.ingest(sample(10, 900), tuning)
        #expect(loss.probes(tuning) == 1)
    }

    @Test("grows with probes that were not answered, and shrinks with those that were")
    func asked() {
        var loss = LossEstimate()
        for _ in 0..<20 { loss.probed(isAnswered: false, tuning) }
        let most = loss.probes(tuning)
        for _ in 0..<200 { loss.probed(isAnswered: true, tuning) }
        #expect(most > 3 && loss.probes(tuning) == 1)
    }
}
