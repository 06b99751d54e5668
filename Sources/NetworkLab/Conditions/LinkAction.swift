import PathCore

/// What may happen to a link: other conditions, or a fault that is no packet loss.
public enum LinkAction: Sendable, Hashable {
    case change(ConditionChange)
    case fault(Fault)

    public enum Fault: Sendable, Hashable {
        /// The client's interface is set down or up; up brings its addresses and routes back.
        case up(Bool)
        /// The client's interface is pulled out, or plugged in again with a new index.
        case plugged(Bool)
        case carrier(Bool)
        /// The client's addresses on the link, and with them its routes.
        case addresses(Bool)
        /// The link's default routes.
        case routes(Bool)
        /// The client gets other addresses on the link.
        case renumber
        case metric(UInt32)
        /// The link's NAT loses its memory.
        case forgetFlows
    }

    /// Every word there is, with its meaning, for help texts.
    public static let words = [
        ("down, up", "the interface is set down, or up with all it had"),
        ("unplug, plug", "the interface goes away, or comes back with a new index"),
        ("carrier off, carrier on", "the interface loses its carrier, or has it again"),
        ("address off, address on", "the client's addresses there are removed, or given again"),
        ("route off, route on", "the default routes there are withdrawn, or given again"),
        ("renumber", "the client gets other addresses there"),
        ("metric N", "the default routes get another metric"),
        ("nat forget", "the NAT there forgets its flows"),
    ]

    /// Reads a fault's words or conditions.
    public init(parsing text: some StringProtocol) throws(LabTextError) {
        let words = String(text).split(separator: " " as Character).map(String.init)
        switch words {
        case ["up"]: self = .fault(.up(true))
        case ["down"]: self = .fault(.up(false))
        case ["plug"]: self = .fault(.plugged(true))
        case ["unplug"]: self = .fault(.plugged(false))
        case ["renumber"]: self = .fault(.renumber)
        case ["nat", "forget"]: self = .fault(.forgetFlows)
        case ["carrier", "on"]: self = .fault(.carrier(true))
        case ["carrier", "off"]: self = .fault(.carrier(false))
        case ["address", "on"]: self = .fault(.addresses(true))
        case ["address", "off"]: self = .fault(.addresses(false))
        case ["route", "on"]: self = .fault(.routes(true))
        case ["route", "off"]: self = .fault(.routes(false))
        default:
            if words.first == "metric" {
                guard words.count == 2, let metric = UInt32(words[1]), metric > 0 else {
                    throw LabTextError("'\(text)' should read metric N, with a number from 1 up")
                }
                self = .fault(.metric(metric))
            } else if let first = words.first, ["carrier", "address", "route"].contains(first) {
                throw LabTextError("'\(text)' should read \(first) on or \(first) off")
            } else if words.isEmpty {
                throw LabTextError("expected a condition such as rtt=20ms, or a fault such as down")
            } else if words.count == 1, !words[0].contains("="), !words[0].hasSuffix("blackhole"),
                LinkPreset(rawValue: words[0]) == nil
            {
                let faults = Self.words.map(\.0)
                throw LabTextError(
                    """
                    '\(text)' is no condition and no fault\(Suggestion.hint(for: text, among: faults)); \
                    write KEY=VALUE, or one of \(faults.joined(separator: ", "))
                    """)
            } else {
                self = .change(try ConditionChange(parsing: words.joined()))
            }
        }
    }
}
