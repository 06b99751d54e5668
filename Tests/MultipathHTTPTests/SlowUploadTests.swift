#if HTTP
    import HTTPTypes
    import NIOCore
    import NIOPosix
    import Testing

    @testable import MultipathHTTP

    @Suite("A request over a slow path", .timeLimit(.minutes(2)))
    struct SlowUploadTests {
        /// Takes 12.8 MB a second at most, and answers when it has all.
        private final class SlowServer: ChannelInboundHandler {
            typealias InboundIn = ByteBuffer

            private let length: Int
            private var received = 0

            init(_ length: Int) { self.length = length }

            func channelActive(context: ChannelHandlerContext) { context.read() }

            func channelRead(context: ChannelHandlerContext, data: NIOAny) {
                received += unwrapInboundIn(data).readableBytes
                // The head is some hundred bytes on top.
                guard received > length else { return }
                let answer = ByteBuffer(string: "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
                context.writeAndFlush(NIOAny(answer), promise: nil)
            }

            func channelReadComplete(context: ChannelHandlerContext) {
                let bound = NIOLoopBound(context, eventLoop: context.eventLoop)
                context.eventLoop.scheduleTask(in: .milliseconds(20)) { bound.value.read() }
            }
        }

        @Test(
            "is none that stalls while its body goes out, however long that takes", arguments: [false, true])
        func slow(_ isStreamed: Bool) async throws {
            let length = 96 << 20
            let server = try await ServerBootstrap(group: .singletonMultiThreadedEventLoopGroup)
                .serverChannelOption(.socketOption(.so_rcvbuf), value: 128 << 10)
                .childChannelOption(.autoRead, value: false)
                .childChannelOption(.maxMessagesPerRead, value: 1)
                .childChannelOption(
                    .recvAllocator, value: FixedSizeRecvByteBufferAllocator(capacity: 256 << 10)
                )
                .childChannelInitializer { channel in
                    channel.eventLoop.makeCompletedFuture {
                        try channel.pipeline.syncOperations.addHandler(SlowServer(length))
                    }
                }.bind(host: "127.0.0.1", port: 0).get()
            let url = "http://127.0.0.1:\(server.localAddress?.port ?? 0)/"
            let bytes = ByteBuffer(repeating: 0, count: length)
            try await MultipathHTTPClient.withClient { client in
                let body: HTTPRequestBody =
                    isStreamed ? .restartable { try await $0.write(bytes) } : .bytes(bytes)
                // Several times as long as what the kernel keeps takes, and a fraction of what all takes.
                let (_, answer) = try await client.post(url, body: body, collectUpTo: 10) {
                    $0.stallTimeout = .seconds(3)
                }
                #expect(String(buffer: answer) == "ok")
            }
            try await server.close()
        }
    }
#endif
