import Multipath
import NIOCore

/// Stands first in a channel's pipeline, counts its bytes, and looks at the kernel's counters now and then.
final class TransferCounter: ChannelDuplexHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundIn = IOData

    private let meter: ConnectionMeter
    private let watch: ConnectionWatch?
    private let supervision: Supervision?
    private var sent = 0
    private var received = 0
    /// The meter takes one at the connection's beginning, and one at its end.
    private var nextSample = NIODeadline.now() + TransferCounter.sampleInterval

    /// A sample costs about 2 µs; at this interval nobody can measure it.
    private static let sampleInterval = TimeAmount.milliseconds(100)

    init(_ meter: ConnectionMeter, _ watch: ConnectionWatch? = nil, _ supervision: Supervision? = nil) {
        self.meter = meter
        self.watch = watch
        self.supervision = supervision
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        received += unwrapInboundIn(data).readableBytes
        context.fireChannelRead(data)
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        supervision?.dataWasReceived()
        settle()
        context.fireChannelReadComplete()
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        sent += unwrapOutboundIn(data).readableBytes
        context.write(data, promise: promise)
    }

    func flush(context: ChannelHandlerContext) {
        let hasSent = sent > 0
        context.flush()
        if hasSent {
            watch?.dataWasSent()
            supervision?.dataWasSent()
        }
        settle()
    }

    func channelInactive(context: ChannelHandlerContext) {
        settle()
        context.fireChannelInactive()
    }

    private func settle() {
        meter.count(sent: sent, received: received)
        (sent, received) = (0, 0)
        let now = NIODeadline.now()
        guard now >= nextSample else { return }
        nextSample = now + Self.sampleInterval
        meter.sample()
    }
}
