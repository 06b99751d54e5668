#if Outbox
    import NIOConcurrencyHelpers
    import NIOCore
    import NIOHTTP1
    import NIOPosix
    import TestSupport

    /// A server that knows idempotency keys, on loopback, and often fails: before it has done what is asked for, or after, its
    /// answer lost.
    final class ForgetfulServer: Sendable {
        struct Ledger: Sendable {
            /// How often each key's request was done.
            var done: [String: Int] = [:]
            /// Requests that came, also those of known keys.
            var received = 0
            /// Requests of known keys, which are not done again.
            var repeated = 0
            var bodies: [String: String] = [:]
            /// When so many are done, the server answers no more.
            var limit = Int.max
        }

        let port: Int
        private let channel: any Channel
        private let ledgerBox: NIOLockedValueBox<Ledger>

        var ledger: Ledger { ledgerBox.withLockedValue { $0 } }

        /// - Parameter failures: how many of 8 requests fail, half of them after they are done.
        init(seed: UInt64, failures: Int) async throws {
            let ledger = NIOLockedValueBox(Ledger())
            let random = NIOLockedValueBox(SplitMix64(seed: seed))
            ledgerBox = ledger
            channel = try await ServerBootstrap(group: .singletonMultiThreadedEventLoopGroup)
                .childChannelInitializer { channel in
                    channel.eventLoop.makeCompletedFuture {
                        try channel.pipeline.syncOperations.configureHTTPServerPipeline()
                        try channel.pipeline.syncOperations.addHandler(Handler(ledger, random, failures))
                    }
                }
                .bind(host: "127.0.0.1", port: 0).get()
            port = channel.localAddress?.port ?? 0
        }

        /// Answers no more when so many requests are done, so that a test has time for what it does then.
        func hold(after count: Int) { ledgerBox.withLockedValue { $0.limit = count } }

        func close() async { try? await channel.close() }

        private final class Handler: ChannelInboundHandler {
            typealias InboundIn = HTTPServerRequestPart
            typealias OutboundOut = HTTPServerResponsePart

            private let ledger: NIOLockedValueBox<Ledger>
            private let random: NIOLockedValueBox<SplitMix64>
            private let failures: Int
            private var head: HTTPRequestHead?
            private var body = ""

            init(
                _ ledger: NIOLockedValueBox<Ledger>, _ random: NIOLockedValueBox<SplitMix64>, _ failures: Int
            ) {
                self.ledger = ledger
                self.random = random
                self.failures = failures
            }

            func channelRead(context: ChannelHandlerContext, data: NIOAny) {
                switch unwrapInboundIn(data) {
                case .head(let head): (self.head, body) = (head, "")
                case .body(let bytes): body += String(buffer: bytes)
                case .end: answer(context)
                }
            }

            private func answer(_ context: ChannelHandlerContext) {
                let key = head?.headers["Idempotency-Key"].first ?? ""
                let (dice, kind) = random.withLockedValue {
                    (Int.random(in: 0..<8, using: &$0), Int.random(in: 0..<4, using: &$0))
                }
                let fails = dice < failures
                let isHeld = ledger.withLockedValue { ledger in
                    ledger.received += 1
                    return ledger.done.count >= ledger.limit
                }
                if isHeld { return }
                // Lost, or refused for now, before anything is done.
                if fails, kind == 0 { return context.close(promise: nil) }
                if fails, kind == 1 { return respond(context, .serviceUnavailable) }
                ledger.withLockedValue { ledger in
                    if ledger.done[key] == nil {
                        ledger.done[key] = 1
                        ledger.bodies[key] = body
                    } else {
                        ledger.repeated += 1
                    }
                }
                // Done, and the answer lost.
                if fails { return context.close(promise: nil) }
                respond(context, .created)
            }

            private func respond(_ context: ChannelHandlerContext, _ status: HTTPResponseStatus) {
                let head = HTTPResponseHead(
                    version: .http1_1, status: status, headers: ["Content-Length": "0"])
                context.write(wrapOutboundOut(.head(head)), promise: nil)
                context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
            }
        }
    }
#endif
