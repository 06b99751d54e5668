import LinuxNet

/// Finds the addresses of names. The system's resolver unless a `Connector` is given another.
///
/// The two families are asked for separately and at the same time, so that a race can start with the one that
/// is answered first (RFC 8305 section 3).
public protocol Resolver: Sendable {
    /// Whether each path asks for itself: then an address found over one is used over that one only, because
    /// networks answer differently (RFC 9623 section 4.1).
    var asksEachPath: Bool { get }

    /// The addresses of one family, in the order of the answer; none is an answer too.
    ///
    /// - Parameters:
    ///   - host: the name.
    ///   - family: IPv4 or IPv6.
    ///   - path: the path to ask over; nil where `asksEachPath` is false.
    /// - Throws: `ResolutionError`. A cancelled task must be answered promptly.
    func addresses(
        of host: String, family: IPAddress.Family, over path: PathInterface?
    ) async throws(ResolutionError) -> [IPAddress]

    /// The same with what the answer says of itself. A resolver that knows its answers' times to live implements this one
    /// too; otherwise none is told.
    func answer(
        for host: String, family: IPAddress.Family, over path: PathInterface?
    ) async throws(ResolutionError) -> AddressAnswer

    /// The HTTPS records of a host (RFC 9460), the preferred one first. A resolver that does not ask for them has none.
    ///
    /// - Parameters:
    ///   - host: the name.
    ///   - port: the port to be connected to; for another one than 443 the question is about `_PORT._https.HOST`
    ///     (section 9.1).
    ///   - path: the path to ask over; nil where `asksEachPath` is false.
    /// - Throws: `ResolutionError`. A cancelled task must be answered promptly.
    func serviceRecords(
        of host: String, port: UInt16, over path: PathInterface?
    ) async throws(ResolutionError) -> ServiceAnswer

    /// The resolver to ask for a host where what this one answers leads nowhere, or to another host than the one that was
    /// meant; nil for none. A race asks it when an address is refuted (with TLS: its host lacks the name's certificate), or
    /// when nothing else is left to try.
    func fallback(for host: String) -> (any Resolver)?

    /// What reports call it.
    var name: String { get }
}

extension Resolver {
    /// The addresses, without a time to live.
    public func answer(
        for host: String, family: IPAddress.Family, over path: PathInterface?
    ) async throws(ResolutionError) -> AddressAnswer {
        AddressAnswer(try await addresses(of: host, family: family, over: path), resolver: name)
    }

    /// None.
    public func serviceRecords(
        of host: String, port: UInt16, over path: PathInterface?
    ) async throws(ResolutionError) -> ServiceAnswer { ServiceAnswer([]) }

    /// None.
    public func fallback(for host: String) -> (any Resolver)? { nil }

    /// The type's name.
    public var name: String { "\(Self.self)" }
}

/// The system's resolver: getaddrinfo, with all that nsswitch.conf puts behind it.
///
/// Its questions go where the system's routes lead, not over the paths of the connection they are for: what a
/// `PathPolicy` prohibits is kept from the connection, not from the system's DNS. `InterfaceResolver` of
/// MultipathDNS asks over allowed paths only. Where no path is allowed, neither is asked.
public struct SystemResolver: Resolver, Hashable {
    /// The system's resolver.
    public init() {}

    public var asksEachPath: Bool { false }

    public func addresses(
        of host: String, family: IPAddress.Family, over path: PathInterface?
    ) async throws(ResolutionError) -> [IPAddress] {
        try await NameLookup.addresses(of: host, family)
    }
}

/// Answers some names from a table, and asks another resolver for the rest: to connect to a known address
/// while TLS still checks the name.
public struct StaticResolver: Resolver {
    private let table: [String: [IPAddress]]
    private let other: any Resolver

    /// - Parameters:
    ///   - table: addresses by name; upper and lower case are the same.
    ///   - other: asked for the names that the table lacks.
    public init(_ table: [String: [IPAddress]], otherwise other: any Resolver = SystemResolver()) {
        self.table = Dictionary(table.map { ($0.key.lowercased(), $0.value) }) { $0 + $1 }
        self.other = other
    }

    public var asksEachPath: Bool { other.asksEachPath }

    public func addresses(
        of host: String, family: IPAddress.Family, over path: PathInterface?
    ) async throws(ResolutionError) -> [IPAddress] {
        guard let known = table[host.lowercased()] else {
            return try await other.addresses(of: host, family: family, over: path)
        }
        return known.filter { $0.family == family }
    }

    public func answer(
        for host: String, family: IPAddress.Family, over path: PathInterface?
    ) async throws(ResolutionError) -> AddressAnswer {
        guard let known = table[host.lowercased()] else {
            return try await other.answer(for: host, family: family, over: path)
        }
        return AddressAnswer(known.filter { $0.family == family }, resolver: name)
    }

    public func serviceRecords(
        of host: String, port: UInt16, over path: PathInterface?
    ) async throws(ResolutionError) -> ServiceAnswer {
        // What the table says is the whole truth about its names.
        guard table[host.lowercased()] == nil else { return ServiceAnswer([]) }
        return try await other.serviceRecords(of: host, port: port, over: path)
    }

    /// The other resolver's; none for a name of the table.
    public func fallback(for host: String) -> (any Resolver)? {
        table[host.lowercased()] == nil ? other.fallback(for: host) : nil
    }
}
