import Multipath
import NIOCore

/// Stands first in a channel's pipeline, counts its bytes, and looks at the kernel's counters now and then.
final class TransferCounter: ChannelDuplexHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundIn = IOData

    private let meter: TransferMeter
    private let watch: ConnectionWatch?
    private let supervision: Supervision?
    private var sent = 0
    private var received = 0
    /// The meter takes one at the connection's beginning, and one at its end.
    private var nextSample: NIODeadline
    private let sampleInterval: TimeAmount

    init(_ meter: TransferMeter, _ watch: ConnectionWatch? = nil, _ supervision: Supervision? = nil) {
        self.meter = meter
        self.watch = watch
        self.supervision = supervision
        // A sample takes some microseconds. Who steers a connection takes one himself when he makes or ends a subflow,
        // and when the data moves to another path.
        let isSteered =
            switch supervision?.level {
            case .perConnection, .systemWide: true
            case .observeOnly, nil: false
            }
        sampleInterval = isSteered ? .seconds(1) : .milliseconds(100)
        nextSample = .now() + sampleInterval
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
        nextSample = now + sampleInterval
        meter.sample()
    }
}
