/// A ratio of two whole numbers: a duration times it is exact, where a floating-point factor would round.
struct Ratio: Sendable, Hashable {
    var numerator: Int
    var denominator: Int

    init(_ numerator: Int, _ denominator: Int) {
        (self.numerator, self.denominator) = (numerator, denominator)
    }

    static func * (duration: Duration, ratio: Ratio) -> Duration {
        duration * ratio.numerator / ratio.denominator
    }
}
