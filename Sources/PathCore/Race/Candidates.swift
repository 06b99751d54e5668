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
package struct Candidate: Sendable, Hashable {
    package var path: PathID
    /// The interface the attempt is bound to.
    package var interface: InterfaceIndex
    package var endpoint: IPEndpoint
    package var transport: TransportProtocol

    package init(
        path: PathID, interface: InterfaceIndex, endpoint: IPEndpoint, transport: TransportProtocol
    ) {
        self.path = path
        self.interface = interface
        self.endpoint = endpoint
        self.transport = transport
    }
}

/// The kernel's answer to "how would a packet to this address go?" (RTM_GETROUTE with RTM_F_FIB_MATCH).
package enum RouteAnswer: Sendable, Hashable {
    /// By this interface, because a route with a destination of this many bits matches.
    case via(InterfaceIndex, prefixLength: UInt8)
    /// To this machine itself, which means over loopback, whichever interface has the address.
    case local(InterfaceIndex)
    /// Not at all: the kernel's words, such as "Network is unreachable".
    case unreachable(String)
}

/// The candidates for a destination, and for each interface that is left out the reason.
package struct CandidateList: Sendable, Hashable {
    /// One list for each path, in order of preference.
    package var branches: [[Candidate]]
    package var omissions: [PathOmission]
    /// Of the paths that are waited for, those that would come before the first list.
    package var awaited: Set<InterfaceIndex> = []

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
    ///   - standing: how earlier connections to an address went over a network.
    ///   - route: the kernel's answer for an address, free to choose (nil) or bound to one interface.
    package init(
        snapshot: PathSnapshot, policy: PathPolicy, addresses: [IPAddress], port: UInt16,
        protocols: [TransportProtocol], awaiting: Set<InterfaceIndex> = [],
        isUsable: (IPAddress, InterfaceIndex) -> Bool = { _, _ in true },
        standing: (PathHistory.Network, IPAddress) -> AddressHistory.Standing = { _, _ in .unknown },
        route: (IPAddress, InterfaceIndex?) -> RouteAnswer
    ) {
        self.init(
            CandidatePaths(snapshot, policy), addresses: addresses, port: port, protocols: protocols,
            awaiting: awaiting, isUsable: isUsable, standing: standing, route: route)
    }

    /// The same of paths that were looked at already.
    package init(
        _ paths: CandidatePaths, addresses: [IPAddress], port: UInt16, protocols: [TransportProtocol],
        awaiting: Set<InterfaceIndex> = [],
        isUsable: (IPAddress, InterfaceIndex) -> Bool = { _, _ in true },
        standing: (PathHistory.Network, IPAddress) -> AddressHistory.Standing = { _, _ in .unknown },
        route: (IPAddress, InterfaceIndex?) -> RouteAnswer
    ) {
        // What each path reaches, by its place.
        var reached = [[IPAddress]](repeating: [], count: paths.all.count)
        var ways = Ways()
        for address in addresses.unique {
            ways.find(address, in: paths, route: route)
            let leadToInternet = ways.leadToInternet
            // A path's own network is the same over whichever path the address was found; the Internet is not.
            for place in ways.places where !leadToInternet || isUsable(address, paths.all[place].index) {
                reached[place].append(address)
            }
        }
        (branches, omissions) = ([], [])
        branches.reserveCapacity(reached.count)
        for (place, addresses) in reached.enumerated() {
            let path = paths.all[place]
            if addresses.isEmpty {
                if branches.isEmpty, path.isAllowed, awaiting.contains(path.index) {
                    awaited.insert(path.index)
                }
                if let omission = path.omission { omissions.append(omission) }
            } else if let refusal = path.refusal {
                omissions.append(
                    PathOmission(interface: path.id.name, reason: "\(refusal)", refusal: refusal))
            } else {
                let sorted = path.order.sorted(addresses) { standing(path.network, $0) }
                branches.append(Self.branch(of: path, sorted, port, protocols))
            }
        }
        if branches.isEmpty { awaited = [] }
    }

    /// The interfaces by which an address can be reached. Where a route longer than the default leads to
    /// it (the local network, a VPN's own networks), only interfaces with a route as long do: a private
    /// address is not asked for on the Internet.
    private struct Ways {
        /// The places of the interfaces, with the length of the route that each has.
        private var found: [(place: Int, length: UInt8)] = []
        private var longest: UInt8 = 0
        private var isLocal = false

        /// The places of those that have the longest route.
        var places: some Sequence<Int> {
            found.lazy.filter { [longest] in $0.length == longest }.map(\.place)
        }
        /// Whether it is by a default route.
        var leadToInternet: Bool { !isLocal && longest <= 1 }

        mutating func find(
            _ address: IPAddress, in paths: CandidatePaths, route: (IPAddress, InterfaceIndex?) -> RouteAnswer
        ) {
            found.removeAll(keepingCapacity: true)
            (longest, isLocal) = (0, false)
            switch route(address, address.zone == 0 ? nil : address.zone) {
            case .local(let index):
                isLocal = true
                return add(paths.place(of: index), 0, in: paths)
            case .via(let index, let length):
                let place = paths.place(of: index)
                let path = place.map { paths.all[$0] }
                // A tunnel that the kernel chooses is the only way: a race around it would leak.
                if let path, path.isTunnel, !path.isDead { return add(place, length, in: paths) }
                // A default route without an address to go with it leads nowhere.
                if length > 0 || path?.hasSource(address.family) == true { add(place, length, in: paths) }
            case .unreachable: break
            }
            for (place, path) in paths.all.enumerated() where path.isAsked {
                guard !found.contains(where: { $0.place == place }),
                    address.zone == 0 || address.zone == path.index,
                    case .via(let index, let length) = route(address, path.index), index == path.index,
                    length > 0 || path.supports(address.family)
                else { continue }
                add(place, length, in: paths)
            }
        }

        /// - Parameter place: nil for an interface that the snapshot does not have yet.
        private mutating func add(_ place: Int?, _ length: UInt8, in paths: CandidatePaths) {
            longest = max(longest, length)
            if let place, !paths.all[place].isDead { found.append((place, length)) }
        }
    }

    /// A path's candidates, in the order in which they start.
    ///
    /// - Parameter addresses: the best one first.
    private static func branch(
        of path: CandidatePaths.Path, _ addresses: [IPAddress], _ port: UInt16,
        _ protocols: [TransportProtocol]
    ) -> [Candidate] {
        var branch: [Candidate] = []
        branch.reserveCapacity(addresses.count * protocols.count)
        func add(_ address: IPAddress, _ transport: TransportProtocol) {
            branch.append(
                Candidate(
                    path: path.id, interface: path.index, endpoint: IPEndpoint(address, port: port),
                    transport: transport))
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
    package var unique: [IPAddress] {
        // A name rarely has more than a few, and to compare those is cheaper than to hash them.
        if count <= 8 {
            return indices.allSatisfy { !self[..<$0].contains(self[$0]) }
                ? self : indices.filter { !self[..<$0].contains(self[$0]) }.map { self[$0] }
        }
        var seen: Set<IPAddress> = []
        return filter { seen.insert($0).inserted }
    }
}
