import MultipathNIO
import NIOCore
import NIOPosix
import TestSupport
import Testing

@testable import LinuxNet
@testable import Multipath

@Suite("A channel that is followed")
struct ReconnectingTests {
    typealias Stream = NIOAsyncChannel<ByteBuffer, ByteBuffer>
    private static let anyPort = IPEndpoint(IPAddress(ipv4: 0x7F00_0001), port: 0)

    @Sendable
    private static func wrap(_ channel: any Channel) -> EventLoopFuture<Stream> {
        channel.eventLoop.makeCompletedFuture { try Stream(wrappingChannelSynchronously: channel) }
    }

    /// Serves each connection with its number, one byte, and then as `serve` says.
    private func withServer<Value: Sendable>(
        _ serve: @escaping @Sendable (Int, Stream) async throws -> Void,
        _ client: @escaping @Sendable (Int) async throws -> Value
    ) async throws -> Value {
        let listener = try await MultipathServerBootstrap().bind(
            to: Self.anyPort, childChannelInitializer: Self.wrap)
        return try await listener.executeThenClose { connections in
            try await withThrowingTaskGroup(of: Value?.self) { group in
                group.addTask {
                    try await withThrowingDiscardingTaskGroup { group in
                        var count = 0
                        for try await accepted in connections {
                            let number = count
                            count += 1
                            group.addTask { try? await serve(number, accepted.output) }
                        }
                    }
                    return nil
                }
                group.addTask { try await client(Int(listener.endpoint.port)) }
                defer { group.cancelAll() }
                for try await value in group { if let value { return value } }
                throw CancellationError()
            }
        }
    }

    private func bootstrap(_ connector: Connector = .shared) -> MultipathBootstrap {
        MultipathBootstrap(group: .singletonMultiThreadedEventLoopGroup, connector: connector)
            .configure { $0.protocols = [.tcp] }
    }

    @Test("tells its path's end and return among its events")
    func events() async throws {
        let monitor = PathMonitor()
        let (accepted, acceptance) = AsyncStream.makeStream(of: Void.self)
        let events = try await withServer { _, stream in
            acceptance.yield()
            try await stream.executeThenClose { inbound, _ in for try await _ in inbound {} }
        } _: { port in
            let connection = try await bootstrap(Connector(monitor: monitor))
                .connect(host: "127.0.0.1", port: port) { $0.eventLoop.makeSucceededVoidFuture() }
                .connection
            // A listener that closes before it has accepted drops an asynchronous channel that was not finished,
            // at which SwiftNIO traps.
            for await _ in accepted { break }
            let real = try await monitor.currentPath()
            var events = connection.events.makeAsyncIterator()
            var gone = real
            gone.excluded.removeAll { $0.interface.name == "lo" }
            for snapshot in [gone, real] {
                EventThread.shared.submit { monitor.lifetime.channel.publish(snapshot) }
            }
            var told: [ConnectionEvent] = []
            while let event = await events.next() {
                switch event {
                case .established, .fallback: continue
                case .viabilityChanged(true, _):
                    told.append(event)
                    try await connection.channel.close()
                case .closed: return told
                default: told.append(event)
                }
            }
            return told
        }
        #expect(
            events == [
                .viabilityChanged(isViable: false, reason: .interfaceGone),
                .viabilityChanged(isViable: true, reason: nil),
            ])
    }

    @Test("is replaced when its server closes it, and the work goes on where it was")
    func serverCloses() async throws {
        let bytes = try await withServer { number, stream in
            try await stream.executeThenClose { _, outbound in
                try await outbound.write(ByteBuffer(bytes: [UInt8(number)]))
            }
        } _: { port in
            try await bootstrap().withReconnection(
                host: "127.0.0.1", port: port, progress: [UInt8](), channelInitializer: Self.wrap
            ) { session, bytes in
                let output = session.output
                bytes += try await output.executeThenClose { inbound, _ in
                    session.connection.expectsData = true
                    return try await inbound.reduce(into: []) { $0 += $1.readableBytesView }
                }
                session.madeProgress()
                return bytes.count < 3 ? .reconnect : .finished
            }
        }
        #expect(bytes == [0, 1, 2])
    }

    @Test("is closed when its task is cancelled")
    func cancellation() async throws {
        let ended = OneShot()
        try await withServer { _, stream in
            try await stream.executeThenClose { inbound, _ in for try await _ in inbound {} }
            ended.fire()
        } _: { port in
            let isWorking = OneShot()
            let bootstrap = bootstrap()
            let task = Task {
                try await bootstrap.withReconnection(
                    host: "127.0.0.1", port: port, progress: 0, channelInitializer: Self.wrap
                ) { session, _ in
                    isWorking.fire()
                    try await session.output.executeThenClose { inbound, _ in
                        for try await _ in inbound {}
                    }
                    return .reconnect
                }
            }
            await isWorking.wait()
            task.cancel()
            await #expect(throws: CancellationError.self) { try await task.value }
            // The server sees the end.
            await ended.wait()
        }
        #expect(ended.isFired)
    }

    @Test("gives up with every attempt's reason where nothing listens, and at once for a wrong port")
    func failures() async throws {
        let listener = try await MultipathServerBootstrap().bind(
            to: Self.anyPort, childChannelInitializer: Self.wrap)
        let closed = Int(listener.endpoint.port)
        try await listener.executeThenClose { _ in }
        var options = ReconnectionOptions()
        options.budget = ReconnectionBudget(attempts: 3)
        options.backoff.base = .milliseconds(1)
        let error = await #expect(throws: ReconnectionError.self) {
            try await bootstrap().withReconnection(
                host: "127.0.0.1", port: closed, progress: 0, options: options, channelInitializer: Self.wrap
            ) { _, _ in .reconnect }
        }
        #expect((error?.underlying as? ConnectionError)?.reason == "Connection refused")
        let invalid = await #expect(throws: ConnectionError.self) {
            try await bootstrap().withReconnection(
                host: "127.0.0.1", port: 0, progress: 0, channelInitializer: Self.wrap
            ) { _, _ in .reconnect }
        }
        #expect(invalid?.code == .invalidPort)
    }
}
