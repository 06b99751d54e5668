/// Why a name has no address: the resolver's words.
public struct ResolutionError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The resolver's words.
    public var reason: String
    /// Whether the servers say that the name does not exist (NXDOMAIN, RFC 8020); false where they did not answer, and
    /// where the resolver does not tell the one from the other.
    public var isNoSuchName: Bool

    /// An error with its reason.
    public init(_ reason: String, isNoSuchName: Bool = false) {
        self.reason = reason
        self.isNoSuchName = isNoSuchName
    }

    public var description: String { reason }
}
