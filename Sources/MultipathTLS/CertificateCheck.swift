import LinuxNet
public import NIOCore
public import NIOSSL
import NIOTLS

/// Stands behind NIOSSL's client handler until the handshake is complete: looks at the certificate's names once more, at its
/// key where the caller pins that, and puts TLS's errors into words.
///
/// NIOSSL takes a certificate for the connected address as well where a name was asked for. That is not enough: the
/// certificate is to prove that the host at the address has the name (RFC 9525 section 6).
///
/// ```swift
/// bootstrap.protocolHandlers { [tls, CertificateCheck(name: "media.example")] }
/// ```
public final class CertificateCheck: ChannelInboundHandler {
    public typealias InboundIn = ByteBuffer

    private let name: String?
    private let inspect: (@Sendable (NIOSSLCertificate) throws -> Void)?
    private let chain: ValidatedChain?

    /// - Parameters:
    ///   - name: what the certificate must be for; nil where any is accepted, or an address was asked for.
    ///   - inspect: looks at a server's own certificate that is trusted and has the name; what it throws ends the
    ///     connection.
    public convenience init(name: String?, inspect: (@Sendable (NIOSSLCertificate) throws -> Void)? = nil) {
        self.init(name: name, inspect: inspect, chain: nil)
    }

    init(name: String?, inspect: (@Sendable (NIOSSLCertificate) throws -> Void)?, chain: ValidatedChain?) {
        self.name = name
        self.inspect = inspect
        self.chain = chain
    }

    public func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if case .handshakeCompleted = event as? TLSUserEvent {
            do {
                try check(certificate(context))
            } catch {
                context.fireErrorCaught(error)
                return context.close(promise: nil)
            }
        }
        context.fireUserInboundEventTriggered(event)
    }

    private func check(_ certificate: NIOSSLCertificate?) throws {
        if let name {
            let names = certificate?.dnsNames ?? []
            guard CertificateNames.match(name, names) else { throw wrongName(names) }
        }
        guard inspect != nil || chain != nil else { return }
        guard let certificate else {
            throw CertificateFailure(.untrusted, reason: "the server has no certificate", names: [])
        }
        try inspect?(certificate)
        try chain?.check(certificate)
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
                .untrusted, reason: "the certificate is not trusted: \(reason(context)) (\(words))",
                names: certificate(context)?.dnsNames ?? [])
        case let error as NIOSSLExtraError where error == .failedToValidateHostname:
            return wrongName(certificate(context)?.dnsNames ?? [])
        case NIOSSLError.uncleanShutdown:
            var failure = TLSFailure(words: "the peer closed without TLS's farewell, so bytes may be missing")
            failure.isTruncation = true
            return failure
        default: return error
        }
    }

    /// More of its names are not told in an error's words.
    private static let mostShown = 8

    private func wrongName(_ names: [String]) -> CertificateFailure {
        let shown = names.prefix(Self.mostShown)
        let rest = names.count - shown.count
        let list =
            names.isEmpty ? "no name" : shown.joined(separator: ", ") + (rest > 0 ? " and \(rest) more" : "")
        return CertificateFailure(
            .wrongName,
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
