import Multipath
public import MultipathNIO
public import NIOCore
public import NIOSSL

/// TLS towards one host: makes the handlers of each attempt of a race, and checks that the certificate is the host's.
///
/// ```swift
/// let tls = try TLSClient(host: "media.example", configuration: .makeClientConfiguration())
/// let connected = try await tls.apply(to: MultipathBootstrap(group: group))
///     .connect(host: "media.example", port: 443) { … }
/// ```
public struct TLSClient: Sendable {
    private let context: NIOSSLContext
    /// The name that the certificate has to carry, and that the server is told (SNI); nil for an address, which
    /// the certificate carries as such.
    private let name: String?
    private let isVerified: Bool
    private let inspect: (@Sendable (NIOSSLCertificate) throws -> Void)?
    private let inspectChain: (@Sendable ([NIOSSLCertificate]) throws -> Void)?

    /// - Parameters:
    ///   - host: a name, or an address without brackets.
    ///   - configuration: protocols, roots, a client certificate. Versions before TLS 1.2 are left out whatever it says
    ///     (RFC 8996).
    ///   - inspect: looks at a server's own certificate that is trusted and has the name; what it throws ends the attempt.
    ///   - inspectChain: looks at the chain by which that is trusted, from the server's own certificate to the root; what it
    ///     throws ends the attempt. Where nothing is verified the chain is the server's own certificate.
    /// - Throws: NIOSSL's error where the configuration is not usable; `InvalidServerName` for a host that TLS can't ask for.
    public init(
        host: String, configuration: TLSConfiguration,
        inspect: (@Sendable (NIOSSLCertificate) throws -> Void)? = nil,
        inspectChain: (@Sendable ([NIOSSLCertificate]) throws -> Void)? = nil
    ) throws {
        var configuration = configuration
        switch configuration.minimumTLSVersion {
        case .tlsv1, .tlsv11: configuration.minimumTLSVersion = .tlsv12
        case .tlsv12, .tlsv13: break
        }
        try self.init(
            host: host, context: NIOSSLContext(configuration: configuration),
            isVerified: configuration.certificateVerification != .none, inspect: inspect,
            inspectChain: inspectChain)
    }

    /// - Parameters:
    ///   - host: a name, or an address without brackets.
    ///   - context: made before, of a configuration of TLS 1.2 or later.
    ///   - isVerified: whether that configuration verifies certificates.
    ///   - inspect: as with `init(host:configuration:inspect:inspectChain:)`.
    ///   - inspectChain: as there.
    /// - Throws: `InvalidServerName` for a host that TLS can't ask for.
    public init(
        host: String, context: NIOSSLContext, isVerified: Bool = true,
        inspect: (@Sendable (NIOSSLCertificate) throws -> Void)? = nil,
        inspectChain: (@Sendable ([NIOSSLCertificate]) throws -> Void)? = nil
    ) throws {
        self.context = context
        self.isVerified = isVerified
        self.inspect = inspect
        self.inspectChain = inspectChain
        // A name's final dot says that it is complete; certificates leave it out (RFC 6066 section 3).
        name = IPAddress(host) == nil ? (host.hasSuffix(".") ? String(host.dropLast()) : host) : nil
        do {
            _ = try NIOSSLClientHandler(context: context, serverHostname: name)
        } catch {
            throw InvalidServerName(host: host, reason: "\(error)")
        }
    }

    /// The handlers of one channel, the outermost first.
    public func handlers() -> [any ChannelHandler] {
        let chain = inspectChain.map { ValidatedChain(inspect: $0) }
        let made =
            if let chain {
                try? chain.handler(context, name)
            } else {
                try? NIOSSLClientHandler(context: context, serverHostname: name)
            }
        // It has been made before with the same arguments.
        guard let handler = made else { preconditionFailure("no TLS handler") }
        return [handler, CertificateCheck(name: isVerified ? name : nil, inspect: inspect, chain: chain)]
    }

    /// A bootstrap whose attempts win when their TLS is up.
    public func apply(to bootstrap: MultipathBootstrap) -> MultipathBootstrap {
        bootstrap.protocolHandlers { handlers() }.raceUntil(.tlsHandshakeCompleted)
    }
}

/// A host that TLS can't ask for (RFC 6066 section 3).
public struct InvalidServerName: Error, Sendable, Hashable, CustomStringConvertible {
    /// The host as the caller named it.
    public var host: String
    /// NIOSSL's words.
    public var reason: String

    public var description: String { "'\(host)' is no name that TLS can ask for: \(reason)" }
}
