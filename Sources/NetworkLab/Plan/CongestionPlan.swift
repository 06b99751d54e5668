import PathCore

/// A congestion control of Linux, by the kernel's name.
public enum CongestionControl: String, Sendable, Hashable, CaseIterable {
    /// NewReno (RFC 6582).
    case reno
    /// CUBIC (RFC 9438), Linux's own.
    case cubic
    /// BBR.
    case bbr
}

/// Which congestion control each host's TCP uses. Where nothing is said it is cubic, or reno where this machine allows no
/// other host than its own to use cubic.
public struct CongestionPlan: Sendable, Hashable {
    /// The client's; nil where nothing is said.
    public var client: CongestionControl?
    /// The server's; nil where nothing is said.
    public var server: CongestionControl?

    /// Nothing is said of either host.
    public init() {}

    /// Reads `bbr`, for both hosts, or `client=bbr`, `server=cubic,client=reno`.
    public init(parsing text: some StringProtocol) throws(LabTextError) {
        for part in text.split(separator: ",", omittingEmptySubsequences: false) {
            let words = part.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            let name = String(words[words.count - 1])
            guard let control = CongestionControl(rawValue: name) else {
                let names = CongestionControl.allCases.map(\.rawValue)
                throw LabTextError(
                    """
                    '\(name)' is no congestion control\(Suggestion.hint(for: name, among: names)); there are \
                    \(names.joined(separator: ", "))
                    """)
            }
            switch words.count == 2 ? String(words[0]) : "both" {
            case "client": client = control
            case "server": server = control
            case "both": (client, server) = (control, control)
            default: throw LabTextError("'\(words[0])' is no host; there are client and server")
            }
        }
    }
}
