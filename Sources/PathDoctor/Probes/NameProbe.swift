import Multipath
import MultipathDNS

/// Asks name servers for the host.
struct NameProbe: Sendable {
    let host: String
    /// A server is asked twice, the second time for longer.
    static let timeout = Duration.milliseconds(1000)
    /// At most so many servers of a path are asked.
    static let mostServers = 3

    /// What the system's resolver says.
    func system() async -> NameFinding { await ask(SystemResolver(), over: nil, server: nil) }

    /// What each of a path's servers says, asked over the path.
    ///
    /// - Parameter shared: the system's servers, where the path has none of its own.
    func servers(of path: PathInterface, shared: [IPAddress]) async -> [NameFinding] {
        let servers = path.nameServers.isEmpty ? shared : path.nameServers
        // A server on this machine can't be asked over a path.
        let asked = servers.filter { !$0.isLoopback }.unique.prefix(Self.mostServers)
        return await withTaskGroup(of: (Int, NameFinding).self) { group in
            for (place, server) in asked.enumerated() {
                var path = path
                path.nameServers = [server]
                let asking = path
                group.addTask {
                    (place, await ask(InterfaceResolver(timeout: Self.timeout), over: asking, server: server))
                }
            }
            return await group.reduce(into: []) { $0.append($1) }.sorted { $0.0 < $1.0 }.map(\.1)
        }
    }

    private func ask(
        _ resolver: some Resolver, over path: PathInterface?, server: IPAddress?
    ) async -> NameFinding {
        let begun = ContinuousClock.now
        async let six = answer(resolver, .ipv6, path)
        async let four = answer(resolver, .ipv4, path)
        let answers = await [six, four]
        let duration = ContinuousClock.now - begun
        let addresses = answers.flatMap { (try? $0.get()) ?? [] }.map(\.asDestination).unique
        if !addresses.isEmpty {
            return NameFinding(server: server, duration: duration, answer: .addresses(addresses))
        }
        for answer in answers {
            guard case .failure(let error) = answer else { continue }
            return NameFinding(
                server: server, duration: duration,
                answer: error.isNoSuchName ? .noSuchName : .failed(error.reason))
        }
        return NameFinding(server: server, duration: duration, answer: .addresses([]))
    }

    private func answer(
        _ resolver: some Resolver, _ family: IPAddress.Family, _ path: PathInterface?
    ) async -> Result<[IPAddress], ResolutionError> {
        do throws(ResolutionError) {
            return .success(try await resolver.addresses(of: host, family: family, over: path))
        } catch {
            return .failure(error)
        }
    }
}
