import CommandSupport
import LinuxNet
public import Multipath
public import NIOCore
public import NIOSSL
import NIOTLS

/// Stands behind TLS, looks at the certificate's names once more, and puts TLS's errors into words that say what to do about
/// them.
public final class CertificateGuard: ChannelInboundHandler {
    public typealias InboundIn = ByteBuffer

    private let name: String?

    /// - Parameter name: what the certificate must be for; nil where any is accepted, or an address was asked for.
    public init(name: String?) { self.name = name }

    public func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        // NIOSSL takes a certificate for the connected address as well where a name was asked for. That is not
        // enough: the certificate is to prove that the host at the address has the name.
        if case .handshakeCompleted = event as? TLSUserEvent, let name {
            let names = certificate(context)?.dnsNames ?? []
            guard CertificateNames.match(name, names) else {
                context.fireErrorCaught(wrongName(names))
                return context.close(promise: nil)
            }
        }
        context.fireUserInboundEventTriggered(event)
    }

    public func errorCaught(context: ChannelHandlerContext, error: any Error) {
        context.fireErrorCaught(worded(error, context))
    }

    private func worded(_ error: any Error, _ context: ChannelHandlerContext) -> any Error {
        switch error {
        case NIOSSLError.handshakeFailed(let failure):
            let words = Self.words(failure)
            guard words.contains("CERTIFICATE_VERIFY_FAILED") else { return TLSFailure(words: words) }
            return CertificateFailure(
                reason: "the certificate is not trusted: \(reason(context)) (\(words))",
                names: certificate(context)?.dnsNames ?? [])
        case let error as NIOSSLExtraError where error == .failedToValidateHostname:
            return wrongName(certificate(context)?.dnsNames ?? [])
        case NIOSSLError.uncleanShutdown:
            return TLSFailure(words: "the peer closed without TLS's farewell, so bytes may be missing")
        default: return error
        }
    }

    private func wrongName(_ names: [String]) -> CertificateFailure {
        let list = names.isEmpty ? "no name" : names.joined(separator: ", ")
        return CertificateFailure(
            reason: "the certificate is for other names; \(name ?? "the address") is not among them: \(list)",
            names: names)
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
    /// The DNS names that it is for (RFC 5280 section 4.2.1.6).
    public var dnsNames: [String] {
        _subjectAlternativeNames().filter { $0.nameType == .dnsName }
            .map { String(decoding: $0.contents, as: UTF8.self) }
    }
}

extension TLSVersion {
    /// `TLSv1.3`
    public var words: String {
        switch self {
        case .tlsv1: "TLSv1"
        case .tlsv11: "TLSv1.1"
        case .tlsv12: "TLSv1.2"
        case .tlsv13: "TLSv1.3"
        }
    }
}

/// What TLS says went wrong.
public struct TLSFailure: Error, CustomStringConvertible {
    public var words: String

    public init(words: String) { self.words = words }

    public var description: String { "TLS: \(words)" }
}

/// The certificate is not one for the host: another host is there.
public struct CertificateFailure: PeerRefutation, CustomStringConvertible {
    /// Why.
    public var reason: String
    /// The DNS names that it is for.
    public var names: [String]

    public var description: String { "TLS: \(reason)" }
}
