// HTTPS records (RFC 9460): what a service is reached by, told beside the addresses of its name.
//
// Read is what a connection by TCP can use. A parameter that is not known is skipped; where the record says that it is
// mandatory, the record is not used (section 8). A malformed record makes the whole answer unusable (section 2.2).

/// One HTTPS record of a name (RFC 9460).
public struct ServiceRecord: Sendable, Hashable {
    /// 0 for an alias; otherwise the lower one is preferred (section 2.4.1).
    public var priority: UInt16
    /// The name that serves; `.` is the name itself (section 2.5).
    public var target: String
    /// The protocols that are spoken there, as ALPN names them (RFC 7301); the default's, `http/1.1`, is among them unless the
    /// record leaves it out (section 7.1.1).
    public var applicationProtocols: [String]
    /// Another port than the one that was asked about (section 7.2).
    public var port: UInt16?
    /// Addresses of the target, until its own records are there (section 7.3).
    public var addressHints: [IPAddress]
    /// Whether a mandatory parameter is not understood here; such a record is ignored (RFC 9460 section 8).
    public var isIncompatible: Bool

    /// A record of these parts.
    public init(
        priority: UInt16 = 1, target: String = ".", applicationProtocols: [String] = ["http/1.1"],
        port: UInt16? = nil, addressHints: [IPAddress] = [], isIncompatible: Bool = false
    ) {
        self.priority = priority
        self.target = target
        self.applicationProtocols = applicationProtocols
        self.port = port
        self.addressHints = addressHints
        self.isIncompatible = isIncompatible
    }

    /// Whether it only says under which other name the records are (section 2.4.2).
    public var isAlias: Bool { priority == 0 }

    /// Whether a connection to the name itself, on the port that was asked about, may use the record: it is no alias, leads to
    /// no other name or port, asks for nothing unknown, and one of the protocols is spoken there.
    ///
    /// - Parameters:
    ///   - protocols: what the caller offers by ALPN.
    ///   - port: where the caller would connect without the record.
    public func isUsable(speaking protocols: [String], port: UInt16) -> Bool {
        !isAlias && !isIncompatible && target == "." && (self.port ?? port) == port
            && applicationProtocols.contains(where: protocols.contains)
    }
}

extension ServiceRecord: Codable {
    private enum CodingKeys: String, CodingKey {
        case priority, target, port
        case applicationProtocols = "alpn"
        case addressHints = "address_hints"
        case isIncompatible = "not_understood"
    }
}

extension ServiceRecord {
    /// The parameters' numbers (section 14.3.2).
    private enum Key {
        static let mandatory: UInt16 = 0
        static let alpn: UInt16 = 1
        static let noDefaultALPN: UInt16 = 2
        static let port: UInt16 = 3
        static let ipv4Hint: UInt16 = 4
        static let ech: UInt16 = 5
        static let ipv6Hint: UInt16 = 6

        /// ECH is known not to be needed where it is not done; where it is mandatory the record is not used.
        static let understood: Set<UInt16> = [alpn, noDefaultALPN, port, ipv4Hint, ipv6Hint]
    }

    /// At most so many addresses are taken out of one record.
    package static let mostHints = 16
    /// And so many protocols.
    private static let mostProtocols = 16

    /// Reads a record's parameters (section 2.2).
    ///
    /// - Parameters:
    ///   - bytes: what follows the target's name, to the record's end.
    /// - Returns: nil for what is malformed.
    package init?(priority: UInt16, target: String, parameters bytes: some Collection<UInt8>) {
        self.init(priority: priority, target: target, applicationProtocols: [])
        var reader = ByteReader(bytes)
        var lastKey: UInt16?
        var mandatory: Set<UInt16> = []
        var hasProtocols = false
        var hasDefault = true
        while !reader.isAtEnd {
            guard let key = reader.word(), let length = reader.word(), let value = reader.bytes(Int(length)),
                // Each once, in ascending order.
                lastKey.map({ key > $0 }) ?? true
            else { return nil }
            lastKey = key
            switch key {
            case Key.mandatory:
                guard let keys = Self.words(value), !keys.isEmpty, !keys.contains(Key.mandatory) else {
                    return nil
                }
                mandatory = Set(keys)
            case Key.alpn:
                guard let names = Self.protocols(value), !names.isEmpty else { return nil }
                applicationProtocols = names
                hasProtocols = true
            case Key.noDefaultALPN:
                guard value.isEmpty else { return nil }
                hasDefault = false
            case Key.port:
                guard let words = Self.words(value), words.count == 1 else { return nil }
                port = words[0]
            case Key.ipv4Hint:
                guard let addresses = Self.addresses(value, size: 4) else { return nil }
                addressHints += addresses
            case Key.ipv6Hint:
                guard let addresses = Self.addresses(value, size: 16) else { return nil }
                addressHints += addresses
            default: break
            }
        }
        // Section 7.1.1: without alpn there is nothing that the default could be left out of.
        guard hasDefault || hasProtocols else { return nil }
        if hasDefault, !applicationProtocols.contains("http/1.1") { applicationProtocols.append("http/1.1") }
        isIncompatible = !mandatory.isSubset(of: Key.understood)
    }

    private static func words(_ bytes: [UInt8]) -> [UInt16]? {
        var reader = ByteReader(bytes)
        var words: [UInt16] = []
        while !reader.isAtEnd {
            guard let word = reader.word() else { return nil }
            words.append(word)
        }
        return words
    }

    /// Names, each behind its length.
    private static func protocols(_ bytes: [UInt8]) -> [String]? {
        var reader = ByteReader(bytes)
        var names: [String] = []
        while !reader.isAtEnd {
            guard let length = reader.byte(), length > 0, let name = reader.bytes(Int(length)) else {
                return nil
            }
            guard names.count < mostProtocols else { continue }
            // What is no text is no protocol that any program here offers.
            if let text = String(validating: name, as: UTF8.self) { names.append(text) }
        }
        // All of them may have been such.
        return names.isEmpty && !bytes.isEmpty ? ["?"] : names
    }

    private static func addresses(_ bytes: [UInt8], size: Int) -> [IPAddress]? {
        guard !bytes.isEmpty, bytes.count.isMultiple(of: size) else { return nil }
        return stride(from: 0, to: min(bytes.count, size * mostHints / 2), by: size).compactMap {
            IPAddress(networkBytes: bytes[$0..<$0 + size])
        }
    }
}

/// Reads numbers in network order, one after the other.
package struct ByteReader {
    private var rest: ArraySlice<UInt8>

    package init(_ bytes: some Collection<UInt8>) { rest = Array(bytes)[...] }

    package var isAtEnd: Bool { rest.isEmpty }

    package mutating func byte() -> UInt8? { rest.popFirst() }

    package mutating func word() -> UInt16? {
        guard let bytes = bytes(2) else { return nil }
        return UInt16(bytes[0]) << 8 | UInt16(bytes[1])
    }

    package mutating func long() -> UInt32? {
        guard let high = word(), let low = word() else { return nil }
        return UInt32(high) << 16 | UInt32(low)
    }

    /// - Returns: nil where there are fewer; then nothing is taken.
    package mutating func bytes(_ count: Int) -> [UInt8]? {
        guard count <= rest.count else { return nil }
        let bytes = Array(rest.prefix(count))
        rest = rest.dropFirst(count)
        return bytes
    }
}
