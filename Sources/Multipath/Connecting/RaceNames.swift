import LinuxNet

/// What a race knows of its host's name: which resolver is asked, and what all of them said. It lives on the event thread.
final class RaceNames {
    private let host: String
    /// The one that is asked now; nil for the system's.
    private(set) var resolver: (any Resolver)?
    /// The one that is asked next, where what is known leads nowhere. Looked for when it is needed: a cache finds out only
    /// when it is asked that it has a stale answer.
    private var next: (any Resolver)? { resolver?.fallback(for: host) }
    /// What those said that were asked before, by the path that asked, and on which network.
    private var earlier = ShortDictionary<
        RacePlanner.Scope, (addresses: [IPAddress], network: AnswerNetwork?)
    >()
    /// Which resolver gave an address first.
    private var sources: [IPAddress: String] = [:]
    /// The host's HTTPS records, those of the preferred path first.
    private(set) var records: [ServiceRecord] = []
    /// The addresses at which another host answers.
    private(set) var refuted: [RefutedAnswer] = []

    init(_ host: String, _ resolver: (any Resolver)?) {
        self.host = host
        self.resolver = resolver
    }

    /// How many resolvers were asked before this one.
    private(set) var level = 0

    /// Whether there is a resolver that has not been asked.
    var hasNext: Bool { next != nil }

    /// Goes on to the next resolver.
    ///
    /// - Parameter known: what was found so far, by the path that asked, and on which network.
    func advance(
        after known: ShortDictionary<RacePlanner.Scope, [IPAddress]>,
        _ network: (RacePlanner.Scope) -> AnswerNetwork?
    ) {
        guard let next else { return }
        for (scope, addresses) in known {
            earlier[scope] = (addresses, network(scope) ?? earlier[scope]?.network)
        }
        level += 1
        resolver = next
    }

    /// The addresses that a path has found, with those of the resolvers before.
    func addresses(_ answered: [IPAddress], of scope: RacePlanner.Scope) -> [IPAddress] {
        guard let before = earlier[scope]?.addresses else { return answered }
        return before + answered.filter { !before.contains($0) }
    }

    func note(_ answer: AddressAnswer) {
        for address in answer.addresses where sources[address.asDestination] == nil {
            sources[address.asDestination] = answer.resolver
        }
    }

    /// - Parameter resolver: the one that was asked.
    func note(_ found: ServiceAnswer, from resolver: String) {
        records += found.records.filter { !records.contains($0) }
        for hint in found.records.flatMap(\.addressHints).map(\.asDestination) where sources[hint] == nil {
            sources[hint] = found.resolver ?? resolver
        }
    }

    func refute(_ candidate: Candidate, _ reason: String) {
        refuted.append(
            RefutedAnswer(
                address: candidate.endpoint.address, path: candidate.path,
                resolver: sources[candidate.endpoint.address] ?? SystemResolver().name, reason: reason))
    }

    /// The answers that were wrong: at the winner's own address it was the path that led elsewhere.
    func refuted(by winner: IPAddress) -> [RefutedAnswer] {
        refuted.filter { $0.address != winner }
    }

    /// The paths on whose networks something was found before.
    var earlierScopes: [(scope: RacePlanner.Scope, network: AnswerNetwork?)] {
        earlier.map { ($0.key, $0.value.network) }
    }

    func forget(_ scope: RacePlanner.Scope) { earlier[scope] = nil }
}
