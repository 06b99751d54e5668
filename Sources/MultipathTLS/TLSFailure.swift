public import Multipath

/// What TLS says went wrong, for which the certificate is not to blame.
public struct TLSFailure: Error, Sendable, Hashable, CustomStringConvertible {
    /// BoringSSL's name of the error, or what the peer did.
    public var words: String
    /// Whether the peer closed without TLS's farewell (close_notify, RFC 8446 section 6.1), so that bytes may be missing.
    public var isTruncation = false

    /// A failure in words.
    public init(words: String) { self.words = words }

    public var description: String { "TLS: \(words)" }
}

/// The certificate is not one for the host: another host is there, and a race goes on to the next address.
public struct CertificateFailure: PeerRefutation, Sendable, Hashable, CustomStringConvertible {
    /// Why it is none. More reasons may come.
    public enum Code: String, Sendable, Hashable {
        /// Its issuer, its dates or its chain are not trusted.
        case untrusted
        /// It is one for other names (RFC 9525 section 6).
        case wrongName = "wrong_name"
        /// Its public key is none of those that are pinned.
        case keyNotPinned = "key_not_pinned"
    }

    /// Why it is none.
    public var code: Code
    /// The same in words.
    public var reason: String
    /// The DNS names that it is for.
    public var names: [String]

    /// A failure with its reason.
    public init(_ code: Code, reason: String, names: [String]) {
        self.code = code
        self.reason = reason
        self.names = names
    }

    public var description: String { "TLS: \(reason)" }
}
