import NIOCore
import NIOPosix
import TestSupport
import Testing

@testable import LinuxNet
@testable import Multipath
@testable import MultipathNIO

@Suite("A heartbeat in a channel")
struct HeartbeatHandlerTests {
    /// Answers pings until it is told not to.
    private final class Answering: ChannelInboundHandler, Sendable {
        typealias InboundIn = ByteBuffer
        let isDumb = Locked(false)
        let pings = Locked(0)

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            guard unwrapInboundIn(data) == ByteBuffer(string: "ping") else { return }
            pings.withLock { $0 += 1 }
            if isDumb.withLock({ $0 }) { return }
            context.writeAndFlush(NIOAny(ByteBuffer(string: "pong")), promise: nil)
        }
    }

    private final class Ends: ChannelInboundHandler, Sendable {
        typealias InboundIn = ByteBuffer
        let errors = Locked<[String]>([])
        let messages = Locked<[String]>([])

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            messages.withLock { $0.append(String(buffer: unwrapInboundIn(data))) }
        }

        func errorCaught(context: ChannelHandlerContext, error: any Error) {
            errors.withLock { $0.append("\(type(of: error))") }
        }
    }

    @Test("asks while nothing comes, swallows the answers, and closes the channel of a peer that gives none")
    func asks() async throws {
        let answering = Answering()
        let listener = try await ServerBootstrap(group: .singletonMultiThreadedEventLoopGroup)
            .childChannelInitializer { $0.pipeline.addHandler(answering) }
            .bind(host: "127.0.0.1", port: 0).get()
        let port = try #require(listener.localAddress?.port)
        let connection = try await MultipathConnection.connect(host: "127.0.0.1", port: port)
        var tuning = HeartbeatTuning()
        (tuning.firstInterval, tuning.longestInterval) = (.milliseconds(100), .milliseconds(200))
        (tuning.shortestInterval, tuning.leastPatience) = (.milliseconds(20), .seconds(2))
        let hub = HeartbeatHub.onEventThread(tuning: tuning)
        let ends = Ends()
        let told = Locked<[Heartbeat.Event]>([])
        let report = try await connection.channel.eventLoop.submit {
            let handler = HeartbeatHandler<ByteBuffer, ByteBuffer>(
                of: connection, pingSize: 4, ping: { ByteBuffer(string: "ping") },
                isAnswer: { $0 == ByteBuffer(string: "pong") },
                told: { event in told.withLock { $0.append(event) } })
            handler.hub = hub
            try connection.channel.pipeline.syncOperations.addHandlers([handler, ends])
            return NIOLoopBound(handler, eventLoop: connection.channel.eventLoop)
        }.get()
        try await Program.wait("some answers") {
            told.withLock { $0.count { if case .answered = $0 { true } else { false } } } >= 3
        }
        let pings = try await connection.channel.eventLoop.submit { report.value.report?.pings ?? 0 }.get()
        #expect(pings >= 3)
        answering.isDumb.withLock { $0 = true }
        try await connection.channel.closeFuture.get()
        #expect(ends.errors.withLock { $0 } == ["HeartbeatError"])
        #expect(ends.messages.withLock { $0 }.isEmpty)
        let last = told.withLock { $0.suffix(2) }
        #expect(last.first == .unanswered)
        if case .dead? = last.last {} else { Issue.record("\(last)") }
        try await listener.close()
    }
}
