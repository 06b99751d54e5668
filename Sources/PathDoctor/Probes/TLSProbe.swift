import CommandTLS
import Multipath
import NIOCore
import NIOPosix
import NIOSSL
import NIOTLS

/// One handshake of TLS over a connection that is made already, and what came of it.
enum TLSProbe {
    /// - Parameter limit: after so long it is silent.
    static func run(_ connection: ProbeSocket, _ tls: ClientTLS, within limit: Duration) async -> TLSFinding {
        let loop = MultiThreadedEventLoopGroup.singleton.next()
        let promise = loop.makePromise(of: TLSFinding.self)
        let descriptor: CInt
        do {
            // SwiftNIO closes its own.
            descriptor = try connection.duplicate()
        } catch {
            promise.succeed(.failed("\(error)"))
            return (try? await promise.futureResult.get()) ?? .silent
        }
        let opening = ClientBootstrap(group: loop).channelInitializer { channel in
            channel.eventLoop.makeCompletedFuture {
                let sniffer = Sniffer()
                let handlers: [any ChannelHandler] =
                    [sniffer] + tls.handlers() + [Outcome(promise, sniffer)]
                try channel.pipeline.syncOperations.addHandlers(handlers)
            }
        }.withConnectedSocket(descriptor)
        opening.whenFailure { promise.succeed(.failed("\($0)")) }
        let deadline = loop.scheduleTask(in: .nanoseconds(limit.wholeNanoseconds)) {
            promise.succeed(.silent)
        }
        let finding = (try? await promise.futureResult.get()) ?? .silent
        deadline.cancel()
        // Without a farewell: nothing waits for the peer's.
        if let channel = try? await opening.get() { channel.pipeline.fireUserInboundEventTriggered(Leave()) }
        return finding
    }

    private struct Leave {}

    /// Stands before TLS, and looks at the first bytes that come.
    private final class Sniffer: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer

        private(set) var first: [UInt8] = []

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            if first.count < 512 {
                first += unwrapInboundIn(data).readableBytesView.prefix(512 - first.count)
            }
            context.fireChannelRead(data)
        }

        func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
            if event is Leave {
                context.close(promise: nil)
            } else {
                context.fireUserInboundEventTriggered(event)
            }
        }
    }

    /// Stands behind the guard, and tells how it ended.
    private final class Outcome: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer

        private let promise: EventLoopPromise<TLSFinding>
        private let sniffer: Sniffer
        private let begun = NIODeadline.now()

        init(_ promise: EventLoopPromise<TLSFinding>, _ sniffer: Sniffer) {
            self.promise = promise
            self.sniffer = sniffer
        }

        func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
            guard case .handshakeCompleted = event as? TLSUserEvent else { return }
            let pipeline = context.pipeline.syncOperations
            let certificate = try? pipeline.nioSSL_peerCertificate()
            let version = try? pipeline.nioSSL_tlsVersion()
            promise.succeed(
                .trusted(
                    version: version?.words ?? "TLS", names: certificate?.dnsNames ?? [],
                    .nanoseconds((NIODeadline.now() - begun).nanoseconds)))
        }

        func errorCaught(context: ChannelHandlerContext, error: any Error) {
            promise.succeed(finding(error))
            context.close(promise: nil)
        }

        func channelInactive(context: ChannelHandlerContext) {
            promise.succeed(.failed("the connection was closed before TLS was up"))
        }

        private func finding(_ error: any Error) -> TLSFinding {
            if let head = HTTPHead(sniffer.first) { return .plainHTTP(head.line) }
            switch error {
            case let error as CertificateFailure: return .refused(reason: error.reason, names: error.names)
            case let error as TLSFailure: return .failed(error.words)
            default: return .failed("\(error)")
            }
        }
    }
}
