// Addresses are coded as text, the way people read them: "192.0.2.1", "[2001:db8::1]:443".

extension IPAddress: Codable {
    public init(from decoder: any Decoder) throws {
        self = try decoder.lossless()
    }

    public func encode(to encoder: any Encoder) throws {
        var value = encoder.singleValueContainer()
        try value.encode(description)
    }
}

extension IPEndpoint: Codable, LosslessStringConvertible {
    /// Reads `192.0.2.1:443` or `[2001:db8::1]:443`. Port 0 stands for none.
    public init?(_ text: String) {
        guard let colon = text.lastIndex(of: ":") else { return nil }
        let digits = text[text.index(after: colon)...]
        var host = text[..<colon]
        let isBracketed = host.hasPrefix("[") && host.hasSuffix("]")
        if isBracketed { host = host.dropFirst().dropLast() }
        guard digits.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let port = UInt16(digits),
            let address = IPAddress(String(host)), isBracketed == (address.family == .ipv6)
        else { return nil }
        self.init(address, port: port)
    }

    public var description: String {
        address.family == .ipv4 ? "\(address):\(port)" : "[\(address)]:\(port)"
    }

    public init(from decoder: any Decoder) throws {
        self = try decoder.lossless()
    }

    public func encode(to encoder: any Encoder) throws {
        var value = encoder.singleValueContainer()
        try value.encode(description)
    }
}

extension Decoder {
    fileprivate func lossless<Value: LosslessStringConvertible>() throws -> Value {
        let container = try singleValueContainer()
        let text = try container.decode(String.self)
        guard let value = Value(text) else {
            throw DecodingError.dataCorruptedError(
                in: container, debugDescription: "'\(text)' is no \(Value.self)")
        }
        return value
    }
}
