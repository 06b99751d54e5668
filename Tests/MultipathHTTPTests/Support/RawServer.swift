#if HTTP
    import LinuxNet
    import NIOCore
    import NIOPosix
    import NIOSSL

    /// A server on loopback that answers each request with bytes of the test's choice: what no library would send.
    final class RawServer: Sendable {
        /// What a connection gets for a request.
        struct Answer: Sendable {
            enum End: Sendable {
                case keepsOpen
                case closes
                /// Without a farewell: the client's kernel gets a reset.
                case resets
            }

            var bytes: [UInt8]
            var end: End
            /// How long the client waits for it.
            var delay = TimeAmount.zero

            init(_ text: String, _ end: End = .keepsOpen) { self.init(bytes: Array(text.utf8), end) }

            init(bytes: [UInt8], _ end: End = .keepsOpen) {
                self.bytes = bytes
                self.end = end
            }

            static func ok(_ body: String) -> Answer {
                Answer("HTTP/1.1 200 OK\r\nContent-Length: \(body.utf8.count)\r\n\r\n\(body)")
            }
        }

        /// - Parameters:
        ///   - connection: the connection's number, from 1.
        ///   - request: its head, and what had arrived of its body.
        typealias Manner = @Sendable (_ connection: Int, _ request: String) -> Answer?

        private let channel: any Channel
        private let counter: Counter
        let port: Int

        /// - Parameters:
        ///   - tls: nil for a server without TLS.
        ///   - isRequest: whether what has come since the last answer is one to answer; an HTTP/1.1 head unless given.
        init(
            tls: NIOSSLContext? = nil, isRequest: @escaping @Sendable (Int, ByteBuffer) -> Bool = hasHead,
            _ manner: @escaping Manner
        ) async throws {
            let counter = Counter()
            self.counter = counter
            channel = try await ServerBootstrap(group: .singletonMultiThreadedEventLoopGroup)
                .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
                .childChannelInitializer { channel in
                    channel.eventLoop.makeCompletedFuture {
                        if let tls {
                            try channel.pipeline.syncOperations.addHandler(NIOSSLServerHandler(context: tls))
                        }
                        try channel.pipeline.syncOperations.addHandler(
                            Script(tls == nil ? counter.next() : nil, isRequest, manner, counter))
                    }
                }.bind(host: "127.0.0.1", port: 0).get()
            port = channel.localAddress?.port ?? 0
        }

        static let hasHead: @Sendable (Int, ByteBuffer) -> Bool = { String(buffer: $1).contains("\r\n\r\n") }

        /// The same answer for every request.
        convenience init(always answer: Answer) async throws { try await self.init { _, _ in answer } }

        func url(_ path: String = "/") -> String { "http://127.0.0.1:\(port)\(path)" }

        /// How many connections came.
        var connections: Int { counter.state.withLock { $0.connections } }

        /// The heads of all requests, in the order in which they came.
        var requests: [String] { counter.state.withLock { $0.requests } }

        func close() async { try? await channel.close() }

        fileprivate final class Counter: Sendable {
            let state = Locked((connections: 0, requests: [String]()))

            func next() -> Int {
                state.withLock { state in
                    state.connections += 1
                    return state.connections
                }
            }
        }

        private final class Script: ChannelInboundHandler {
            typealias InboundIn = ByteBuffer
            typealias OutboundOut = ByteBuffer

            /// With TLS from its first bytes on: a handshake that takes long has another connection tried beside it.
            private var number: Int?
            private let isRequest: @Sendable (Int, ByteBuffer) -> Bool
            private let manner: Manner
            private let counter: Counter
            private var pending = ByteBuffer()

            init(
                _ number: Int?, _ isRequest: @escaping @Sendable (Int, ByteBuffer) -> Bool,
                _ manner: @escaping Manner, _ counter: Counter
            ) {
                self.number = number
                self.isRequest = isRequest
                self.manner = manner
                self.counter = counter
            }

            func channelRead(context: ChannelHandlerContext, data: NIOAny) {
                pending.writeImmutableBuffer(unwrapInboundIn(data))
                let number = number ?? counter.next()
                self.number = number
                guard isRequest(number, pending) else { return }
                let request = String(buffer: pending)
                pending.clear()
                counter.state.withLock { $0.requests.append(request) }
                guard let answer = manner(number, request) else { return }
                let loop = context.eventLoop
                let bound = NIOLoopBound(context, eventLoop: loop)
                let bytes = ByteBuffer(bytes: answer.bytes)
                loop.scheduleTask(in: answer.delay) {
                    bound.value.writeAndFlush(NIOAny(bytes))
                }.futureResult.flatMap { $0 }.whenComplete { _ in
                    switch answer.end {
                    case .keepsOpen: break
                    case .closes: bound.value.close(promise: nil)
                    case .resets:
                        // A reset instead of a farewell.
                        let provider = bound.value.channel as? any SocketOptionProvider
                        provider?.setSoLinger(linger(l_onoff: 1, l_linger: 0)).whenComplete { _ in
                            bound.value.close(promise: nil)
                        }
                    }
                }
            }

            func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }
        }
    }
#endif
