/// Asks one resolver after the other, each where the one before it has no answer, or a wrong one.
///
/// ```swift
/// let names = ResolverChain([InterfaceResolver(), SystemResolver()])
/// ```
///
/// The next one is asked where one fails; and by a race where no address is found or leads anywhere, and where a connection
/// shows that an answer is wrong.
/// A server that lies about a name (a captive portal's, a censor's, a provider's search page) shows itself as a host without the
/// name's certificate. A race until TLS is up (`MultipathBootstrap.raceUntil(.tlsHandshakeCompleted)`) then goes on to the
/// next address and asks the next resolver, and the report names the wrong answer
/// (`EstablishmentReport.refutedAnswers`). Without TLS nothing tells a lie from the truth.
public struct ResolverChain: Resolver {
    private let first: any Resolver
    private let others: [any Resolver]

    /// - Parameter resolvers: in the order in which they are asked; the system's alone where there is none.
    public init(_ resolvers: [any Resolver]) {
        first = resolvers.first ?? SystemResolver()
        others = Array(resolvers.dropFirst())
    }

    /// The first one's.
    public var asksEachPath: Bool { first.asksEachPath }

    /// The first one's.
    public var name: String { first.name }

    /// The rest of the chain, behind what the first one has for the host.
    public func fallback(for host: String) -> (any Resolver)? {
        let rest = [first.fallback(for: host)].compactMap { $0 } + others
        if rest.count > 1 { return ResolverChain(rest) }
        return rest.first
    }

    public func addresses(
        of host: String, family: IPAddress.Family, over path: PathInterface?
    ) async throws(ResolutionError) -> [IPAddress] {
        try await answer(for: host, family: family, over: path).addresses
    }

    /// The first answer; where all fail, the first one's words.
    public func answer(
        for host: String, family: IPAddress.Family, over path: PathInterface?
    ) async throws(ResolutionError) -> AddressAnswer {
        let failure: ResolutionError
        do throws(ResolutionError) {
            return try await first.answer(for: host, family: family, over: path)
        } catch {
            failure = error
        }
        for other in others where path != nil || !other.asksEachPath {
            // The question is not wanted any more; that the first one was given up is no failure of it.
            if Task.isCancelled { break }
            if let found = try? await other.answer(for: host, family: family, over: path) { return found }
        }
        throw failure
    }

    /// The first answer that has any.
    public func serviceRecords(
        of host: String, port: UInt16, over path: PathInterface?
    ) async throws(ResolutionError) -> ServiceAnswer {
        for resolver in [first] + others where path != nil || !resolver.asksEachPath {
            if Task.isCancelled { throw ResolutionError("cancelled") }
            guard var found = try? await resolver.serviceRecords(of: host, port: port, over: path),
                !found.records.isEmpty
            else { continue }
            found.resolver = found.resolver ?? resolver.name
            return found
        }
        return ServiceAnswer([])
    }
}
