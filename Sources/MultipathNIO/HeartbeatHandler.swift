import Glibc
public import Multipath
public import NIOCore

/// Keeps a channel's idle connection alive, and finds out when its peer is gone: see `Heartbeat`.
///
/// ```swift
/// let handler = HeartbeatHandler(
///     of: connection, ping: { WebSocketFrame(fin: true, opcode: .ping, data: ByteBuffer()) },
///     isAnswer: { $0.opcode == .pong })
/// try await connection.channel.pipeline.addHandler(handler)
/// ```
///
/// It stands behind the handlers that make messages of bytes. When the peer is dead the pipeline gets a `HeartbeatError`, and the
/// channel closes.
public final class HeartbeatHandler<Inbound, Outbound>: ChannelDuplexHandler, RemovableChannelHandler {
    public typealias InboundIn = Inbound
    public typealias InboundOut = Inbound
    public typealias OutboundIn = Outbound
    public typealias OutboundOut = Outbound

    private let connection: MultipathConnection
    private let pingSize: Int
    private let ping: @Sendable () -> Outbound
    private let isAnswer: @Sendable (Inbound) -> Bool
    private let passesAnswersOn: Bool
    private let told: @Sendable (Heartbeat.Event) -> Void
    private var heartbeat: Heartbeat?
    private var wasReset = false
    /// Which heartbeats go together; the process's unless a test sets another.
    var hub = HeartbeatHub.process

    /// What it has done so far; nil before the handler is in a pipeline. On the channel's event loop.
    public var report: Heartbeat.Report? { heartbeat?.report }

    /// - Parameters:
    ///   - connection: the channel's.
    ///   - pingSize: the ping's bytes, for the report: few, 10 at most.
    ///   - ping: makes the ping, on the channel's event loop.
    ///   - isAnswer: recognises the answer to it.
    ///   - passesAnswersOn: whether handlers behind this one see answers, too.
    ///   - told: what happens, on a thread that must not be held up.
    public init(
        of connection: MultipathConnection, pingSize: Int = 10, ping: @escaping @Sendable () -> Outbound,
        isAnswer: @escaping @Sendable (Inbound) -> Bool, passesAnswersOn: Bool = false,
        told: @escaping @Sendable (Heartbeat.Event) -> Void = { _ in }
    ) {
        self.connection = connection
        self.pingSize = pingSize
        self.ping = ping
        self.isAnswer = isAnswer
        self.passesAnswersOn = passesAnswersOn
        self.told = told
    }

    public func handlerAdded(context: ChannelHandlerContext) {
        let (loop, told) = (context.eventLoop, told)
        let bound = NIOLoopBound((self, context), eventLoop: loop)
        heartbeat = Heartbeat(of: connection.follower, in: hub, pingSize: pingSize) {
            loop.execute {
                let (handler, context) = bound.value
                handler.sendPing(context)
            }
        } told: { event in
            told(event)
            guard case .dead(let silence) = event else { return }
            loop.execute {
                let (handler, context) = bound.value
                handler.close(context, silentFor: silence)
            }
        }
    }

    public func handlerRemoved(context: ChannelHandlerContext) { end() }

    public func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        if isAnswer(unwrapInboundIn(data)) {
            heartbeat?.answered()
            guard passesAnswersOn else { return }
        }
        context.fireChannelRead(data)
    }

    public func channelInactive(context: ChannelHandlerContext) {
        // Where this end closed the channel, the heartbeat has ended before.
        heartbeat?.connectionEnded(byReset: wasReset)
        end()
        context.fireChannelInactive()
    }

    public func errorCaught(context: ChannelHandlerContext, error: any Error) {
        if let error = error as? IOError, error.errnoCode == ECONNRESET { wasReset = true }
        context.fireErrorCaught(error)
    }

    public func close(context: ChannelHandlerContext, mode: CloseMode, promise: EventLoopPromise<Void>?) {
        if mode == .all { end() }
        context.close(mode: mode, promise: promise)
    }

    private func sendPing(_ context: ChannelHandlerContext) {
        // It may have been removed since.
        guard heartbeat != nil else { return }
        context.writeAndFlush(wrapOutboundOut(ping()), promise: nil)
    }

    private func close(_ context: ChannelHandlerContext, silentFor silence: Duration) {
        guard heartbeat != nil else { return }
        context.fireErrorCaught(HeartbeatError(silentFor: silence))
        context.channel.close(promise: nil)
    }

    private func end() {
        heartbeat?.stop()
        heartbeat = nil
    }
}

/// The peer of an idle connection is dead: two pings had no answer. Its channel gets this error, then closes.
public struct HeartbeatError: Error, Sendable, Hashable, CustomStringConvertible {
    /// How long nothing had come.
    public var silentFor: Duration

    /// `no answer to a heartbeat; nothing has come for 92.1 s`
    public var description: String {
        "no answer to a heartbeat; nothing has come for \(silentFor.inSeconds) s"
    }
}
