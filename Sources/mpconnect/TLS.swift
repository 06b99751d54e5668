import CommandSupport
import CommandTLS
import Multipath
import MultipathNIO
import NIOCore
import NIOSSL

extension ClientTLS {
    /// A bootstrap whose race is won by the first connection whose TLS is up.
    func apply(to bootstrap: MultipathBootstrap) -> MultipathBootstrap {
        bootstrap.protocolHandlers { handlers() }.raceUntil(.tlsHandshakeCompleted)
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
