import PathCore

/// When a recorded radio link could send, over and over: mahimahi's format (mm-link(1)). Each line of a file is an
/// opportunity to send up to 1,504 bytes, as milliseconds from the beginning; the last line's time is the trace's length.
public struct RateTrace: Sendable, Hashable {
    /// The file it was read from.
    public let name: String
    /// Each opportunity, in milliseconds; they never go back.
    let opportunities: [UInt32]

    /// What one opportunity carries.
    static let bytesAtOnce = 1504

    /// - Throws: where a line is no number, where times go back, and where all are 0.
    public init(parsing text: some StringProtocol, name: String) throws(LabTextError) {
        var opportunities: [UInt32] = []
        for (position, line) in text.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
            let word = Substring(line).trimmed
            if word.isEmpty { continue }
            guard let time = UInt32(word), time <= 86_400_000 else {
                throw LabTextError("\(name): line \(position + 1): '\(word)' is no time in milliseconds")
            }
            guard time >= opportunities.last ?? 0 else {
                throw LabTextError("\(name): line \(position + 1): the time goes back")
            }
            opportunities.append(time)
        }
        guard let last = opportunities.last, last > 0 else {
            throw LabTextError("\(name): a trace needs at least one time after 0")
        }
        self.name = name
        self.opportunities = opportunities
    }

    /// After so long it starts over.
    public var length: Duration { .milliseconds(Int(opportunities.last ?? 1)) }

    /// Bits a second of IP packets, in the long run.
    public var meanRate: Double {
        Double(opportunities.count * Self.bytesAtOnce * 8) / length.inSeconds
    }

    /// A text of conditions in which the files of traces have absolute paths.
    static func withAbsolutePaths(_ text: String, in folder: String) -> String {
        let mark = "rate=trace:"
        return text.split(separator: ",", omittingEmptySubsequences: false).map { part in
            let pieces = part.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
            guard pieces.count == 2, "\(pieces[0]):".hasSuffix(mark), !pieces[1].hasPrefix("/") else {
                return String(part)
            }
            return "\(pieces[0]):\(folder)/\(pieces[1])"
        }.joined(separator: ",")
    }

    // Not by each of a hundred thousand lines.
    public static func == (one: RateTrace, other: RateTrace) -> Bool {
        one.name == other.name && one.opportunities.count == other.opportunities.count
            && one.opportunities.last == other.opportunities.last
    }

    public func hash(into hasher: inout Hasher) {
        hasher.combine(name)
        hasher.combine(opportunities.count)
    }
}
