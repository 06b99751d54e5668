#if HTTP
    import LinuxNet
    import Multipath
    import NIOCore
    import NIOPosix
    import TestSupport
    import Testing

    @testable import MultipathHTTP

    @Suite("An answer that its reader leaves in the middle", .timeLimit(.minutes(1)))
    struct AbandonedAnswerTests {
        /// Answers without an end, and goes on where the client only says that it sends no more: then half a connection is left, as
        /// to a server that is busy writing.
        private final class Endless: ChannelInboundHandler {
            typealias InboundIn = ByteBuffer
            typealias OutboundOut = ByteBuffer

            private let ended: EventLoopPromise<Void>
            private var hasBegun = false

            init(_ ended: EventLoopPromise<Void>) { self.ended = ended }

            func channelRead(context: ChannelHandlerContext, data: NIOAny) {
                guard !hasBegun else { return }
                hasBegun = true
                let head = "HTTP/1.1 200 OK\r\nContent-Length: 1000000000000\r\n\r\n"
                context.write(wrapOutboundOut(ByteBuffer(string: head)), promise: nil)
                goOn(context)
            }

            private func goOn(_ context: ChannelHandlerContext) {
                let bound = NIOLoopBound((self, context), eventLoop: context.eventLoop)
                context.writeAndFlush(wrapOutboundOut(ByteBuffer(repeating: 0, count: 1 << 16)))
                    .whenSuccess { bound.value.0.goOn(bound.value.1) }
            }

            func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }

            func channelInactive(context: ChannelHandlerContext) { ended.succeed() }
        }

        @Test("is not sent any further: the server hears of it at once")
        func reset() async throws {
            let group = MultiThreadedEventLoopGroup.singleton
            let ended = group.next().makePromise(of: Void.self)
            let server = try await ServerBootstrap(group: group)
                .childChannelOption(.allowRemoteHalfClosure, value: true)
                .childChannelInitializer { channel in
                    channel.eventLoop.makeCompletedFuture {
                        try channel.pipeline.syncOperations.addHandler(Endless(ended))
                    }
                }.bind(host: "127.0.0.1", port: 0).get()
            let patience = group.next().scheduleTask(in: .seconds(20)) { ended.fail(StillThere()) }
            try await MultipathHTTPClient.withClient { client in
                let url = "http://127.0.0.1:\(server.localAddress?.port ?? 0)/"
                try await client.perform(request: MultipathHTTPClient.request(.get, url)) { _, body in
                    for try await _ in body { break }
                }
                try await ended.futureResult.get()
            }
            patience.cancel()
            try await server.close()
        }

        private struct StillThere: Error {}
    }
#endif
