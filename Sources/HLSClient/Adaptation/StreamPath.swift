public import Multipath

/// The path that carries a stream, and what the system says of it.
public struct StreamPath: Sendable, Hashable {
    /// Names the path.
    public var id: PathID
    /// Whether it costs money.
    public var isExpensive: Bool
    /// Whether data is to be saved on it (Low Data Mode).
    public var isConstrained: Bool

    /// A path.
    public init(_ id: PathID, isExpensive: Bool = false, isConstrained: Bool = false) {
        self.id = id
        self.isExpensive = isExpensive
        self.isConstrained = isConstrained
    }

    /// `constrained`, `expensive`, `unrestricted`: the tag that says most of what may be used.
    public var tag: String { isConstrained ? "constrained" : isExpensive ? "expensive" : "unrestricted" }
}
