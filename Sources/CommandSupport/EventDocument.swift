import LinuxNet
import PathCore

/// A key of a JSON object, whatever it is called.
public struct AnyKey: CodingKey {
    public let stringValue: String
    public var intValue: Int? { nil }
    public init(_ name: String) { stringValue = name }
    public init?(stringValue: String) { self.stringValue = stringValue }
    public init?(intValue: Int) { nil }
}

extension KeyedEncodingContainer<AnyKey> {
    /// What every object of a command's `--json` begins with: the event's name, and its time in seconds (CLOCK_MONOTONIC).
    public mutating func begin(_ event: String) throws {
        try encode(event, forKey: AnyKey("event"))
        try encode(MonotonicTime.now.seconds, forKey: AnyKey("time"))
    }
}

/// An event whose values are words, as JSON.
public struct EventDocument: Encodable, Sendable {
    private let name: String
    private let fields: [String: String]

    public init(name: String, fields: [String: String]) { (self.name, self.fields) = (name, fields) }

    public func encode(to encoder: any Encoder) throws {
        var object = encoder.container(keyedBy: AnyKey.self)
        try object.begin(name)
        for (key, value) in fields { try object.encode(value, forKey: AnyKey(key)) }
    }
}
