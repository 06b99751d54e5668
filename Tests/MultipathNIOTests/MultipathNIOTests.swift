import LinuxNet
import NIOCore
import NIOPosix
import Testing

@testable import Multipath
@testable import MultipathNIO

@Suite("MultipathNIO")
struct MultipathNIOTests {
    typealias Stream = NIOAsyncChannel<ByteBuffer, ByteBuffer>
    private let anyPort = IPEndpoint(IPAddress(ipv4: 0x7F00_0001), port: 0)

    @Sendable
    private static func wrap(_ channel: any Channel) -> EventLoopFuture<Stream> {
        channel.eventLoop.makeCompletedFuture {
            try channel.syncOptions?.setOption(.allowRemoteHalfClosure, value: true)
            return try Stream(
                wrappingChannelSynchronously: channel,
                configuration: .init(isOutboundHalfClosureEnabled: true))
        }
    }

    /// Serves one connection by sending all it gets back, then runs `client` with the port.
    /// - Returns: the client's value, and the server's own transfer report.
    private func withEcho<Value: Sendable>(
        _ client: @escaping @Sendable (Int) async throws -> Value
    ) async throws -> (value: Value, server: TransferReport) {
        let listener = try await MultipathServerBootstrap().bind(
            to: anyPort, childChannelInitializer: Self.wrap)
        let port = Int(listener.endpoint.port)
        async let server = listener.executeThenClose { connections in
            var iterator = connections.makeAsyncIterator()
            let accepted = try #require(await iterator.next())
            // Awaiting each write: closing a channel drops what its asynchronous writer still holds.
            let channel = accepted.connection.channel
            try await accepted.output.executeThenClose { inbound, _ in
                for try await buffer in inbound { try await channel.writeAndFlush(buffer) }
            }
            return accepted.connection.transferReport()
        }
        let value = try await client(port)
        return (value, try await server)
    }

    private func exchange(_ stream: Stream, bytes: Int) async throws -> Int {
        try await stream.executeThenClose { inbound, outbound in
            async let received = inbound.reduce(0) { $0 + $1.readableBytes }
            let chunk = ByteBuffer(repeating: 0x5A, count: 64 * 1024)
            var rest = bytes
            while rest > 0 {
                try await outbound.write(
                    chunk.getSlice(at: 0, length: min(rest, chunk.readableBytes)) ?? chunk)
                rest -= min(rest, chunk.readableBytes)
            }
            outbound.finish()
            return try await received
        }
    }

    @Test("carries bytes both ways with half-close, and reports them by path at both ends")
    func echo() async throws {
        let size = 3 * 1024 * 1024 + 17
        let (client, server) = try await withEcho { port in
            let connected = try await MultipathBootstrap(
                group: .singletonMultiThreadedEventLoopGroup
            )
            .connect(host: "127.0.0.1", port: port, channelInitializer: Self.wrap)
            let (connection, stream) = (connected.connection, connected.output)
            let received = try await exchange(stream, bytes: size)
            #expect(received == size)
            return connection
        }
        for report in [client.transferReport(), server] {
            #expect(report.transport == .mptcp)
            #expect(report.paths.map(\.path) == ["lo"])
            #expect(report.bytesSent == UInt64(size))
            #expect(report.bytesReceived == UInt64(size))
        }
        #expect(client.transferReport().control == LocalSocketSource().level)
        // The kernel gives accepted connections its own path manager, whatever their listener had.
        let limit = LocalSocketSource().level.limit ?? .foreignSocket
        #expect(server.control == .observeOnly(because: limit))
    }

    @Test("adopts a channel that was opened elsewhere, and says how far it is steered")
    func follow() async throws {
        let (client, _) = try await withEcho { port in
            let stream = try await ClientBootstrap(group: .singletonMultiThreadedEventLoopGroup)
                .enableMPTCP(true)
                .connect(host: "127.0.0.1", port: port, channelInitializer: Self.wrap)
            let connection = try await MultipathConnection(adopting: stream.channel)
            #expect(connection.transport == .mptcp)
            #expect(try await exchange(stream, bytes: 5) == 5)
            return connection
        }
        let report = client.transferReport()
        #expect(report.bytesSent == 5 && report.bytesReceived == 5)
        #expect(report.paths.map(\.path) == ["lo"])
        // Its socket has the path manager of the network namespace, which is the kernel's unless it was chosen otherwise.
        #expect(report.control == .observeOnly(because: LocalSocketSource().level.limit ?? .foreignSocket))
    }

