// Who takes part in a race: allowed paths × addresses × protocols, in the order in which they start.
//
// A branch is a path (TAPS, RFC 9623 section 4.1: branch by path first). Inside a branch the first address
// of each family goes first with every protocol, then the rest: a broken family and a middlebox that drops
// SYNs with MP_CAPABLE are likelier than a dead second address of the same family.

/// The transport an attempt asks for.
public enum TransportProtocol: String, Sendable, Hashable, Codable {
    /// IPPROTO_MPTCP. If the peer does not speak it, the same handshake becomes plain TCP.
    case mptcp
    case tcp
}

/// One connection that may be attempted.
public struct Candidate: Sendable, Hashable {
    /// The interface the attempt is bound to.
    public var interface: InterfaceIndex
    public var interfaceName: String
    public var endpoint: IPEndpoint
    public var transport: TransportProtocol

    public init(
        interface: InterfaceIndex, interfaceName: String, endpoint: IPEndpoint,
        transport: TransportProtocol
    ) {
        self.interface = interface
        self.interfaceName = interfaceName
        self.endpoint = endpoint
        self.transport = transport
    }
}

/// The kernel's answer to "how would a packet to this address go?" (RTM_GETROUTE with RTM_F_FIB_MATCH).
public enum RouteAnswer: Sendable, Hashable {
    /// By this interface, because a route with a destination of this many bits matches.
    case via(InterfaceIndex, prefixLength: UInt8)
    /// To this machine itself, which means over loopback, whichever interface has the address.
    case local(InterfaceIndex)
    /// Not at all: the kernel's words, such as "Network is unreachable".
    case unreachable(String)
}

/// The candidates for a destination, and for each interface that is left out the reason.
public struct CandidateList: Sendable, Hashable {
    /// A path that is left out.
    public struct Omission: Sendable, Hashable, Codable, CustomStringConvertible {
        public var interface: String
        public var reason: String
        /// The refusal by the caller's own policy; nil where the path itself is unfit.
        public var refusal: PathPolicy.Refusal?

        public init(interface: String, reason: String, refusal: PathPolicy.Refusal? = nil) {
            self.interface = interface
            self.reason = reason
            self.refusal = refusal
        }

        /// `wwan0: expensive`
        public var description: String { "\(interface): \(reason)" }
    }

    /// One list for each path, in order of preference.
    public var branches: [[Candidate]]
    public var omissions: [Omission]

    /// Works out the candidates.
    ///
    /// - Parameters:
    ///   - addresses: the destination's addresses; each path puts them in its own order (RFC 6724).
    ///   - protocols: what may be asked for, the preferred one first.
    ///   - isUsable: whether an address, found over one path, may be used over another.
    ///   - route: the kernel's answer for an address, free to choose (nil) or bound to one interface.
    public init(
        snapshot: PathSnapshot, policy: PathPolicy, addresses: [IPAddress], port: UInt16,
        protocols: [TransportProtocol],
        isUsable: (IPAddress, InterfaceIndex) -> Bool = { _, _ in true },
        route: (IPAddress, InterfaceIndex?) -> RouteAnswer
    ) {
        var omissions: [Omission] = []
        var reachable: [InterfaceIndex: [IPAddress]] = [:]
        var seen: Set<IPAddress> = []
        for address in addresses where seen.insert(address).inserted {
            let ways = Self.interfaces(for: address, in: snapshot, route: route)
            // A network of one's own is the same whoever found the address; the Internet is not.
            for index in ways.interfaces where !ways.isInternet || isUsable(address, index) {
                reachable[index, default: []].append(address)
            }
        }
        // Interfaces that are no path to the Internet still reach what is on their own link.
        var order = snapshot.interfaces + snapshot.excluded.map(\.interface)
        if let preferred = order.firstIndex(where: { $0.name == policy.preferredInterface }) {
            order.insert(order.remove(at: preferred), at: 0)
        }
        branches = order.compactMap { interface in
            guard let addresses = reachable[interface.index] else {
                omissions += Self.omission(of: interface, in: snapshot, policy)
                return nil
            }
            if let refusal = policy.refusal(of: interface) {
                omissions.append(
                    Omission(interface: interface.name, reason: "\(refusal)", refusal: refusal))
                return nil
            }
            let sorted = DestinationOrder(sources: interface.addresses).sorted(addresses)
            return Self.order(Self.interleaved(sorted), protocols).map { address, transport in
                Candidate(
                    interface: interface.index, interfaceName: interface.name,
                    endpoint: IPEndpoint(address, port: port), transport: transport)
            }
        }
        self.omissions = omissions
    }

