public import Multipath

/// A budget as a command's option takes it: `50MB/day`, `1GB/month:constrained`, `500kB/week:wwan0,wwan1`.
public struct BudgetArgument: Sendable {
    /// What was asked for.
    public let budget: PathBudget

    /// Why a text is no budget.
    public struct Malformed: Error, Sendable, CustomStringConvertible {
        public let description: String
    }

    /// Reads one.
    public init(parsing text: String) throws(Malformed) {
        let parts = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
        let words = parts[0].split(separator: "/", omittingEmptySubsequences: false)
        guard words.count == 2, let limit = Self.bytes(words[0]),
            let period = PathBudget.Period(rawValue: String(words[1]))
        else {
            throw Malformed(
                description: """
                    '\(TerminalText.safe(text))' is no budget; write one as 50MB/day, 1GB/month:constrained or \
                    500kB/week:wwan0
                    """)
        }
        var paths = PathBudget.Paths.expensive
        if parts.count == 2 {
            let names = parts[1].split(separator: ",", omittingEmptySubsequences: false).map(String.init)
            guard !names.contains("") else {
                throw Malformed(description: "'\(TerminalText.safe(text))' names no paths behind its colon")
            }
            switch parts[1] {
            case "expensive": break
            case "constrained": paths = .constrained
            default: paths = .interfaces(Set(names))
            }
        }
        budget = .bytes(limit, per: period, on: paths)
    }

    private static func bytes(_ text: Substring) -> UInt64? {
        let digits = text.prefix { $0.isASCII && $0.isNumber }
        let unit: UInt64
        switch text[digits.endIndex...] {
        case "", "B": unit = 1
        case "kB": unit = 1_000
        case "MB": unit = 1_000_000
        case "GB": unit = 1_000_000_000
        default: return nil
        }
        guard let number = UInt64(digits) else { return nil }
        let (bytes, overflow) = number.multipliedReportingOverflow(by: unit)
        return overflow ? nil : bytes
    }
}
