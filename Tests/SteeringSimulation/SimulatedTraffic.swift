/// What the users of a simulated connection do.
package struct SimulatedTraffic: Sendable {
    package enum Pattern: Sendable {
        case idle
        /// One chunk asks, so many answer, and so long after that the next one asks.
        case requests(answers: Int, pause: Duration)
        case upload(every: Duration)
        case download(every: Duration)
        case both(every: Duration)
        /// As BBR sends: once each round trip, more each time up to so many chunks; and first after `pause`, then every ten
        /// seconds, nothing for 200 ms, to see how long the way takes without it (PROBE_RTT).
        case bursts(from: SimulatedEnd, of: Int, pause: Duration)
    }

    /// What a chunk is for its reader.
    enum Meaning {
        case bulk
        case request(answers: Int)
        case answer
        case lastAnswer
    }

    package var phases: [(start: Duration, pattern: Pattern)]

    package init(_ phases: [(start: Duration, pattern: Pattern)]) { self.phases = phases }
}

/// Seeded numbers (SplitMix64): the same seed gives the same world.
package struct SimulatedRandom: RandomNumberGenerator, Sendable {
    private var state: UInt64

    package init(seed: UInt64) { state = seed }

    package mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }

    package mutating func share() -> Double { Double(next() >> 11) * 0x1p-53 }
}
