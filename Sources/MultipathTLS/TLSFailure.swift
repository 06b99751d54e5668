/// What TLS found wrong with a server, in words that say what to do about it.
public struct TLSFailure: Error, Sendable, Hashable, CustomStringConvertible {
    /// What went wrong. More codes may come.
    public struct Code: Sendable, Hashable, CustomStringConvertible {
        /// Its name in JSON, such as "wrong_name".
        public let name: String

        public var description: String { name }

        /// The certificate's issuer, its dates or its chain are not trusted.
        public static let untrusted = Code(name: "untrusted")
        /// The certificate is one for other names (RFC 9525 section 6).
        public static let wrongName = Code(name: "wrong_name")
        /// The server's public key is none of those that the caller pinned.
        public static let keyNotPinned = Code(name: "key_not_pinned")
        /// The peer closed without TLS's farewell (close_notify, RFC 8446 section 6.1): bytes may be missing.
        public static let truncated = Code(name: "truncated")
        /// The handshake failed for another reason; `description` has BoringSSL's name of it.
        public static let handshake = Code(name: "handshake")
    }

    /// What went wrong.
    public var code: Code
    /// The same in words.
    public var description: String

    /// A failure in words.
    public init(_ code: Code, _ description: String) {
        self.code = code
        self.description = description
    }
}
