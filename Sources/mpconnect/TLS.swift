import CommandSupport
import LinuxNet
import Multipath
import MultipathNIO
import NIOCore
import NIOSSL
import NIOTLS

/// TLS as the command's arguments want it.
struct TLS: Sendable {
    private let context: NIOSSLContext
    /// The name that the certificate has to carry, and that the server is told (SNI); nil for an address, which
    /// the certificate carries as such.
    private let name: String?
    private let isVerified: Bool

    /// - Throws: `MessageError` where the authorities' file is not usable.
    init(host: String, protocols: [String], authorities: String?, isVerified: Bool) throws {
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

    func apply(to bootstrap: MultipathBootstrap) -> MultipathBootstrap {
        bootstrap.protocolHandlers { [context, name, isVerified] in
            // It has been made before with the same arguments.
            guard let handler = try? NIOSSLClientHandler(context: context, serverHostname: name) else {
                preconditionFailure("no TLS handler")
            }
            return [handler, TLSGuard(name: isVerified ? name : nil)]
        }.raceUntil(.tlsHandshakeCompleted)
    }

    /// How the handshake went.
    static func report(of connection: MultipathConnection) async -> TLSReport {
        // A channel that has closed already has no TLS any more.
        let version = try? await connection.channel.nioSSL_tlsVersion().get()
        let winner = connection.establishment?.attempts.first { $0.outcome == .won }
        return TLSReport(
            version: version?.words ?? "TLS", applicationProtocol: connection.applicationProtocol,
            handshake: winner.flatMap { winner in winner.connectedAfter.map { winner.duration - $0 } })
    }
}

extension TLSVersion {
    fileprivate var words: String {
        switch self {
        case .tlsv1: "TLSv1"
        case .tlsv11: "TLSv1.1"
        case .tlsv12: "TLSv1.2"
        case .tlsv13: "TLSv1.3"
        }
    }
}

/// Stands behind TLS, looks at the certificate's names once more, and puts TLS's errors into words that say
/// what to do about them.
private final class TLSGuard: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    private let name: String?

    /// - Parameter name: what the certificate must be for; nil where any is accepted, or an address was asked for.
    init(name: String?) { self.name = name }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        // NIOSSL takes a certificate for the connected address as well where a name was asked for. That is not
        // enough: the certificate is to prove that the host at the address has the name.
        if case .handshakeCompleted = event as? TLSUserEvent, let name {
            let names = certificate(context)?.dnsNames ?? []
            guard CertificateNames.match(name, names) else {
                let list = names.isEmpty ? "no name" : names.joined(separator: ", ")
                context.fireErrorCaught(Self.wrongName("\(name) is not among them: \(list)"))
                return context.close(promise: nil)
            }
        }
        context.fireUserInboundEventTriggered(event)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        context.fireErrorCaught(worded(error, context))
    }

    private func worded(_ error: any Error, _ context: ChannelHandlerContext) -> any Error {
        switch error {
        case NIOSSLError.handshakeFailed(let failure):
            let words = Self.words(failure)
            guard words.contains("CERTIFICATE_VERIFY_FAILED") else {
                return TLSFailure(words: "TLS: \(words)")
            }
            return TLSFailure(words: "TLS: the certificate is not trusted: \(reason(context)) (\(words))")
        case let error as NIOSSLExtraError where error == .failedToValidateHostname:
            let names = certificate(context)?.dnsNames ?? []
            let list = names.isEmpty ? "no name" : names.joined(separator: ", ")
            return Self.wrongName("\(name ?? "the address") is not among them: \(list)")
        case NIOSSLError.uncleanShutdown:
            return TLSFailure(words: "TLS: the peer closed without TLS's farewell, so bytes may be missing")
        default: return error
        }
    }

    private static func wrongName(_ detail: String) -> TLSFailure {
        TLSFailure(words: "TLS: the certificate is for other names; \(detail)")
    }

    private func certificate(_ context: ChannelHandlerContext) -> NIOSSLCertificate? {
        try? context.pipeline.syncOperations.handler(type: NIOSSLClientHandler.self).peerCertificate
    }

    /// Why a certificate is not trusted, as far as its own dates tell: BoringSSL says only that it is not.
    private func reason(_ context: ChannelHandlerContext) -> String {
        guard let certificate = certificate(context) else { return "its issuer or its dates" }
        let now = Int(WallClock.secondsSince1970)
        if Int(certificate.notValidAfter) < now { return "it has expired" }
        if Int(certificate.notValidBefore) > now { return "it is not valid yet" }
        return "its issuer is unknown here, or part of its chain is missing or out of date"
    }

    /// The names of BoringSSL's errors, without its source files' paths: `CERTIFICATE_VERIFY_FAILED`.
    private static func words(_ error: BoringSSLError) -> String {
        guard case .sslError(let stack) = error else { return "\(error)" }
        let names = stack.map { entry in
            let text = "\(entry)"
            guard let name = text.firstMatch(of: #/:([A-Z0-9_]+) at /#) else { return text }
            return String(name.1)
        }
        return names.joined(separator: ", ")
    }
}

extension NIOSSLCertificate {
    fileprivate var dnsNames: [String] {
        _subjectAlternativeNames().filter { $0.nameType == .dnsName }
            .map { String(decoding: $0.contents, as: UTF8.self) }
    }
}

/// What TLS says went wrong.
private struct TLSFailure: Error, CustomStringConvertible {
    var words: String
    var description: String { words }
}
