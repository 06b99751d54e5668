import NIOSSL

/// Gathers the chain by which BoringSSL trusts a server, as that validates it. It belongs to one channel, and lives on its
/// event loop.
///
/// A server may present certificates that have no part in why it is trusted: those are not among them.
final class ValidatedChain {
    private let inspect: @Sendable ([NIOSSLCertificate]) throws -> Void
    /// The root first: so BoringSSL goes through it.
    private var certificates: [NIOSSLCertificate] = []

    init(inspect: @escaping @Sendable ([NIOSSLCertificate]) throws -> Void) { self.inspect = inspect }

    /// The handler of the channel.
    func handler(_ context: NIOSSLContext, _ name: String?) throws -> NIOSSLClientHandler {
        let maker: any ObservedHandlerMaking.Type = ObservedHandler.self
        return try maker.make(context, name) { [self] result, certificate in
            if result == .certificateVerified { certificates.append(certificate) }
            return result
        }
    }

    /// - Parameter certificate: the server's own.
    /// - Throws: what the inspection throws.
    func check(_ certificate: NIOSSLCertificate) throws {
        defer { certificates = [] }
        // Without verification there is no chain.
        try inspect(certificates.isEmpty ? [certificate] : certificates.reversed())
    }
}

/// NIOSSL deprecates BoringSSL's own callback, for being complex. Its other ones give only what the server presents, and leave
/// the whole of the validation to their caller. Called by way of a protocol, the old one makes no warning.
private protocol ObservedHandlerMaking {
    static func make(
        _ context: NIOSSLContext, _ name: String?, _ callback: @escaping NIOSSLVerificationCallback
    ) throws -> NIOSSLClientHandler
}

private enum ObservedHandler: ObservedHandlerMaking {
    @available(*, deprecated)
    static func make(
        _ context: NIOSSLContext, _ name: String?, _ callback: @escaping NIOSSLVerificationCallback
    ) throws -> NIOSSLClientHandler {
        try NIOSSLClientHandler(context: context, serverHostname: name, verificationCallback: callback)
    }
}
