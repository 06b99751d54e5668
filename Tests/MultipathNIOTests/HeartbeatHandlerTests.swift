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
        let firstUnanswered = Locked<MonotonicTime?>(nil)
        let pings = Locked(0)

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            guard unwrapInboundIn(data) == ByteBuffer(string: "ping") else { return }
            pings.withLock { $0 += 1 }
            if isDumb.withLock({ $0 }) {
                firstUnanswered.withLock { $0 = $0 ?? .now }
                return
            }
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

    /// Ends its connection by a reset when it is asked.
    private final class Resetting: ChannelInboundHandler, Sendable {
        typealias InboundIn = ByteBuffer

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            let channel = context.channel
            guard let options = channel as? any SocketOptionProvider else { return }
            options.setSoLinger(linger(l_onoff: 1, l_linger: 0)).whenComplete { _ in
                channel.close(promise: nil)
            }
        }
    }

    @Test("learns by a reset that the network had forgotten the connection, and by its own end nothing")
    func reset() async throws {
        for isReset in [true, false] {
            let listener = try await ServerBootstrap(group: .singletonMultiThreadedEventLoopGroup)
                .childChannelInitializer { channel in
                    channel.eventLoop.makeCompletedFuture {
                        if isReset { try channel.pipeline.syncOperations.addHandler(Resetting()) }
                    }
                }
                .bind(host: "127.0.0.1", port: 0).get()
            let port = try #require(listener.localAddress?.port)
            let connection = try await MultipathConnection.connect(host: "127.0.0.1", port: port)
            var tuning = HeartbeatTuning()
            (tuning.firstInterval, tuning.longestInterval) = (.milliseconds(100), .milliseconds(200))
            (tuning.shortestInterval, tuning.leastPatience) = (.milliseconds(20), .seconds(20))
            let hub = HeartbeatHub.onEventThread(tuning: tuning)
            let network = try #require(connection.follower.heartbeatNetwork)
            let pings = Locked(0)
            try await connection.channel.eventLoop.submit {
                let handler = HeartbeatHandler<ByteBuffer, ByteBuffer>(
                    of: connection, pingSize: 4,
                    ping: {
                        pings.withLock { $0 += 1 }
                        return ByteBuffer(string: "ping")
                    }, isAnswer: { _ in false })
                handler.hub = hub
                try connection.channel.pipeline.syncOperations.addHandler(handler)
            }.get()
            try await Program.wait("a ping") { pings.withLock { $0 } > 0 }
            if !isReset { try await connection.channel.close() }
            try await connection.channel.closeFuture.get()
            let search = await hub.search(of: network)
            #expect((search?.lost != nil) == isReset, "\(String(describing: search))")
            try await listener.close()
        }
    }

    /// Notes when pings come, and answers them.
    private final class Noting: ChannelInboundHandler, Sendable {
        typealias InboundIn = ByteBuffer
        let times = Locked<[MonotonicTime]>([])

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            times.withLock { $0.append(.now) }
            context.writeAndFlush(NIOAny(ByteBuffer(string: "pong")), promise: nil)
        }
    }

    @Test("goes together with those of a thousand other connections, as their server sees it")
    func together() async throws {
        let count = 1_000
        let noting = Noting()
        let listener = try await ServerBootstrap(group: .singletonMultiThreadedEventLoopGroup)
            .serverChannelOption(.backlog, value: 1_024)
            .childChannelInitializer { $0.pipeline.addHandler(noting) }
            .bind(host: "127.0.0.1", port: 0).get()
        let port = try #require(listener.localAddress?.port)
        let interval = Duration.seconds(5)
        var tuning = HeartbeatTuning()
        (tuning.firstInterval, tuning.longestInterval) = (interval, interval)
        (tuning.shortestInterval, tuning.leastPatience) = (.milliseconds(100), .seconds(15))
        // Of 30 s a tenth is 3 s; of these 5 s it would be less than a thousand answers take on a busy machine.
        tuning.slack = 0.3
        let hub = HeartbeatHub.onEventThread(tuning: tuning)
        var connections: [MultipathConnection] = []
        for _ in 0..<count {
            let connection = try await MultipathConnection.connect(host: "127.0.0.1", port: port) {
                $0.protocols = [.tcp]
            }
            connections.append(connection)
            try await connection.channel.eventLoop.submit {
                let handler = HeartbeatHandler<ByteBuffer, ByteBuffer>(
                    of: connection, pingSize: 4, ping: { ByteBuffer(string: "ping") },
                    isAnswer: { $0 == ByteBuffer(string: "pong") })
                handler.hub = hub
                try connection.channel.pipeline.syncOperations.addHandler(handler)
            }.get()
        }
        // They meet within some intervals.
        try await Task.sleep(for: interval * 2)
        let begun = hub.wakeUpCount
        noting.times.withLock { $0 = [] }
        try await Task.sleep(for: interval * 3)
        let wakeUps = hub.wakeUpCount - begun
        let times = noting.times.withLock { $0 }
        let bursts = 1 + zip(times, times.dropFirst()).count { $0.duration(to: $1) > .milliseconds(150) }
        print(
            "measured: \(times.count) pings of \(count) connections in \(wakeUps) wake-ups, \(bursts) bursts")
        #expect(times.count >= count * 2)
        // Some four each where nothing else runs, and two thousand where each went by itself.
        #expect(wakeUps <= 40 && bursts <= 40, "\(wakeUps) wake-ups, \(bursts) bursts")
        for connection in connections { try? await connection.channel.close() }
        try await listener.close()
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
        let died = Locked<MonotonicTime?>(nil)
        let report = try await connection.channel.eventLoop.submit {
            let handler = HeartbeatHandler<ByteBuffer, ByteBuffer>(
                of: connection, pingSize: 4, ping: { ByteBuffer(string: "ping") },
                isAnswer: { $0 == ByteBuffer(string: "pong") },
                told: { event in
                    if case .dead = event { died.withLock { $0 = .now } }
                    told.withLock { $0.append(event) }
                })
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
        let asked = try #require(answering.firstUnanswered.withLock { $0 })
        let dead = try #require(died.withLock { $0 })
        print("measured: the peer is dead \(asked.duration(to: dead)) after the first ping without an answer")
        // Twice the patience, and what a busy machine takes.
        #expect(asked.duration(to: dead) < tuning.leastPatience * 2 + .seconds(2))
        let last = told.withLock { $0.suffix(2) }
        #expect(last.first == .unanswered)
        if case .dead? = last.last {} else { Issue.record("\(last)") }
        try await listener.close()
    }
}
