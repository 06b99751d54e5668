/// A destination as a person writes it: `example.org:443`, `192.0.2.1:80`, `[2001:db8::1]:80`.
public struct HostPort: Sendable, Hashable, CustomStringConvertible {
    /// A name, or an address without brackets.
    public var host: String
    /// 1 to 65535; 0 lets the kernel choose, where a program listens.
    public var port: UInt16

    /// A destination of these parts, as they are.
    public init(host: String, port: UInt16) {
        self.host = host
        self.port = port
    }

    /// What is wrong with a text, and what to write instead.
    public struct Malformed: Error, Hashable, CustomStringConvertible {
        public let description: String
    }

    /// Reads `HOST:PORT`. An IPv6 address stands in brackets (RFC 3986 section 3.2.2), because without them
    /// its last group and a port can't be told apart.
    ///
    /// - Parameters:
    ///   - text: what to read.
    ///   - forListening: whether `:PORT` and `PORT` are meant too (every address), and port 0 (any port).
    public init(parsing text: String, forListening: Bool = false) throws(Malformed) {
        let host: Substring
        let portText: Substring
        // First of all: the colon of a scheme would be taken for one of an IPv6 address or of a port.
        guard !text.contains("/") else { throw Self.noName(text[...]) }
        if text.hasPrefix("[") {
            guard let close = text.firstIndex(of: "]") else {
                throw Malformed(description: "'\(text)' opens a bracket that nothing closes")
            }
            host = text[text.index(after: text.startIndex)..<close]
            let rest = text[text.index(after: close)...]
            guard rest.hasPrefix(":") else {
                throw Malformed(description: "'\(text)' has no port; write it as [\(host)]:PORT")
            }
            guard host.contains(":") else {
                throw Malformed(description: "'\(host)' is no IPv6 address; brackets are only for those")
            }
            portText = rest.dropFirst()
        } else if let colon = text.lastIndex(of: ":") {
            host = text[..<colon]
            portText = text[text.index(after: colon)...]
            guard !host.contains(":") else {
                throw Malformed(
                    description:
                        "'\(text)' looks like an IPv6 address without a port; write it as [\(text)]:PORT")
            }
        } else if forListening {
            host = ""
            portText = text[...]
        } else {
            throw Malformed(
                description: "'\(text)' has no port; write it as \(text.isEmpty ? "HOST" : text):PORT")
        }
        guard !host.isEmpty || forListening else {
            throw Malformed(description: "'\(text)' has no host; write it as HOST\(text)")
        }
        guard !host.contains(where: { $0.isWhitespace || $0 == "\0" }) else { throw Self.noName(host) }
        try self.init(host: String(host), port: Self.port(portText, in: text, orZero: forListening))
    }

    private static func noName(_ text: Substring) -> Malformed {
        Malformed(description: "'\(text)' is no host name; write HOST:PORT, without a scheme or path")
    }

    private static func port(_ portText: Substring, in text: String, orZero: Bool) throws(Malformed) -> UInt16
    {
        guard !portText.isEmpty, portText.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else {
            throw Malformed(
                description:
                    "'\(portText)' in '\(text)' is no port; write a number from \(orZero ? 0 : 1) to 65535")
        }
        guard let port = UInt16(portText), port != 0 || orZero else {
            throw Malformed(
                description: "port \(portText) is out of range; ports go from \(orZero ? 0 : 1) to 65535")
        }
        return port
    }

    public var description: String {
        host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)"
    }
}
