/// Numbers that look random and are the same for the same seed (SplitMix64).
struct SeededRandom: RandomNumberGenerator, Sendable {
    private var state: UInt64

    /// - Parameter stream: keeps uses apart, so that one that asks more does not shift another.
    init(seed: UInt64, stream: UInt64 = 0) {
        state = seed &+ stream &* 0xD1B5_4A32_D192_ED03
        _ = next()
    }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }

    /// From 0 up to 1.
    mutating func share() -> Double { Double(next() >> 11) * 0x1p-53 }

    /// Whether something of this likelihood happens. Nothing is drawn for what can't or must happen.
    mutating func happens(_ likelihood: Double) -> Bool {
        if likelihood <= 0 { return false }
        if likelihood >= 1 { return true }
        return share() < likelihood
    }
}
