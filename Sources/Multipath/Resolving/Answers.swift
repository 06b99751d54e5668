/// The addresses of one family that a resolver found, and what the answer says of itself.
public struct AddressAnswer: Sendable, Hashable {
    /// In the order of the answer; none is an answer too.
    public var addresses: [IPAddress]
    /// How long the answer may be kept (RFC 1035 section 3.2.1); nil where the resolver is not told.
    public var timeToLive: Duration?
    /// The resolver that answered, as reports name it.
    public var resolver: String

    /// An answer of these parts.
    public init(_ addresses: [IPAddress], timeToLive: Duration? = nil, resolver: String) {
        self.addresses = addresses
        self.timeToLive = timeToLive
        self.resolver = resolver
    }
}

/// The HTTPS records of a name, and how long they may be kept.
public struct ServiceAnswer: Sendable, Hashable {
    /// The preferred one first; none is an answer too.
    public var records: [ServiceRecord]
    /// How long the answer may be kept; nil where the resolver is not told.
    public var timeToLive: Duration?
    /// The resolver that answered, as reports name it; nil for the one that was asked.
    public var resolver: String?

    /// An answer of these parts.
    public init(_ records: [ServiceRecord], timeToLive: Duration? = nil, resolver: String? = nil) {
        self.records = records
        self.timeToLive = timeToLive
        self.resolver = resolver
    }
}
