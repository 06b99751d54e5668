/// An error that says: at this address answers another host than the one that was meant. With TLS, its certificate is for
/// other names, or of an issuer that is not trusted.
///
/// A race whose confirmation throws one tries no other protocol at that address over that path, goes on to the next
/// address, and asks the next resolver (`Resolver.fallback`).
public protocol PeerRefutation: Error {}

extension Error {
    /// Whether it says that another host answers, by its type or, for a TLS library's own, by its words: BoringSSL's and
    /// OpenSSL's for a certificate that is not trusted, swift-nio-ssl's for one of other names.
    var refutesPeer: Bool {
        if self is any PeerRefutation { return true }
        let words = "\(self)"
        return words.contains("CERTIFICATE_VERIFY_FAILED") || words.contains("failedToValidateHostname")
    }
}
