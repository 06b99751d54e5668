/// An interface that takes no part in a race or in a connection, and why.
public struct PathOmission: Sendable, Hashable, Codable, CustomStringConvertible {
    /// The interface's name.
    public var interface: String
    /// The reason, in words.
    public var reason: String
    /// The refusal by the caller's own policy; nil where the path itself is unfit.
    public var refusal: PathPolicy.Refusal?

    /// An omission with its reason.
    public init(interface: String, reason: String, refusal: PathPolicy.Refusal? = nil) {
        self.interface = interface
        self.reason = reason
        self.refusal = refusal
    }

    /// `wwan0: expensive`
    public var description: String { "\(interface): \(reason)" }
}

extension PathPolicy {
    /// Why none of the interfaces carries a connection that has lost its last path.
    package func omissions(in snapshot: PathSnapshot) -> [PathOmission] {
        snapshot.interfaces.map { path in
            let refusal = refusal(of: path)
            return PathOmission(
                interface: path.name, reason: refusal?.description ?? "carries nothing now", refusal: refusal)
        }
            + snapshot.excluded.map {
                PathOmission(interface: $0.interface.name, reason: $0.reason.description)
            }
    }
}
