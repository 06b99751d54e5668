public import Multipath

/// Asks each path's own name servers, over that path alone.
///
/// A home network, an office's VPN and a cellular network give different answers to the same name, and what
/// one of them answers may not be reachable over another. With this resolver every path of a race asks for
/// itself, and what it found is used over it alone (RFC 9623 section 4.1). So does an interface that is no path to
/// the Internet but has servers of its own, as an office's VPN has: what it finds there is reached over it.
///
/// ```swift
/// let connector = Connector(resolver: InterfaceResolver())
/// ```
///
/// The servers are those that NetworkManager or systemd-networkd got with the path; where neither knows any,
/// those of resolv.conf that a path can reach, or `servers`. It asks over sockets bound to the interface, with
/// c-ares: retries, truncated answers over TCP, aliases and the search list are that library's.
public struct InterfaceResolver: Resolver, Hashable {
    private let servers: [IPAddress]
    private let timeout: Duration
    private let port: UInt16

    /// - Parameters:
    ///   - servers: asked where a path has no servers of its own.
    ///   - timeout: how long one server is waited for at first; it is asked twice, the second time for longer.
    public init(servers: [IPAddress] = [], timeout: Duration = .seconds(2)) {
        self.init(servers: servers, timeout: timeout, port: 53)
    }

    /// - Parameter port: the servers'.
    package init(servers: [IPAddress], timeout: Duration, port: UInt16) {
        self.servers = servers
        self.timeout = timeout
        self.port = port
    }

    /// True: what a path answers is used over it alone.
    public var asksEachPath: Bool { true }

    /// The addresses of one family, from the path's own name servers, in the order of the answer.
    ///
    /// - Throws: `ResolutionError` with c-ares' words; where the path has no name server; where its interface can't be
    ///   bound to.
    public func addresses(
        of host: String, family: IPAddress.Family, over path: PathInterface?
    ) async throws(ResolutionError) -> [IPAddress] {
        try await answer(for: host, family: family, over: path).addresses
    }

    /// The same, with the shortest time to live of the answer's records.
    public func answer(
        for host: String, family: IPAddress.Family, over path: PathInterface?
    ) async throws(ResolutionError) -> AddressAnswer {
        let found = try await ask(.addresses(family), host, path)
        return AddressAnswer(found.addresses, timeToLive: found.timeToLive, resolver: name)
    }

    /// The HTTPS records, from the path's own name servers, the preferred one first. Aliases (CNAME) are followed as far as the
    /// answer has them; an alias record (priority 0) is returned and not followed.
    ///
    /// - Throws: as `addresses(of:family:over:)`; where a record is malformed.
    public func serviceRecords(
        of host: String, port: UInt16, over path: PathInterface?
    ) async throws(ResolutionError) -> ServiceAnswer {
        let found = try await ask(.services, port == 443 ? host : "_\(port)._https.\(host)", path)
        return ServiceAnswer(found.records, timeToLive: found.timeToLive)
    }

    private func ask(
        _ kind: NameQuery.Kind, _ host: String, _ path: PathInterface?
    ) async throws(ResolutionError) -> NameQuery.Found {
        guard let path else { throw ResolutionError("no path to ask over") }
        let own = path.nameServers.isEmpty ? servers : path.nameServers
        // A server on this machine (127.0.0.53) can't be asked out of another interface than loopback.
        let usable = own.filter { !$0.isLoopback || path.type.value == .loopback }
        guard !usable.isEmpty else { throw ResolutionError("no name server is known for \(path.name)") }
        let query = NameQuery(
            host: host, kind, servers: usable.map { IPEndpoint($0, port: port) },
            interface: path.index, timeout: timeout)
        return try await query.run().get()
    }
}
