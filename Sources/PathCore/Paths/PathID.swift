/// Names a path of a connection, by the interface that it leads over.
///
/// The interface's name decides, and not the kernel's index: an interface that is unplugged and plugged in again has another
/// index, and is the same path. At an accepting end the peer's address names the path, and so does a local address that no
/// interface has any more.
public struct PathID: Sendable, Hashable {
    /// The interface's name, for people and for settings such as `PathPolicy.requiredInterface`.
    public let name: String

    /// The path of this name.
    public init(_ name: String) { self.name = name }

    /// The path that an address names.
    package init(_ address: IPAddress) { self.init(address.description) }
}

extension PathID: Comparable {
    public static func < (left: PathID, right: PathID) -> Bool { left.name < right.name }
}

extension PathID: ExpressibleByStringLiteral {
    public init(stringLiteral name: String) { self.init(name) }
}

extension PathID: CustomStringConvertible {
    public var description: String { name }
}

/// One string.
extension PathID: Codable {
    public init(from decoder: any Decoder) throws {
        name = try decoder.singleValueContainer().decode(String.self)
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(name)
    }
}
