import Multipath
import NIOCore

/// Stands first in a channel's pipeline, and says to the connection's follower what is sent and received.
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

    func flush(context: ChannelHandlerContext) {
        context.flush()
        guard sent > 0 else { return }
        follower.didSend(sent)
        sent = 0
    }
}
