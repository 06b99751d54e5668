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
public struct InterfaceResolver: Resolver {
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
        guard let path else { throw ResolutionError("no path to ask over") }
        let own = path.nameServers.isEmpty ? servers : path.nameServers
        // A server on this machine (127.0.0.53) can't be asked out of another interface than loopback.
        let usable = own.filter { !$0.isLoopback || path.type.value == .loopback }
        guard !usable.isEmpty else { throw ResolutionError("no name server is known for \(path.name)") }
        let query = NameQuery(
            host: host, family: family, servers: usable.map { IPEndpoint($0, port: port) },
            interface: path.index, timeout: timeout)
        return try await query.run().get()
    }
}
