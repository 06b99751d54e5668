public import NIOCore
import NIOTLS

/// What a connected channel must have reached for its attempt to win the race.
public struct RaceMilestone: Sendable {
    private enum Kind: Sendable {
        case tlsHandshake
        case future(@Sendable (any Channel) -> EventLoopFuture<Void>)
    }

    private let kind: Kind

    /// A handshake that TLS has completed, with all its checks. It knows any TLS by `TLSUserEvent`, NIOSSL's
    /// as well as others.
    ///
    /// TLS belongs into `protocolHandlers`, where `NIOClientTCPBootstrap` puts it. If an initializer adds it,
    /// nothing behind it may swallow the event, as `ApplicationProtocolNegotiationHandler` does.
    public static let tlsHandshakeCompleted = RaceMilestone(kind: .tlsHandshake)

    /// - Parameter confirm: called on each channel's event loop when the channel is active, with its handlers,
    ///   before its first byte is read. The attempt wins when the future succeeds, and has failed when the future
    ///   fails or the channel closes.
    public init(_ confirm: @escaping @Sendable (any Channel) -> EventLoopFuture<Void>) {
        kind = .future(confirm)
    }

    private init(kind: Kind) { self.kind = kind }

    /// The handler that notices it, where that is what this needs.
    func handler(
        for connection: MultipathConnection, _ confirmed: EventLoopPromise<Void>
    ) -> TLSHandshakeHandler? {
        guard case .tlsHandshake = kind else { return nil }
        return TLSHandshakeHandler(connection, confirmed)
    }

    func future(of channel: any Channel) -> EventLoopFuture<Void>? {
        guard case .future(let confirm) = kind else { return nil }
        return confirm(channel)
    }
}

/// Stands behind TLS until it is up, or has failed.
final class TLSHandshakeHandler: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = NIOAny

    private let connection: MultipathConnection
    private let confirmed: EventLoopPromise<Void>

    init(_ connection: MultipathConnection, _ confirmed: EventLoopPromise<Void>) {
        self.connection = connection
        self.confirmed = confirmed
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        context.fireUserInboundEventTriggered(event)
        guard case .handshakeCompleted(let negotiated) = event as? TLSUserEvent else { return }
        connection.agreed(on: negotiated)
        confirmed.succeed()
        context.pipeline.syncOperations.removeHandler(self, promise: nil)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        // The first error tells why; those that follow come of the closing.
        confirmed.fail(error)
        context.fireErrorCaught(error)
    }
}
