import BenchSupport
import NIOCore
import NIOPosix

/// One request after the other, each sent when the answer to the one before has come.
struct RequestResponse {
    let options: Options

    struct Result: Encodable {
        var requests: Int
        /// Microseconds.
        var p50: Double
        var p99: Double
        /// Seconds.
        var cpu: Double
    }

    func run() async throws -> Result {
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        let dialer = options.dialer(on: group)
        try await dialer.warmUp()
        let done = group.next().makePromise(of: Result.self)
        let number = options.number
        let channel = try await dialer.open { channel in
            channel.eventLoop.makeCompletedFuture {
                try channel.pipeline.syncOperations.addHandler(Questioner(number, done))
            }
        }
        channel.triggerUserOutboundEvent(Questioner.Begin(), promise: nil)
        return try await done.futureResult.get()
    }
}

private final class Questioner: ChannelDuplexHandler {
    struct Begin: Sendable {}
    typealias InboundIn = ByteBuffer
    typealias OutboundIn = Never
    typealias OutboundOut = ByteBuffer

    private static let request = ByteBuffer(repeating: UInt8(ascii: "r"), count: 200)
    /// The first tenth warms up.
    private var toWarmUp: Int
    private let number: Int
    private let done: EventLoopPromise<RequestResponse.Result>
    private var missing = 0
    private var sent = NIODeadline.now()
    private var took: [Int64] = []
    private var cpuBefore = 0.0

    init(_ number: Int, _ done: EventLoopPromise<RequestResponse.Result>) {
        (self.number, self.done, toWarmUp) = (number, done, number / 10)
        took.reserveCapacity(number)
    }

    func triggerUserOutboundEvent(
        context: ChannelHandlerContext, event: Any, promise: EventLoopPromise<Void>?
    ) {
        guard event is Begin else {
            return context.triggerUserOutboundEvent(event, promise: promise)
        }
        ask(context)
        promise?.succeed()
    }

    private func ask(_ context: ChannelHandlerContext) {
        if toWarmUp == 0, took.isEmpty { cpuBefore = ProcessUsage.cpu }
        missing = Self.request.readableBytes
        sent = .now()
        context.writeAndFlush(wrapOutboundOut(Self.request), promise: nil)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        missing -= unwrapInboundIn(data).readableBytes
        guard missing == 0 else { return }
        if toWarmUp > 0 {
            toWarmUp -= 1
        } else {
            took.append((NIODeadline.now() - sent).nanoseconds)
        }
        guard took.count == number else { return ask(context) }
        let cpu = ProcessUsage.cpu - cpuBefore
        took.sort()
        done.succeed(
            RequestResponse.Result(
                requests: number, p50: Double(took[number / 2]) / 1e3,
                p99: Double(took[Int(0.99 * Double(number))]) / 1e3, cpu: cpu))
    }

    func channelInactive(context: ChannelHandlerContext) {
        done.fail(ChannelError.eof)
        context.fireChannelInactive()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { done.fail(error) }
}
