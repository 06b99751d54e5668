import Multipath
import NIOCore

/// Stands first in a channel's pipeline, and says to the connection's follower what is sent and received, and that no more
/// will be sent: the FIN waits for another path to stand by, because none can be made after it.
final class TransferCounter: ChannelDuplexHandler, RemovableChannelHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundIn = IOData

    private let follower: ConnectionFollower
    private var sent = 0
    private var received = 0
    /// Whether nothing more is to be sent, and who waits for that while it is prepared.
    private var isEnding = false
    private var ending: EventLoopPromise<Void>?

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
        guard !isEnding else {
            promise?.fail(ChannelError.outputClosed)
            return
        }
        sent += unwrapOutboundIn(data).readableBytes
        context.write(data, promise: promise)
    }

    func flush(context: ChannelHandlerContext) {
        context.flush()
        guard sent > 0 else { return }
        follower.didSend(sent)
        sent = 0
    }

    // MARK: Sending no more

    func close(context: ChannelHandlerContext, mode: CloseMode, promise: EventLoopPromise<Void>?) {
        if mode == .output, let ending {
            ending.futureResult.cascade(to: promise)
            return
        }
        guard mode == .output, !isEnding else { return context.close(mode: mode, promise: promise) }
        isEnding = true
        ending = promise ?? context.eventLoop.makePromise()
        let (loop, bound) = (context.eventLoop, NIOLoopBound((self, context), eventLoop: context.eventLoop))
        follower.prepareToEndSending {
            loop.execute {
                let (counter, context) = bound.value
                counter.endOutput(context)
            }
        }
    }

    private func endOutput(_ context: ChannelHandlerContext) {
        guard let promise = ending else { return }
        ending = nil
        context.close(mode: .output, promise: promise)
    }

    func channelInactive(context: ChannelHandlerContext) {
        failEnding()
        context.fireChannelInactive()
    }

    func handlerRemoved(context: ChannelHandlerContext) { failEnding() }

    private func failEnding() {
        ending?.fail(ChannelError.ioOnClosedChannel)
        ending = nil
    }
}
