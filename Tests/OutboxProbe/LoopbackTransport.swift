#if Outbox
    import MultipathOutbox
    import MultipathTesting
    import NIOCore
    import NIOHTTP1
    import NIOPosix

    /// Sends each request over a connection of its own, while there is a path.
    struct LoopbackTransport: OutboxTransport {
        struct NoPath: Error {}
        struct NoAnswer: Error {}

        let port: Int
        let paths: ScriptedPaths

        func send(_ request: OutboxRequest) async throws -> OutboxAnswer {
            guard paths.snapshot.status == .satisfied else { throw NoPath() }
            let channel = try await ClientBootstrap(group: .singletonMultiThreadedEventLoopGroup)
                .connect(host: "127.0.0.1", port: port) { channel in
                    channel.eventLoop.makeCompletedFuture {
                        try channel.pipeline.syncOperations.addHTTPClientHandlers()
                        return try NIOAsyncChannel<HTTPClientResponsePart, HTTPClientRequestPart>(
                            wrappingChannelSynchronously: channel)
                    }
                }
            return try await channel.executeThenClose { inbound, outbound in
                var headers = HTTPHeaders(request.headersWithKey.map { ($0.name, $0.value) })
                headers.add(name: "Content-Length", value: "\(request.body.count)")
                let head = HTTPRequestHead(
                    version: .http1_1, method: HTTPMethod(rawValue: request.method), uri: request.url,
                    headers: headers)
                try await outbound.write(.head(head))
                try await outbound.write(.body(.byteBuffer(ByteBuffer(bytes: request.body))))
                try await outbound.write(.end(nil))
                for try await case .head(let head) in inbound {
                    return OutboxAnswer(status: Int(head.status.code))
                }
                throw NoAnswer()
            }
        }
    }

    /// Paths that come and go at random, faster than any real ones.
    struct PathStorm {
        var seed: UInt64

        func run(_ paths: ScriptedPaths) async throws {
            var state = seed
            while true {
                // SplitMix64's step; which numbers they are is of no importance.
                state &+= 0x9E37_79B9_7F4A_7C15
                let word = (state ^ state >> 30) &* 0xBF58_476D_1CE4_E5B9
                try await Task.sleep(for: .milliseconds(Int64(10 + word >> 32 % 100)))
                let name = word & 1 == 0 ? "wlan0" : "wwan0"
                if word & 2 == 0 { paths.lose(name) } else { paths.restore(name) }
            }
        }
    }
#endif
