import CommandSupport
import Multipath
public import NIOCore
import NIOSSL

/// TLS as a command's arguments want it.
public struct ClientTLS: Sendable {
    private let context: NIOSSLContext
    /// The name that the certificate has to carry, and that the server is told (SNI); nil for an address, which
    /// the certificate carries as such.
    private let name: String?
    private let isVerified: Bool

    /// - Parameters:
    ///   - host: the name or the address that the certificate is to be for.
    ///   - protocols: what is offered by ALPN, the best first.
    ///   - authorities: a file (PEM) of those that are trusted; nil for the system's.
    ///   - isVerified: whether the certificate has to be one for the host.
    /// - Throws: `MessageError` where the authorities' file is not usable, or the host's name not one for TLS.
    public init(host: String, protocols: [String], authorities: String?, isVerified: Bool) throws {
        var configuration = TLSConfiguration.makeClientConfiguration()
        configuration.applicationProtocols = protocols
        // RFC 8996: TLS 1.0 and 1.1 must not be used.
        configuration.minimumTLSVersion = .tlsv12
        if let authorities { configuration.trustRoots = .file(authorities) }
        if !isVerified { configuration.certificateVerification = .none }
        do {
            context = try NIOSSLContext(configuration: configuration)
        } catch {
            throw MessageError(
                "can't use the certificates in \(authorities ?? "the system's store"): \(error)")
        }
        self.isVerified = isVerified
        // A name's final dot says that it is complete; certificates leave it out (RFC 6066 section 3).
        name = IPAddress(host) == nil ? (host.hasSuffix(".") ? String(host.dropLast()) : host) : nil
        do {
            _ = try NIOSSLClientHandler(context: context, serverHostname: name)
        } catch {
            throw MessageError("'\(host)' is no name that TLS can ask for: \(error)")
        }
    }

    /// The handlers of one connection: TLS, and behind it the guard that looks at the certificate.
    public func handlers() -> [any ChannelHandler] {
        // It has been made before with the same arguments.
        guard let handler = try? NIOSSLClientHandler(context: context, serverHostname: name) else {
            preconditionFailure("no TLS handler")
        }
        return [handler, CertificateGuard(name: isVerified ? name : nil)]
    }
}
