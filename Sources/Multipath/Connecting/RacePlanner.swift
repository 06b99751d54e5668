import LinuxNet

/// Knows what a race may attempt: the destination's addresses as they are found, over the paths as they are.
/// It lives on the event thread. An object, because a value of a runner's is copied whole to be asked.
final class RacePlanner {
    /// Whose addresses these are: one path's, or every path's.
    typealias Scope = InterfaceIndex?

    let port: UInt16
    let configuration: ConnectionConfiguration
    let protocols: [TransportProtocol]
    var snapshot: PathSnapshot {
        didSet { knownPaths = nil }
    }
    /// The snapshot's paths, as the caller's rules have them.
    var paths: CandidatePaths {
        if let knownPaths { return knownPaths }
        let paths = pathsMadeLast.paths(of: snapshot, configuration.policy)
        knownPaths = paths
        return paths
    }
    private var knownPaths: CandidatePaths?
    private let pathsMadeLast: LatestCandidatePaths
    private let history: ConnectionHistory
    private let routes: RouteLookup
    /// By the path that asked; under nil what holds for all.
    var addresses = ShortDictionary<Scope, [IPAddress]>()
    /// Translation prefixes, by the path that has one.
    var translations = ShortDictionary<Scope, NAT64Prefix>()

    init(
        port: UInt16, configuration: ConnectionConfiguration, protocols: [TransportProtocol],
        snapshot: PathSnapshot, monitor: PathMonitor, history: ConnectionHistory
    ) {
        self.port = port
        self.configuration = configuration
        self.protocols = protocols
        self.snapshot = snapshot
        pathsMadeLast = monitor.candidatePaths
        self.history = history
        routes = monitor.runtime.routes
    }

    /// The paths that the caller's rules allow. One whose name servers are not known gets the system's.
    var allowedPaths: [PathInterface] {
        configuration.policy.allowed(in: snapshot).map { path in
            var path = path
            if path.nameServers.isEmpty { path.nameServers = snapshot.nameServers }
            return path
        }
    }

    var hasAllowedPath: Bool { paths.hasAllowedPath }

    /// The paths that ask for a name where each path asks for itself: every allowed one, and what is no path to the
    /// Internet but has name servers of its own, such as an office's VPN. What those answer leads there or
    /// nowhere: an address of the Internet is used only over the path that found it, and over them there is none.
    var askingPaths: [PathInterface] {
        let others = snapshot.excluded.filter {
            $0.reason == .noDefaultRoute && !$0.interface.nameServers.isEmpty
                && configuration.policy.refusal(of: $0.interface) == nil
        }
        return allowedPaths + others.map(\.interface)
    }

    /// Whether the system may be asked for a name: not where the caller's rules refuse every path there is, for
    /// its lookups would go over one of them.
    func mayAskTheSystem(for host: String) -> Bool {
        if snapshot.interfaces.isEmpty || hasAllowedPath { return true }
        let onLink = snapshot.excluded.contains {
            $0.reason == .noDefaultRoute && configuration.policy.refusal(of: $0.interface) == nil
        }
        return onLink || host == "localhost" || host.hasSuffix(".localhost")
    }

    /// Whether the destination has IPv6 addresses too, and some path speaks nothing but IPv6: a connection by IPv4
    /// could be joined over it.
    var mayNeedBothFamilies: Bool {
        addresses.contains { $0.value.contains { $0.family == .ipv6 } }
            && paths.hasAllowedPathOfOnlyIPv6
    }

    /// Every address found so far, in the order of the paths that found them.
    var found: [IPAddress] {
        guard hasOwnAnswers else { return (addresses[.none] ?? []).unique }
        let order: [Scope] = [nil] + (snapshot.interfaces + snapshot.excluded.map(\.interface)).map(\.index)
        return order.flatMap { addresses[$0] ?? [] }.unique
    }

    /// Whether any path has been told something that does not hold for the others.
    private var hasOwnAnswers: Bool {
        !translations.isEmpty || addresses.contains { $0.key != nil }
    }

    /// Whether a path could reach an IPv4 destination by translation, if its network translates: it has IPv6
    /// only, and nothing but IPv4 addresses are known for it.
    func needsTranslation(_ path: PathInterface) -> Bool {
        guard path.supportsIPv6, !path.supportsIPv4 else { return false }
        let known = (addresses[path.index] ?? []) + (addresses[.none] ?? [])
        return !known.isEmpty && known.allSatisfy { $0.family == .ipv4 }
    }

    /// What can be attempted now.
    ///
    /// - Parameter awaiting: the paths whose own name servers are still being asked.
    func candidates(awaiting: Set<InterfaceIndex>, at now: MonotonicTime) -> CandidateList {
        let standing: (PathHistory.Network, IPAddress) -> AddressHistory.Standing = { [history, port] in
            history.standing($0, IPEndpoint($1, port: port), at: now)
        }
        guard hasOwnAnswers else {
            return CandidateList(
                paths, addresses: addresses[.none] ?? [], port: port, protocols: protocols,
                standing: standing, route: routes.route)
        }
        var places: [IPAddress: Set<InterfaceIndex>] = [:]
        let everywhere = Set(addresses[.none] ?? [])
        var all = found
        for (scope, list) in addresses {
            guard let scope else { continue }
            for address in list { places[address, default: []].insert(scope) }
        }
        for path in snapshot.interfaces where needsTranslation(path) {
            guard let prefix = translations[path.index] else { continue }
            for address in (addresses[path.index] ?? []) + (addresses[.none] ?? []) {
                guard let translated = prefix.synthesized(address) else { continue }
                places[translated, default: []].insert(path.index)
                if !all.contains(translated) { all.append(translated) }
            }
        }
        return CandidateList(
            paths, addresses: all, port: port, protocols: protocols, awaiting: awaiting,
            isUsable: { everywhere.contains($0) || places[$0]?.contains($1) == true },
            standing: standing, route: routes.route)
    }
}
