import NIOConcurrencyHelpers
import NIOCore

/// Asks for segments, or sends them, one after the other, and times each to its last byte.
final class Segments: ChannelInboundHandler, Sendable {
    typealias InboundIn = ByteBuffer

    /// A letter and a number of eight bytes.
    static let headLength = 9
    /// Between the end of one and the begin of the next, in seconds.
    private static let pause = 0.05

    private struct State {
        var missing = 0
        var done: EventLoopPromise<Void>?
    }

    private let state = NIOLockedValueBox(State())
    private let results = NIOLockedValueBox<[[Double]]>([])

    /// - Parameters:
    ///   - isUpload: whether the segments go to the server; its answer is one byte.
    ///   - between: called after each segment, with how many have come.
    func run(
        _ channel: any Channel, _ clock: Clock, count: Int, size: Int, isUpload: Bool,
        between: (Int) throws -> Void
    ) async throws {
        for number in 1...count {
            let promise = channel.eventLoop.makePromise(of: Void.self)
            state.withLockedValue { $0 = State(missing: isUpload ? 1 : size, done: promise) }
            var request = ByteBuffer()
            request.writeInteger(UInt8(ascii: isUpload ? "U" : "D"))
            request.writeInteger(UInt64(size))
            if isUpload { request.writeRepeatingByte(UInt8(ascii: "s"), count: size) }
            let sent = clock.now
            // An answer that never comes counts from here until the end.
            results.withLockedValue { $0.append([sent, -1]) }
            channel.writeAndFlush(request, promise: nil)
            try await promise.futureResult.get()
            let now = clock.now
            results.withLockedValue { $0[number - 1] = [sent, now - sent] }
            try between(number)
            try await Task.sleep(for: .seconds(Self.pause))
        }
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let count = unwrapInboundIn(data).readableBytes
        let done = state.withLockedValue { state -> EventLoopPromise<Void>? in
            state.missing -= count
            guard state.missing <= 0 else { return nil }
            defer { state.done = nil }
            return state.done
        }
        done?.succeed()
    }

    func channelInactive(context: ChannelHandlerContext) {
        state.withLockedValue { state in
            defer { state.done = nil }
            return state.done
        }?.fail(ChannelError.eof)
        context.fireChannelInactive()
    }

    /// When each was asked for, and how long it took; -1 where it never was whole.
    var requests: [[Double]] { results.withLockedValue { $0 } }
}
