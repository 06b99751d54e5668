import NIOCore
import NIOPosix

/// A number of bytes one way over one connection.
struct Bulk {
    let options: Options

    struct Result: Encodable {
        var bytes: Int
        var seconds: Double
        var cpu: Double
    }

    func run() async throws -> Result {
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        let dialer = options.dialer(on: group)
        try await dialer.warmUp()
        let done = group.next().makePromise(of: Void.self)
        let (load, number) = (options.load, options.number)
        let channel = try await dialer.open { channel in
            channel.eventLoop.makeCompletedFuture {
                let operations = channel.pipeline.syncOperations
                if load == .up {
                    try operations.addHandler(Upload(number, done))
                } else {
                    try operations.addHandler(Download(number, done))
                }
            }
        }
        let watch = Stopwatch()
        channel.triggerUserOutboundEvent(Begin(), promise: nil)
        try await done.futureResult.get()
        return Result(bytes: number, seconds: watch.seconds, cpu: watch.cpu)
    }
}

/// The event that begins the transfer.
private struct Begin: Sendable {}

/// What arrived is not what was sent.
private struct Incomplete: Error {
    var arrived: UInt64
}

/// Writes as the connection takes it, closes its half, and waits for the server's count of what it got.
private final class Upload: ChannelDuplexHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundIn = Never
    typealias OutboundOut = ByteBuffer

    private static let block = ByteBuffer(repeating: UInt8(ascii: "u"), count: 128 * 1024)
    private let number: Int
    private var left: Int
    private let done: EventLoopPromise<Void>
    private var hasBegun = false
    private var answer = ByteBuffer()

    init(_ number: Int, _ done: EventLoopPromise<Void>) {
        (self.number, left, self.done) = (number, number, done)
    }

    func triggerUserOutboundEvent(
        context: ChannelHandlerContext, event: Any, promise: EventLoopPromise<Void>?
    ) {
        guard event is Begin else {
            return context.triggerUserOutboundEvent(event, promise: promise)
        }
        hasBegun = true
        fill(context)
        promise?.succeed()
    }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        if hasBegun { fill(context) }
        context.fireChannelWritabilityChanged()
    }

    private func fill(_ context: ChannelHandlerContext) {
        guard left > 0 else { return }
        while context.channel.isWritable, left > 0 {
            let next = Self.block.getSlice(at: 0, length: min(left, Self.block.readableBytes))!
            left -= next.readableBytes
            context.writeAndFlush(wrapOutboundOut(next), promise: nil)
        }
        if left == 0 { context.close(mode: .output, promise: nil) }
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        var more = unwrapInboundIn(data)
        answer.writeBuffer(&more)
        guard let count = answer.getInteger(at: 0, endianness: .little, as: UInt64.self) else { return }
        if count == UInt64(number) { done.succeed() } else { done.fail(Incomplete(arrived: count)) }
    }

    func channelInactive(context: ChannelHandlerContext) {
        // Without effect where the count has come.
        done.fail(ChannelError.eof)
        context.fireChannelInactive()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { done.fail(error) }
}

/// Asks for bytes, and counts them.
private final class Download: ChannelDuplexHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundIn = Never
    typealias OutboundOut = ByteBuffer

    private let number: Int
    private var left: Int
    private let done: EventLoopPromise<Void>

    init(_ number: Int, _ done: EventLoopPromise<Void>) {
        (self.number, left, self.done) = (number, number, done)
    }

    func triggerUserOutboundEvent(
        context: ChannelHandlerContext, event: Any, promise: EventLoopPromise<Void>?
    ) {
        guard event is Begin else {
            return context.triggerUserOutboundEvent(event, promise: promise)
        }
        context.writeAndFlush(wrapOutboundOut(ByteBuffer(string: "\(number)\n")), promise: promise)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        left -= unwrapInboundIn(data).readableBytes
        if left == 0 { done.succeed() }
    }

    func channelInactive(context: ChannelHandlerContext) {
        done.fail(Incomplete(arrived: UInt64(number - left)))
        context.fireChannelInactive()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { done.fail(error) }
}
