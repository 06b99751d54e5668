import NIOCore
import NIOSSL
import NIOTLS

/// Stands behind TLS and looks at the certificate's names once more.
///
/// NIOSSL takes a certificate for the connected address as well where a name was asked for. That is not enough: the
/// certificate is to prove that the host at the address has the name.
final class CertificateName: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    private let name: String

    init(_ name: String) { self.name = name }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        guard case .handshakeCompleted = event as? TLSUserEvent, !isPresented(context) else {
            return context.fireUserInboundEventTriggered(event)
        }
        context.fireErrorCaught(WrongName(description: "the certificate is not for \(name)"))
        context.close(promise: nil)
    }

    private func isPresented(_ context: ChannelHandlerContext) -> Bool {
        let tls = try? context.pipeline.syncOperations.handler(type: NIOSSLClientHandler.self)
        guard let names = tls?.peerCertificate?._subjectAlternativeNames() else { return false }
        return names.contains {
            $0.nameType == .dnsName && matches(String(decoding: $0.contents, as: UTF8.self))
        }
    }

    /// RFC 9525 section 6.3: the same name, or `*.` in place of its first label.
    private func matches(_ presented: String) -> Bool {
        let (wanted, presented) = (name.lowercased(), presented.lowercased())
        guard presented.hasPrefix("*."), let dot = wanted.firstIndex(of: ".") else {
            return presented == wanted
        }
        return presented.dropFirst() == wanted[dot...]
    }

    private struct WrongName: Error, CustomStringConvertible { var description: String }
}
