import PathCore

/// What may happen to a link: other conditions, a fault that is no packet loss, or another word of its user about it.
public enum LinkAction: Sendable, Hashable {
    /// Other conditions.
    case change(ConditionChange)
    /// A fault that is no packet loss.
    case fault(Fault)
    /// The client's user says something else of the link, as `mppaths set` does.
    case tag(Tag)

    /// What a user can say of a link; nil leaves it to the other sources.
    public enum Tag: Sendable, Hashable {
        /// Whether traffic costs money.
        case expensive(Bool?)
        /// Whether data is to be saved (Low Data Mode).
        case constrained(Bool?)
        /// All that was said of it is taken back.
        case automatic
    }

    /// What may happen to a link that is no packet loss.
    public enum Fault: Sendable, Hashable {
        /// The client's interface is set down or up; up brings its addresses and routes back.
        case up(Bool)
        /// The client's interface is pulled out, or plugged in again with a new index.
        case plugged(Bool)
        /// The client's interface loses its carrier, or has it again.
        case carrier(Bool)
        /// The client's addresses on the link, and with them its routes.
        case addresses(Bool)
        /// The link's default routes.
        case routes(Bool)
        /// The client gets other addresses on the link.
        case renumber
        /// The link's default routes get another metric.
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

    /// Every word of the client's user about a link, with its meaning, for help texts.
    public static let tagWords = [
        ("expensive [yes|no|auto]", "traffic costs money; auto: as the other sources say"),
        ("constrained [yes|no|auto]", "data is to be saved there (Low Data Mode)"),
        ("auto", "nothing is said of it any more"),
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
        case ["auto"]: self = .tag(.automatic)
        case ["not-expensive"]: self = .tag(.expensive(false))
        case ["not-constrained"]: self = .tag(.constrained(false))
        default:
            if let first = words.first, let tag = Self.tags[first] {
                guard words.count <= 2, let said = Self.answers[words.dropFirst().first ?? "yes"] else {
                    throw LabTextError("'\(text)' should read \(first) yes, \(first) no or \(first) auto")
                }
                self = .tag(tag(said))
            } else if words.first == "metric" {
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
                let faults = (Self.words + Self.tagWords).map(\.0)
                let known = faults + ["expensive", "constrained", "not-expensive", "not-constrained"]
                throw LabTextError(
                    """
                    '\(text)' is no condition, no fault and no tag\(Suggestion.hint(for: text, among: known)); \
                    write KEY=VALUE, or one of \(faults.joined(separator: ", "))
                    """)
            } else {
                self = .change(try ConditionChange(parsing: words.joined()))
            }
        }
    }

    private static let tags: [String: @Sendable (Bool?) -> Tag] = [
        "expensive": { .expensive($0) }, "constrained": { .constrained($0) },
    ]
    private static let answers: [String: Bool?] = ["yes": true, "no": false, "auto": nil]
}
