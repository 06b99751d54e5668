import CommandSupport
@_exported import MultipathTLS
public import NIOCore
import NIOSSL

/// TLS as a command's arguments want it.
public struct ClientTLS: Sendable {
    private let client: TLSClient

    /// - Parameters:
    ///   - host: the name or the address that the certificate is to be for.
    ///   - protocols: what is offered by ALPN, the best first.
    ///   - authorities: a file (PEM) of those that are trusted; nil for the system's.
    ///   - isVerified: whether the certificate has to be one for the host.
    /// - Throws: `MessageError` where the authorities' file is not usable, or the host's name not one for TLS.
    public init(host: String, protocols: [String], authorities: String?, isVerified: Bool) throws {
        var configuration = TLSConfiguration.makeClientConfiguration()
        configuration.applicationProtocols = protocols
        if let authorities { configuration.trustRoots = .file(authorities) }
        if !isVerified { configuration.certificateVerification = .none }
        do {
            client = try TLSClient(host: host, configuration: configuration)
        } catch let error as InvalidServerName {
            throw MessageError("\(error)")
        } catch {
            throw MessageError(
                "can't use the certificates in \(authorities ?? "the system's store"): \(error)")
        }
    }

    /// The handlers of one connection: TLS, and behind it what looks at the certificate.
    public func handlers() -> [any ChannelHandler] { client.handlers() }
}
