import Multipath
import NIOCore
import NIOPosix
import NIOSSL
import NIOTLS
import TestSupport

/// Servers on one port of several loopback addresses, each with manners of its own.
final class TLSServers: Sendable {
    enum Manner: Sendable {
        /// Answers by TLS with a certificate of this kind, then sends back what it gets.
        case answers(certificate: String, protocols: [String] = [])
        /// Answers by TLS, and hears nothing any more as soon as that is up: no farewell either.
        case goesDeaf
        /// Accepts, and never says a word.
        case stalls
        /// Accepts, and closes.
        case hangsUp
    }

    static let name = "server.example"
    let port: Int
    private let channels: [any Channel]
    private let manners: [Manner]

    init(_ manners: Manner..., certificates: TestCertificates) async throws {
        self.manners = manners
        for _ in 0..<20 {
            var channels: [any Channel] = []
            do {
                var port = 0
                for (index, manner) in manners.enumerated() {
                    let channel = try await Self.bootstrap(manner, certificates)
                        .bind(host: Self.address(index), port: port).get()
                    channels.append(channel)
                    port = channel.localAddress?.port ?? 0
                }
                (self.port, self.channels) = (port, channels)
                return
            } catch {
                // The port was free at the first address only.
                for channel in channels { try? await channel.close() }
            }
        }
        throw Program.TimedOut(description: "no port is free at every address")
    }

    func close() async {
        for channel in channels { try? await channel.close() }
    }

    /// A connector that knows the servers' addresses by their common name, in their order.
    var connector: Connector {
        Connector(
            resolver: StaticResolver([
                Self.name: manners.indices.compactMap { IPAddress(Self.address($0)) }
            ]))
    }

    static func address(_ index: Int) -> String { "127.0.0.\(index + 2)" }

    private static func bootstrap(
        _ manner: Manner, _ certificates: TestCertificates
    ) throws -> ServerBootstrap {
        let bootstrap = ServerBootstrap(group: .singletonMultiThreadedEventLoopGroup)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
        switch manner {
        case .stalls: return bootstrap.childChannelOption(.autoRead, value: false)
        case .hangsUp: return bootstrap.childChannelInitializer { $0.close() }
        case .answers, .goesDeaf:
            let (certificate, protocols) =
                if case .answers(let certificate, let protocols) = manner {
                    (certificate, protocols)
                } else {
                    ("good", [String]())
                }
            let isDeaf = if case .goesDeaf = manner { true } else { false }
            var configuration = try TLSConfiguration.makeServerConfiguration(
                certificateChain: NIOSSLCertificate.fromPEMFile(certificates.chain(certificate)).map {
                    .certificate($0)
                }, privateKey: .privateKey(NIOSSLPrivateKey(file: certificates.key, format: .pem)))
            configuration.applicationProtocols = protocols
            let context = try NIOSSLContext(configuration: configuration)
            return bootstrap.childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandlers(
                        NIOSSLServerHandler(context: context), Echo(isDeaf: isDeaf))
                }
            }
        }
    }

    private final class Deaf: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {}
    }

    private final class Echo: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer

        private let isDeaf: Bool

        init(isDeaf: Bool) { self.isDeaf = isDeaf }

        func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
            guard isDeaf, case .handshakeCompleted = event as? TLSUserEvent else { return }
            // In front of TLS, which would otherwise read on by itself.
            try? context.pipeline.syncOperations.addHandler(Deaf(), position: .first)
        }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            context.writeAndFlush(data, promise: nil)
        }

        func errorCaught(context: ChannelHandlerContext, error: any Error) {
            context.close(promise: nil)
        }
    }
}
