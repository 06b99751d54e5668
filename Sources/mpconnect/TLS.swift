import CommandSupport
import Multipath
import MultipathNIO
import MultipathTLS
import NIOSSL

/// TLS as the command's arguments want it.
struct TLS: Sendable {
    private let client: TLSClient

    /// - Throws: `MessageError` where the authorities' file is not usable.
    init(host: String, protocols: [String], authorities: String?, isVerified: Bool) throws {
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

    func apply(to bootstrap: MultipathBootstrap) -> MultipathBootstrap { client.apply(to: bootstrap) }

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