    @Test(
        "adopts no channel that must be steered and can't be, and leaves it as it was",
        arguments: [true, false])
    func cannotSteer(isMPTCP: Bool) async throws {
        let (seen, _) = try await withEcho { port in
            let stream = try await ClientBootstrap(group: .singletonMultiThreadedEventLoopGroup)
                .enableMPTCP(isMPTCP)
                .connect(host: "127.0.0.1", port: port, channelInitializer: Self.wrap)
            let error = await #expect(throws: SteeringUnavailableError.self) {
                _ = try await MultipathConnection(adopting: stream.channel, requiresSteering: true)
            }
            return (limit: error?.limit, read: try await exchange(stream, bytes: 5))
        }
        #expect(seen.read == 5)
        #expect(
            seen.limit == (isMPTCP ? LocalSocketSource().level.limit ?? .foreignSocket : .plainTCP))
    }

    @Test("tells a connection's events in order, from establishment to the end")
    func events() async throws {
        let (events, _) = try await withEcho { port in
            let connection = try await MultipathConnection.connect(host: "127.0.0.1", port: port) {
                $0.protocols = [.tcp]
            }
            try await connection.channel.close()
            return await connection.events.reduce(into: [ConnectionEvent]()) { $0.append($1) }
        }
        let kinds = events.map { event in
            switch event {
            case .established(let report): "established \(report.transport)"
            case .fallback(let reason): "fallback \(reason)"
            case .closed(let report): "closed \(report.paths.map(\.path.name))"
            default: "\(event)"
            }
        }
        #expect(
            kinds == [
                "established tcp (fallback: disabled, as asked)", "fallback disabled",
                #"closed ["lo"]"#,
            ])
    }

    @Test(
        "tells each of several tasks the same events, and one that is cancelled no more",
        .timeLimit(.minutes(1)))
    func severalConsumers() async throws {
        _ = try await withEcho { port in
            let connection = try await MultipathConnection.connect(host: "127.0.0.1", port: port)
            let cancelled = Task { await connection.events.reduce(into: 0) { count, _ in count += 1 } }
            while connection.establishment == nil { await Task.yield() }
            let logs = await withTaskGroup(of: [ConnectionEvent].self) { group in
                for _ in 0..<3 {
                    var events = connection.events.makeAsyncIterator()
                    let first = await events.next()
                    group.addTask {
                        var log = [first].compactMap { $0 }
                        while let event = await events.next() { log.append(event) }
                        return log
                    }
                }
                cancelled.cancel()
                #expect(await cancelled.value <= 1)
                for number in 1...50 { connection.follower.tell(.steering(.joined(PathID("wlan\(number)")))) }
                connection.channel.close(promise: nil)
                return await group.reduce(into: []) { $0.append($1) }
            }
            let joins = (1...50).map { ConnectionEvent.steering(.joined(PathID("wlan\($0)"))) }
            for log in logs {
                #expect(log.first == connection.establishment.map { .established($0) })
                #expect(Array(log.dropFirst().dropLast()) == joins)
                #expect(log.last == .closed(connection.transferReport()))
            }
        }
    }

    /// Writes down what it hears of one connection.
    private struct Observer: ConnectionObserver, ConnectionObservation {
        let add: @Sendable (String) -> Void

        func connecting(
            host: String, port: Int, _ configuration: ConnectionConfiguration
        ) -> (any ConnectionObservation)? { self }

        func connected(_ report: EstablishmentReport) { add("connected over \(report.path)") }

        func closed(_ report: TransferReport) {
            add("closed after \(report.bytesSent) bytes")
            add("")
        }
    }

    @Test("tells its connector's observers of each channel, and of its end with all it carried")
    func observers() async throws {
        let (lines, line) = AsyncStream.makeStream(of: String.self)
        let connector = Connector(observers: [Observer { line.yield($0) }])
        _ = try await withEcho { port in
            let stream = try await MultipathBootstrap(
                group: .singletonMultiThreadedEventLoopGroup, connector: connector
            ).connect(host: "127.0.0.1", port: port, channelInitializer: Self.wrap).output
            #expect(try await exchange(stream, bytes: 5) == 5)
        }
        let heard = await lines.prefix { !$0.isEmpty }.reduce(into: []) { $0.append($1) }
        #expect(heard == ["connected over lo", "closed after 5 bytes"])
    }

    @Test("is not made for a task that was cancelled before, and the error says so")
    func cancelledBefore() async throws {
        let listener = try await MultipathServerBootstrap().bind(
            to: anyPort, childChannelInitializer: Self.wrap)
        let port = Int(listener.endpoint.port)
        // The paths are known, so that no task but the caller's is there to be cancelled.
        _ = try await Connector.shared.monitor.currentPath()
        let task = Task {
            while !Task.isCancelled { await Task.yield() }
            return try await MultipathConnection.connect(host: "127.0.0.1", port: port)
        }
        task.cancel()
        let error = await #expect(throws: ConnectionError.self) { try await task.value.channel.close() }
        #expect(error?.code == .cancelled)
        try await listener.executeThenClose { _ in }
    }

    @Test("has TCP_NODELAY on, by MPTCP and by TCP")
    func noDelay() async throws {
        for usesMPTCP in [true, false] {
            let (value, _) = try await withEcho { port in
                let channel = try await MultipathBootstrap(group: .singletonMultiThreadedEventLoopGroup)
                    .configure { $0.protocols = usesMPTCP ? [.mptcp, .tcp] : [.tcp] }.connect(
                        host: "127.0.0.1", port: port
                    ).get()
                let value = try await channel.getOption(.tcpOption(.tcp_nodelay)).get()
                try await channel.close()
                return value
            }
            #expect(value != 0)
        }
    }

    @Test("keeps a bootstrap's own options and handlers")
    func bootstrap() async throws {
        let (name, _) = try await withEcho { port in
            let channel = try await MultipathBootstrap(group: .singletonMultiThreadedEventLoopGroup)
                .mode(.interactive).connectTimeout(.seconds(5))
                .channelOption(.autoRead, value: false)
                .channelInitializer { channel in
                    channel.pipeline.addHandler(Marker(), name: "marker")
                }
                .connect(host: "127.0.0.1", port: port).get()
            let name = try await channel.pipeline.context(name: "marker").map(\.name).get()
            #expect(try await channel.getOption(.autoRead).get() == false)
            try await channel.close()
            return name
        }
        #expect(name == "marker")
    }

    private final class Marker: ChannelInboundHandler, Sendable {
        typealias InboundIn = ByteBuffer
    }

    @Test("tells a listener which of its connections are MPTCP")
    func listener() async throws {
        for usesMPTCP in [true, false] {
            let (_, server) = try await withEcho { port in
                let connection = try await MultipathConnection.connect(host: "127.0.0.1", port: port) {
                    $0.protocols = usesMPTCP ? [.mptcp, .tcp] : [.tcp]
                }
                try await connection.channel.close()
            }
            #expect(server.transport == (usesMPTCP ? .mptcp : .tcp(fallback: .peer)))
        }
    }

    @Test("fails with the race's error, and for a port out of range")
    func failures() async throws {
        let listener = try await MultipathServerBootstrap().bind(
            to: anyPort, childChannelInitializer: Self.wrap)
        let closed = Int(listener.endpoint.port)
        try await listener.executeThenClose { _ in }
        let bootstrap = MultipathBootstrap(group: .singletonMultiThreadedEventLoopGroup)
        let refused = await #expect(throws: ConnectionError.self) {
            try await bootstrap.connect(host: "127.0.0.1", port: closed).get()
        }
        #expect(refused?.code == .allAttemptsFailed)
        let invalid = await #expect(throws: ConnectionError.self) {
            try await bootstrap.connect(host: "127.0.0.1", port: 65_536).get()
        }
        #expect(invalid?.code == .invalidPort)
    }

    @Test("says why it can't listen on an address")
    func listenFailure() async throws {
        let listener = try await MultipathServerBootstrap().bind(
            to: anyPort, childChannelInitializer: Self.wrap)
        let error = await #expect(throws: ListenError.self) {
            _ = try await MultipathServerBootstrap().bind(
                to: listener.endpoint, childChannelInitializer: Self.wrap)
        }
        #expect(error.map { "\($0)" } == "can't listen on \(listener.endpoint): Address already in use")
        try await listener.executeThenClose { _ in }
    }
}
