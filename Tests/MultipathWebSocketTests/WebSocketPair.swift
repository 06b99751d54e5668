#if HTTP
    import Multipath
    import MultipathNIO
    import MultipathWebSocket
    import NIOCore
    import NIOPosix
    import TestSupport

    /// A server of ours on loopback, which serves each WebSocket by a closure, and clients for it.
    struct WebSocketServer: Sendable {
        var options = WebSocketOptions()
        var upgrader: WebSocketUpgrader?
        var serve: @Sendable (WebSocket) async throws -> Void

        init(
            options: WebSocketOptions = WebSocketOptions(), upgrader: WebSocketUpgrader? = nil,
            serve: @escaping @Sendable (WebSocket) async throws -> Void = WebSocketServer.echo
        ) {
            self.options = options
            self.upgrader = upgrader
            self.serve = serve
        }

        /// Sends back what comes.
        static let echo: @Sendable (WebSocket) async throws -> Void = { socket in
            for try await message in socket.messages { try await socket.send(message) }
        }

        /// Runs the server as long as the body runs.
        ///
        /// - Parameter body: gets the server's address, without a path.
        func run<Value: Sendable>(
            _ body: @escaping @Sendable (String) async throws -> Value
        ) async throws -> Value {
            let upgrader = upgrader ?? WebSocketUpgrader(options: options)
            let listener = try await MultipathServerBootstrap().bind(
                to: IPEndpoint(IPAddress(ipv4: 0x7F00_0001), port: 0)
            ) { upgrader.upgrade($0) }
            return try await listener.executeThenClose { connections in
                try await withThrowingTaskGroup(of: Value?.self) { group in
                    group.addTask {
                        try await withThrowingDiscardingTaskGroup { group in
                            for try await accepted in connections {
                                group.addTask {
                                    guard let socket = try? await accepted.output.get() else { return }
                                    try? await serve(socket)
                                }
                            }
                        }
                        return nil
                    }
                    group.addTask { try await body("ws://127.0.0.1:\(listener.endpoint.port)") }
                    defer { group.cancelAll() }
                    for try await value in group { if let value { return value } }
                    throw CancellationError()
                }
            }
        }
    }

    /// A client's bootstrap without MPTCP, which some machines' loopback lacks.
    let bootstrap = MultipathBootstrap(group: .singletonMultiThreadedEventLoopGroup).configure {
        $0.protocols = [.tcp]
    }

    /// A peer without manners: it answers the first bytes it gets with bytes of the test's, and then keeps what comes.
    final class RawServer: Sendable {
        let port: Int
        private let channel: any Channel

        /// - Parameters:
        ///   - closes: whether it ends the connection after its answer.
        ///   - answer: gets the client's request.
        init(closes: Bool = false, _ answer: @escaping @Sendable (String) -> [UInt8]) async throws {
            channel = try await ServerBootstrap(group: .singletonMultiThreadedEventLoopGroup)
                .childChannelInitializer { channel in
                    channel.eventLoop.makeCompletedFuture {
                        try channel.pipeline.syncOperations.addHandler(Answerer(answer, closes: closes))
                    }
                }
                .bind(host: "127.0.0.1", port: 0).get()
            port = channel.localAddress?.port ?? 0
        }

        func close() async { try? await channel.close() }

        private final class Answerer: ChannelInboundHandler {
            typealias InboundIn = ByteBuffer
            typealias OutboundOut = ByteBuffer

            private let answer: @Sendable (String) -> [UInt8]
            private let closes: Bool
            private var request = ""
            private var isAnswered = false

            init(_ answer: @escaping @Sendable (String) -> [UInt8], closes: Bool) {
                self.answer = answer
                self.closes = closes
            }

            func channelRead(context: ChannelHandlerContext, data: NIOAny) {
                request += String(buffer: unwrapInboundIn(data))
                guard !isAnswered, request.contains("\r\n\r\n") else { return }
                isAnswered = true
                context.writeAndFlush(wrapOutboundOut(ByteBuffer(bytes: answer(request))), promise: nil)
                if closes { context.close(promise: nil) }
            }
        }
    }
#endif
