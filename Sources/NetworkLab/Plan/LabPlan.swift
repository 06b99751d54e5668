import PathCore

/// What a lab is made of, and what happens in it.
public struct LabPlan: Sendable, Hashable {
    /// The client's interfaces, each with its link.
    public var links: [Link]
    /// Which families of addresses the hosts have.
    public var families: Families = .both
    /// What the server host does.
    public var server = Server()
    /// The hosts' congestion control.
    public var congestion = CongestionPlan()
    /// What happens while the command runs.
    public var timeline = Timeline()
    /// Two labs of one seed treat the same packets the same.
    public var seed: UInt64 = 1

    /// Wi-Fi and cellular, as a phone or a laptop with a modem has them, with nothing wrong.
    public init() {
        links = [Link("wlan0", .wifi), Link("wwan0", .cellular)]
    }

    /// The families of addresses that a lab's hosts have.
    public enum Families: String, Sendable, Hashable, CaseIterable {
        /// IPv4 and IPv6.
        case both
        /// IPv4 only.
        case ipv4
        /// IPv6 only.
        case ipv6

        var all: [IPAddress.Family] {
            switch self {
            case .both: [.ipv4, .ipv6]
            case .ipv4: [.ipv4]
            case .ipv6: [.ipv6]
            }
        }
    }

    /// An interface of the client, and the link behind it.
    public struct Link: Sendable, Hashable {
        /// The interface's name, such as `wlan0`.
        public var name: String
        /// What kind of network it is.
        public var type: InterfaceType
        /// Whether its traffic costs money.
        public var isExpensive: Bool
        /// Whether data is to be saved on it (Low Data Mode).
        public var isConstrained = false
        /// The interface is a tap, so that its carrier goes as a card's does: late. It needs /dev/net/tun.
        public var isTap = false
        /// The default route's; nil for what NetworkManager gives the type.
        public var metric: UInt32?
        /// What the link does to packets at first.
        public var conditions = LinkConditions()

        /// A link with nothing wrong; only cellular is expensive.
        public init(_ name: String, _ type: InterfaceType) {
            (self.name, self.type) = (name, type)
            isExpensive = type == .cellular
        }

        /// What NetworkManager gives the type.
        static func metric(of type: InterfaceType) -> UInt32 {
            switch type {
            case .wired: 100
            case .wifi: 600
            case .cellular: 700
            default: 800
            }
        }

        /// For `MULTIPATH_INTERFACES`: what a veth can't tell the classifier. What the link costs stands in the
        /// settings, where it can be changed.
        var override: String { "\(name)=\(type.rawValue)" }
    }

    /// What the server host does.
    public struct Server: Sendable, Hashable {
        /// The server host's kernel makes no MPTCP sockets.
        public var isTCPOnly = false
        /// A command that runs in the server host instead of the built-in services.
        public var command: [String] = []

        /// The built-in services, over MPTCP and TCP.
        public init() {}
    }

    /// The link a person means: its name, or its type where only one is of it.
    public func link(_ word: some StringProtocol) throws(LabTextError) -> Link {
        if let link = links.first(where: { $0.name == word }) { return link }
        let typed = links.filter { $0.type.rawValue == word }
        if typed.count == 1 { return typed[0] }
        let names = links.map(\.name).joined(separator: ", ")
        let hint = Suggestion.hint(for: word, among: links.flatMap { [$0.name, $0.type.rawValue] })
        throw LabTextError(
            typed.isEmpty
                ? "'\(word)' is no link here\(hint); there are \(names)"
                : "'\(word)' is more than one link; name one of \(names)")
    }

    /// How many links there can be: what the addresses are enough for.
    static let mostLinks = 16

    /// Checks what no single text can be wrong about by itself.
    public func validate() throws(LabTextError) {
        guard !links.isEmpty else { throw LabTextError("there is no link; at least one is needed") }
        guard links.count <= Self.mostLinks else {
            throw LabTextError("there are \(links.count) links; \(Self.mostLinks) at most")
        }
        for (position, link) in links.enumerated() {
            guard Self.isName(link.name) else {
                throw LabTextError(
                    "'\(link.name)' is no interface's name; use up to 15 letters, digits, - and _")
            }
            guard link.name != "lo", !links[..<position].contains(where: { $0.name == link.name }) else {
                throw LabTextError("'\(link.name)' is there twice; each link needs a name of its own")
            }
        }
        try timeline.validate(against: self)
    }

    static func isName(_ text: some StringProtocol) -> Bool {
        (1...15).contains(text.utf8.count)
            && text.utf8.allSatisfy {
                (0x30...0x39).contains($0) || (0x41...0x5A).contains($0) || (0x61...0x7A).contains($0)
                    || $0 == 0x2D || $0 == 0x5F
            }
    }
}