    /// The interfaces by which an address can be reached. Where a route longer than the default leads to
    /// it (the local network, a VPN's own networks), only interfaces with a route as long do: a private
    /// address is not asked for on the Internet.
    private static func interfaces(
        for address: IPAddress, in snapshot: PathSnapshot,
        route: (IPAddress, InterfaceIndex?) -> RouteAnswer
    ) -> (interfaces: [InterfaceIndex], isInternet: Bool) {
        // The kernel keeps the routes of a link without a carrier.
        let dead = Set(snapshot.excluded.filter(\.isDead).map(\.interface.index))
        var matches: [(index: InterfaceIndex, length: UInt8)] = []
        switch route(address, address.zone == 0 ? nil : address.zone) {
        case .local(let index): return ([index], false)
        case .via(let index, let length):
            let chosen = snapshot.interface(index)
            // A tunnel that the kernel chooses is the only way: a race around it would leak.
            if chosen?.type.value == .tunnel, !dead.contains(index) { return ([index], length <= 1) }
            // A default route without an address to go with it leads nowhere.
            if length > 0 || chosen?.hasSource(address.family) == true { matches.append((index, length)) }
        case .unreachable: break
        }
        let all =
            snapshot.interfaces + snapshot.excluded.compactMap { $0.isOnLinkCandidate ? $0.interface : nil }
        for interface in all
        where !matches.contains(where: { $0.index == interface.index })
            && (address.zone == 0 || address.zone == interface.index)
        {
            if case .via(let index, let length) = route(address, interface.index), index == interface.index,
                length > 0 || interface.supports(address.family)
            {
                matches.append((index, length))
            }
        }
        let longest = matches.map(\.length).max()
        let interfaces = matches.filter { $0.length == longest && !dead.contains($0.index) }.map(\.index)
        return (interfaces, longest ?? 0 <= 1)
    }

    private static func omission(
        of interface: PathInterface, in snapshot: PathSnapshot, _ policy: PathPolicy
    ) -> [Omission] {
        if let excluded = snapshot.excluded.first(where: { $0.interface.index == interface.index }) {
            // Loopback is left out of every race but its own, and nobody wants to read that.
            guard excluded.reason != .loopback else { return [] }
            return [Omission(interface: interface.name, reason: "\(excluded.reason)")]
        }
        if let refusal = policy.refusal(of: interface) {
            return [Omission(interface: interface.name, reason: "\(refusal)", refusal: refusal)]
        }
        return [Omission(interface: interface.name, reason: "no route to the destination")]
    }

    /// Alternates the families, beginning with the first address's (RFC 8305 section 4).
    static func interleaved(_ addresses: [IPAddress]) -> [IPAddress] {
        guard let first = addresses.first else { return [] }
        let same = addresses.filter { $0.family == first.family }
        let other = addresses.filter { $0.family != first.family }
        var result: [IPAddress] = []
        for position in 0..<max(same.count, other.count) {
            if position < same.count { result.append(same[position]) }
            if position < other.count { result.append(other[position]) }
        }
        return result
    }

    private static func order(
        _ addresses: [IPAddress], _ protocols: [TransportProtocol]
    ) -> [(IPAddress, TransportProtocol)] {
        var leaders: [IPAddress] = []
        for address in addresses where !leaders.contains(where: { $0.family == address.family }) {
            leaders.append(address)
        }
        let rest = addresses.filter { !leaders.contains($0) }
        return protocols.flatMap { transport in leaders.map { ($0, transport) } }
            + rest.flatMap { address in protocols.map { (address, $0) } }
    }
}

extension PathInterface {
    /// Whether it has an address that a packet to another network can come from.
    fileprivate func hasSource(_ family: IPAddress.Family) -> Bool {
        addresses.contains { $0.address.family == family && !$0.address.isLinkLocal }
    }
}

extension ExcludedInterface {
    /// Whether nothing can go over it, whatever the kernel's routes say.
    fileprivate var isDead: Bool { reason == .down || reason == .noCarrier }

    /// Whether a destination on its own link may still be reached through it.
    fileprivate var isOnLinkCandidate: Bool {
        switch reason {
        case .loopback, .down, .noCarrier, .behindTunnel: false
        case .noAddress, .noDefaultRoute: true
        }
    }
}
