import Multipath
import NIOCore

/// Stands first in a channel's pipeline, and says to the connection's follower what is sent and received, and that no more
/// will be sent: the FIN waits for another path to stand by, because none can be made after it.
final class TransferCounter: ChannelDuplexHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundIn = IOData

    private let follower: ConnectionFollower
    private var sent = 0
    private var received = 0

    init(_ follower: ConnectionFollower) { self.follower = follower }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        received += unwrapInboundIn(data).readableBytes
        context.fireChannelRead(data)
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        follower.didReceive(received)
        received = 0
        context.fireChannelReadComplete()
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        sent += unwrapOutboundIn(data).readableBytes
        context.write(data, promise: promise)
    }

    func close(context: ChannelHandlerContext, mode: CloseMode, promise: EventLoopPromise<Void>?) {
        guard mode == .output else { return context.close(mode: mode, promise: promise) }
        let context = NIOLoopBound(context, eventLoop: context.eventLoop)
        follower.prepareToEndSending {
            // (The loop may be shut down by then; the promise is failed with it.)
            context.eventLoop.execute { context.value.close(mode: .output, promise: promise) }
        }
    }

    func flush(context: ChannelHandlerContext) {
        context.flush()
        guard sent > 0 else { return }
        follower.didSend(sent)
        sent = 0
    }
}
