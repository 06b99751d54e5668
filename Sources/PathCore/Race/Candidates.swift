// The candidates of a race: allowed paths × addresses × protocols, in the order in which they start.
//
// A branch is a path (TAPS, RFC 9623 section 4.1: branch by path first). Inside a branch the first address
// of each family goes first with every protocol, then the rest: a broken family and a middlebox that drops
// SYNs with MP_CAPABLE are likelier than a dead second address of the same family.

/// The transport an attempt asks for.
public enum TransportProtocol: String, Sendable, Hashable, Codable {
    /// IPPROTO_MPTCP. If the peer does not speak it, the same handshake becomes plain TCP.
    case mptcp
    /// IPPROTO_TCP.
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
    /// One list for each path, in order of preference.
    public var branches: [[Candidate]]
    public var omissions: [PathOmission]
    /// Of the paths that are waited for, those that would come before the first list.
    public var awaited: Set<InterfaceIndex> = []

    /// Works out the candidates.
    ///
    /// - Parameters:
    ///   - snapshot: the paths.
    ///   - policy: which of them may be used.
    ///   - port: the destination's.
    ///   - addresses: the destination's addresses; each path puts them in its own order (RFC 6724).
    ///   - protocols: what may be asked for, the preferred one first.
    ///   - awaiting: the paths whose own name servers are still being asked.
    ///   - isUsable: whether an address, found over one path, may be used over another.
    ///   - route: the kernel's answer for an address, free to choose (nil) or bound to one interface.
    public init(
        snapshot: PathSnapshot, policy: PathPolicy, addresses: [IPAddress], port: UInt16,
        protocols: [TransportProtocol], awaiting: Set<InterfaceIndex> = [],
        isUsable: (IPAddress, InterfaceIndex) -> Bool = { _, _ in true },
        route: (IPAddress, InterfaceIndex?) -> RouteAnswer
    ) {
        var ways: [(address: IPAddress, interfaces: [InterfaceIndex])] = []
        ways.reserveCapacity(addresses.count)
        for address in addresses.unique {
            var (interfaces, isInternet) = Self.interfaces(for: address, in: snapshot, route: route)
            // A path's own network is the same over whichever path the address was found; the Internet is not.
            if isInternet { interfaces.removeAll { !isUsable(address, $0) } }
            ways.append((address, interfaces))
        }
        var branches: [[Candidate]] = []
        branches.reserveCapacity(snapshot.interfaces.count)
        var omissions: [PathOmission] = []
        var awaited: Set<InterfaceIndex> = []
        func place(_ interface: PathInterface, _ exclusion: ExcludedInterface.Reason?) {
            var own: [IPAddress] = []
            own.reserveCapacity(ways.count)
            for way in ways where way.interfaces.contains(interface.index) { own.append(way.address) }
            if own.isEmpty {
                if branches.isEmpty, awaiting.contains(interface.index), policy.refusal(of: interface) == nil
                {
                    awaited.insert(interface.index)
                }
                if let omission = Self.omission(of: interface, exclusion, policy) {
                    omissions.append(omission)
                }
            } else if let refusal = policy.refusal(of: interface) {
                omissions.append(
                    PathOmission(interface: interface.name, reason: "\(refusal)", refusal: refusal))
            } else {
                branches.append(
                    Self.branch(
                        of: interface, DestinationOrder(sources: interface.addresses).sorted(own), port,
                        protocols))
            }
        }
        let preferred = policy.preferredInterface
        func placeAll(where isTurn: (PathInterface) -> Bool) {
            for interface in snapshot.interfaces where isTurn(interface) { place(interface, nil) }
            // Interfaces that are no path to the Internet still reach what is on their own link.
            for excluded in snapshot.excluded where isTurn(excluded.interface) {
                place(excluded.interface, excluded.reason)
            }
        }
        if let preferred { placeAll { $0.name == preferred } }
        placeAll { $0.name != preferred }
        self.branches = branches
        self.omissions = omissions
        self.awaited = branches.isEmpty ? [] : awaited
    }

