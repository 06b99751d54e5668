import Testing

@testable import HLSClient

@Suite("The choice of a variant")
struct AdaptationTests {
    private let rates = [400_000.0, 800_000, 1_600_000, 3_200_000]

    private func situation(
        buffer: Double = 25, throughput: Double? = 50e6, path: StreamPath? = StreamPath("wlan0"),
        current: Int? = 0
    ) -> Adaptation.Situation {
        Adaptation.Situation(
            buffer: buffer, throughput: throughput, segmentDuration: 2, path: path, current: current)
    }

    @Test("begins low where nothing is known of the path")
    func first() {
        var adaptation = Adaptation(rates: rates)
        #expect(adaptation.choose(situation(buffer: 0, throughput: nil, current: nil)) == 0)
    }

    @Test("takes what a fast path carries, also while the buffer is low")
    func fast() {
        var adaptation = Adaptation(rates: rates)
        #expect(adaptation.choose(situation(buffer: 4)) == 3)
    }

    @Test("leaves room for the buffer to grow while it is low")
    func reservoir() {
        var adaptation = Adaptation(rates: rates)
        let choices = [5.0, 11, 19].map {
            adaptation.choose(situation(buffer: $0, throughput: 4e6, current: 2))
        }
        #expect(choices[0] == 1)
        #expect(choices[1] == 2)
        #expect(choices[2] >= 2)
    }

    @Test("leaves less room the fuller the buffer is, up to all that the path carries")
    func growing() {
        // 0.5 of 3.4 Mbit/s at 10 s, 0.7 at 20 s, 0.9 at 30 s.
        let choices = [10.5, 22, 30].map { buffer in
            var adaptation = Adaptation(rates: [400_000, 1_500_000, 2_300_000, 3_000_000])
            return adaptation.choose(situation(buffer: buffer, throughput: 3.4e6, current: 0))
        }
        #expect(choices == [1, 2, 3])
    }

    @Test(
        "keeps what is played where the path carries it, so that it does not go up and down with the buffer")
    func keeping() {
        func choice(buffer: Double, throughput: Double = 3.4e6) -> Int {
            var adaptation = Adaptation(rates: [400_000, 1_500_000, 2_300_000, 3_000_000])
            return adaptation.choose(situation(buffer: buffer, throughput: throughput, current: 3))
        }
        #expect(choice(buffer: 25) == 3)
        #expect(choice(buffer: 25, throughput: 2e6) < 3)
        #expect(choice(buffer: 12) < 3)
    }

    @Test("is never above what the path carries, however full the buffer is, except to stay")
    func cap() {
        var adaptation = Adaptation(rates: rates)
        #expect(adaptation.choose(situation(buffer: 30, throughput: 1e6, current: 0)) <= 1)
    }

    @Test("is the lowest on a constrained path")
    func constrained() {
        var adaptation = Adaptation(rates: rates)
        let path = StreamPath("wlan0", isConstrained: true)
        #expect(adaptation.choose(situation(path: path, current: 3)) == 0)
    }

    @Test("is no higher than the user allows, everywhere and on expensive paths")
    func limits() {
        var adaptation = Adaptation(rates: rates, maximumRate: 2e6, expensiveRate: 900_000)
        #expect(adaptation.choose(situation()) == 2)
        #expect(adaptation.choose(situation(path: StreamPath("wwan0", isExpensive: true))) == 1)
    }

    @Test("is the lowest where the user allows less than that")
    func belowAll() {
        var adaptation = Adaptation(rates: rates, maximumRate: 1_000)
        #expect(adaptation.choose(situation()) == 0)
    }

    @Test("gives a segment up that would come too late, where a lower one comes sooner")
    func abandonment() {
        let adaptation = Adaptation(rates: rates)
        let late = adaptation.alternative(
            to: 3, remaining: 700_000, rate: 1e6, situation(buffer: 3, current: 3))
        #expect(late == 0)
        let inTime = adaptation.alternative(
            to: 3, remaining: 200_000, rate: 1e6, situation(buffer: 3, current: 3))
        #expect(inTime == nil)
        let nearlyThere = adaptation.alternative(
            to: 3, remaining: 100_000, rate: 1e6, situation(buffer: 0.5, current: 3))
        #expect(nearlyThere == nil || nearlyThere == 0)
    }
}

@Suite("An estimate of throughput")
struct ThroughputEstimatorTests {
    @Test("is what came, where it always came the same")
    func constant() {
        var estimator = ThroughputEstimator()
        #expect(estimator.rate == nil)
        for _ in 0..<5 { estimator.ingest(bits: 2e6, seconds: 2) }
        #expect(abs((estimator.rate ?? 0) - 1e6) < 1)
    }

    @Test("falls at once and rises slowly")
    func change() {
        var estimator = ThroughputEstimator()
        for _ in 0..<10 { estimator.ingest(bits: 20e6, seconds: 2) }
        estimator.ingest(bits: 3e6, seconds: 3)
        let fallen = estimator.rate ?? 0
        #expect(fallen < 6e6)
        estimator.ingest(bits: 30e6, seconds: 3)
        #expect((estimator.rate ?? 0) < 9.5e6)
    }
}

@Suite("The playhead")
struct PlayheadTests {
    @Test("begins with the first segment, and stalls where nothing is left")
    func stall() {
        var playhead = Playhead()
        #expect(playhead.advance(to: 1) == false)
        #expect(playhead.fetched(2, at: 1) == nil)
        playhead.took(2)
        #expect(playhead.emptyAt == 3)
        #expect(playhead.advance(to: 2.5) == false)
        #expect(playhead.buffer == 0.5)
        #expect(playhead.advance(to: 4) == true)
        #expect(playhead.stalled(at: 4) == 1)
        #expect(playhead.fetched(2, at: 5) == 2)
        #expect(playhead.stalls == [Playhead.Stall(begun: 3, length: 2)])
    }

    @Test("is held by a reader that takes nothing, without a stall")
    func held() {
        var playhead = Playhead()
        _ = playhead.fetched(10, at: 0)
        playhead.took(2)
        #expect(playhead.advance(to: 8) == false)
        #expect(playhead.played == 2)
        #expect(playhead.buffer == 8)
        playhead.took(8)
        #expect(playhead.advance(to: 10) == false)
        #expect(playhead.played == 4)
    }

    @Test("has no stall at the stream's end")
    func end() {
        var playhead = Playhead()
        _ = playhead.fetched(2, at: 0)
        playhead.took(2)
        playhead.complete()
        #expect(playhead.advance(to: 5) == false)
        #expect(playhead.emptyAt == nil)
    }
}
