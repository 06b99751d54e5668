extension Duration {
    /// The forms of a duration, for help texts and errors.
    package static let textForms = "5, 5s, 500ms, 250us, 2m or 1h"

    /// Reads a duration as a person writes it: `5` and `5s` are seconds, then there are `us`, `ms`, `m` (or `min`)
    /// and `h`; fractions are allowed (`1.5s`). Every command, flag and scenario file reads durations here.
    ///
    /// - Returns: nil for anything else, for zero, and for more than 290 years.
    package init?(parsing text: some StringProtocol) {
        let digits = text.prefix { $0.isASCII && ($0.isNumber || $0 == ".") }
        let units: [String: Double] = [
            "": 1e9, "us": 1e3, "ms": 1e6, "s": 1e9, "m": 60e9, "min": 60e9, "h": 3600e9,
        ]
        guard let unit = units[String(text.dropFirst(digits.count))], let number = Double(digits) else {
            return nil
        }
        let nanoseconds = number * unit
        guard nanoseconds >= 1, nanoseconds < 9e18 else { return nil }
        self = .nanoseconds(Int64(nanoseconds))
    }
}
