import NIOConcurrencyHelpers
import NIOCore

/// Sends a request every so often, whether or not the ones before were answered, and times each answer.
final class Requests: ChannelInboundHandler, Sendable {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer
    static let size = 200
    /// Several round trips of either path, and less than a stall.
    private static let quick = 0.15

    private struct State {
        var sent: [Double] = []
        var latencies: [Double] = []
        var received = 0
    }

    private let clock: NIOLockedValueBox<Clock?> = .init(nil)
    private let state = NIOLockedValueBox(State())

    /// Sends requests until `end`, the first one at `begin`.
    func start(
        _ channel: any Channel, _ clock: Clock, from begin: Double = 0, every interval: Double,
        until end: Double
    ) {
        self.clock.withLockedValue { $0 = clock }
        let request = ByteBuffer(repeating: UInt8(ascii: "r"), count: Self.size)
        @Sendable func send(_ number: Int) {
            let due = begin + Double(number) * interval
            guard due < end, channel.isActive else { return }
            channel.eventLoop.scheduleTask(deadline: clock.deadline(due)) {
                self.state.withLockedValue { $0.sent.append(clock.now) }
                channel.writeAndFlush(request, promise: nil)
                send(number + 1)
            }
        }
        send(0)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard let now = clock.withLockedValue({ $0?.now }) else { return }
        let count = unwrapInboundIn(data).readableBytes
        state.withLockedValue { state in
            state.received += count
            while (state.latencies.count + 1) * Self.size <= state.received {
                state.latencies.append(now - state.sent[state.latencies.count])
            }
        }
    }

    /// Whether the last `count` answers were all quick, to requests sent since `time`.
    func areSmooth(since time: Double, count: Int) -> Bool {
        state.withLockedValue { state in
            let first = state.latencies.count - count
            guard first >= 0, state.sent[first] > time else { return false }
            return state.latencies[first...].allSatisfy { $0 < Self.quick }
        }
    }

    /// When each request went out, and how long its answer took; -1 where none came.
    var results: [[Double]] {
        state.withLockedValue { state in
            state.sent.enumerated().map { index, sent in
                [sent, index < state.latencies.count ? state.latencies[index] : -1]
            }
        }
    }
}

/// Takes whatever comes.
final class Download: ChannelInboundHandler, Sendable {
    typealias InboundIn = ByteBuffer

    private let clock: NIOLockedValueBox<Clock?> = .init(nil)
    private let state = NIOLockedValueBox(Flow())

    func start(_ channel: any Channel, _ clock: Clock, asking request: String) {
        self.clock.withLockedValue { $0 = clock }
        channel.writeAndFlush(ByteBuffer(string: request), promise: nil)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard let now = clock.withLockedValue({ $0?.now }) else { return }
        let count = UInt64(unwrapInboundIn(data).readableBytes)
        state.withLockedValue { $0.note(count, at: now) }
    }

    var flow: Flow { state.withLockedValue { $0 } }

    func finish(at time: Double) -> Flow {
        state.withLockedValue { state in
            state.finish(at: time)
            return state
        }
    }
}

/// Writes as much as the connection takes.
final class Upload: ChannelInboundHandler, Sendable {
    typealias InboundIn = ByteBuffer

    private static let chunk = ByteBuffer(repeating: UInt8(ascii: "u"), count: 64 * 1024)
    private let isRunning = NIOLockedValueBox(false)

    func start(_ channel: any Channel) {
        channel.eventLoop.execute {
            self.isRunning.withLockedValue { $0 = true }
            self.fill(channel)
        }
    }

    func stop() { isRunning.withLockedValue { $0 = false } }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        fill(context.channel)
        context.fireChannelWritabilityChanged()
    }

    private func fill(_ channel: any Channel) {
        guard isRunning.withLockedValue({ $0 }) else { return }
        while channel.isWritable, channel.isActive { channel.writeAndFlush(Self.chunk, promise: nil) }
    }
}