    /// The interfaces by which an address can be reached. Where a route longer than the default leads to
    /// it (the local network, a VPN's own networks), only interfaces with a route as long do: a private
    /// address is not asked for on the Internet.
    private static func interfaces(
        for address: IPAddress, in snapshot: PathSnapshot,
        route: (IPAddress, InterfaceIndex?) -> RouteAnswer
    ) -> (interfaces: [InterfaceIndex], isInternet: Bool) {
        // The kernel keeps the routes of a link without a carrier.
        func isDead(_ index: InterfaceIndex) -> Bool {
            snapshot.excluded.contains { $0.interface.index == index && $0.isDead }
        }
        var matches: [(index: InterfaceIndex, length: UInt8)] = []
        matches.reserveCapacity(snapshot.interfaces.count)
        switch route(address, address.zone == 0 ? nil : address.zone) {
        case .local(let index): return ([index], false)
        case .via(let index, let length):
            let chosen = snapshot.interface(index)
            // A tunnel that the kernel chooses is the only way: a race around it would leak.
            if chosen?.type.value == .tunnel, !isDead(index) { return ([index], length <= 1) }
            // A default route without an address to go with it leads nowhere.
            if length > 0 || chosen?.hasSource(address.family) == true { matches.append((index, length)) }
        case .unreachable: break
        }
        func ask(_ interface: PathInterface) {
            guard !matches.contains(where: { $0.index == interface.index }),
                address.zone == 0 || address.zone == interface.index,
                case .via(let index, let length) = route(address, interface.index), index == interface.index,
                length > 0 || interface.supports(address.family)
            else { return }
            matches.append((index, length))
        }
        for place in snapshot.interfaces.indices { ask(snapshot.interfaces[place]) }
        for excluded in snapshot.excluded where excluded.isOnLinkCandidate { ask(excluded.interface) }
        var longest: UInt8 = 0
        for match in matches { longest = max(longest, match.length) }
        let interfaces = matches.compactMap { $0.length == longest && !isDead($0.index) ? $0.index : nil }
        return (interfaces, longest <= 1)
    }

    private static func omission(
        of interface: PathInterface, _ exclusion: ExcludedInterface.Reason?, _ policy: PathPolicy
    ) -> PathOmission? {
        if let exclusion {
            // Loopback is left out of every race but its own: reports need not say so.
            return exclusion == .loopback
                ? nil : PathOmission(interface: interface.name, reason: "\(exclusion)")
        }
        if let refusal = policy.refusal(of: interface) {
            return PathOmission(interface: interface.name, reason: "\(refusal)", refusal: refusal)
        }
        return PathOmission(interface: interface.name, reason: "no route to the destination")
    }

    /// A path's candidates, in the order in which they start.
    ///
    /// - Parameter addresses: the best one first.
    private static func branch(
        of interface: PathInterface, _ addresses: [IPAddress], _ port: UInt16,
        _ protocols: [TransportProtocol]
    ) -> [Candidate] {
        var branch: [Candidate] = []
        branch.reserveCapacity(addresses.count * protocols.count)
        func add(_ address: IPAddress, _ transport: TransportProtocol) {
            branch.append(
                Candidate(
                    interface: interface.index, interfaceName: interface.name,
                    endpoint: IPEndpoint(address, port: port), transport: transport))
        }
        let addresses = interleaved(addresses)
        // One of each family leads: with the families interleaved they are the first two, or the first.
        let leaders = addresses.count > 1 && addresses[0].family != addresses[1].family ? 2 : 1
        for transport in protocols {
            for address in addresses.prefix(leaders) { add(address, transport) }
        }
        for address in addresses.dropFirst(leaders) {
            for transport in protocols { add(address, transport) }
        }
        return branch
    }

    /// Alternates the families, beginning with the first address's (RFC 8305 section 4).
    static func interleaved(_ addresses: [IPAddress]) -> [IPAddress] {
        guard let first = addresses.first, addresses.contains(where: { $0.family != first.family }) else {
            return addresses
        }
        // Mostly they alternate already: a name has one of each.
        if zip(addresses, addresses.dropFirst()).allSatisfy({ $0.family != $1.family }) { return addresses }
        let same = addresses.filter { $0.family == first.family }
        let other = addresses.filter { $0.family != first.family }
        var result: [IPAddress] = []
        for position in 0..<max(same.count, other.count) {
            if position < same.count { result.append(same[position]) }
            if position < other.count { result.append(other[position]) }
        }
        return result
    }
}

extension [IPAddress] {
    /// Each address once, where it stands first.
    public var unique: [IPAddress] {
        // A name rarely has more than a few, and to compare those is cheaper than to hash them.
        if count <= 8 {
            return indices.allSatisfy { !self[..<$0].contains(self[$0]) }
                ? self : indices.filter { !self[..<$0].contains(self[$0]) }.map { self[$0] }
        }
        var seen: Set<IPAddress> = []
        return filter { seen.insert($0).inserted }
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
