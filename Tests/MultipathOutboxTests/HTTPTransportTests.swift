#if Outbox && HTTP
    import Foundation
    import MultipathHTTP
    import MultipathOutbox
    import MultipathTesting
    import NIOCore
    import NIOPosix
    import TestSupport
    import Testing

    @Suite("An outbox that sends by HTTP", .timeLimit(.minutes(1)))
    struct HTTPTransportTests {
        @Test("has each request done once at a server that often fails")
        func deliveries() async throws {
            let folder = try TemporaryFolder()
            let server = try await ForgetfulServer(seed: 5, failures: 2)
            let paths = ScriptedPaths([.wifi("wlan0")])
            let client = MultipathHTTPClient()
            let outbox = try await Outbox.open(
                at: folder.file("outbox.sqlite"), transport: HTTPOutboxTransport(client),
                monitor: paths.monitor)
            let running = Task { try await outbox.run() }
            try await outbox.submit(
                (0..<40).map { number in
                    OutboxRequest(
                        .mustArrive, url: "http://127.0.0.1:\(server.port)/readings/\(number)",
                        headers: [.init("Content-Type", "text/plain")],
                        body: Array("reading \(number)".utf8), urgency: number % 8,
                        idempotencyKey: "\(number)")
                })
            try await Program.wait("all to arrive", within: .seconds(50)) {
                // A path that comes is what wakes those that wait.
                paths.lose("wlan0")
                paths.restore("wlan0")
                try await Task.sleep(for: .milliseconds(50))
                return try await outbox.entries().isEmpty
            }
            await outbox.close()
            try await running.value
            let ledger = server.ledger
            #expect(ledger.done.count == 40 && ledger.done.values.allSatisfy { $0 == 1 })
            for number in 0..<40 { #expect(ledger.bodies["\"\(number)\""] == "reading \(number)") }
            await client.close()
            await server.close()
        }

        @Test("tells what the server says, a time-out, and what is no request")
        func outcomes() async throws {
            let server = try await Self.server(
                "HTTP/1.1 503 later\r\nRetry-After: 7\r\nContent-Length: 0\r\n\r\n")
            let silent = try await Self.server("")
            // Portals', say, which have not taken it.
            let portal = try await Self.server(
                "HTTP/1.1 302 Found\r\nLocation: http://192.0.2.1/login\r\nContent-Length: 0\r\n\r\n")
            let other = try await Self.server(
                "HTTP/1.1 303 See Other\r\nLocation: http://192.0.2.1/login\r\nContent-Length: 0\r\n\r\n")
            var configuration = MultipathHTTPClient.Configuration()
            configuration.options.requestTimeout = .milliseconds(300)
            let client = MultipathHTTPClient(configuration: configuration)
            let transport = HTTPOutboxTransport(client)
            func request(_ url: String, _ headers: [OutboxRequest.Header] = []) -> OutboxRequest {
                OutboxRequest(.important, url: url, headers: headers)
            }
            let url = "http://127.0.0.1:\(server.localAddress?.port ?? 0)/"
            #expect(
                try await transport.send(request(url)) == OutboxAnswer(status: 503, retryAfter: .seconds(7)))
            #expect(
                try await transport.send(request("http://127.0.0.1:\(portal.localAddress?.port ?? 0)/"))
                    == OutboxAnswer(status: 302))
            let elsewhere = await #expect(throws: MultipathHTTPError.self) {
                try await transport.send(request("http://127.0.0.1:\(other.localAddress?.port ?? 0)/"))
            }
            #expect(elsewhere?.status == 303)
            await #expect(throws: OutboxTimeout.self) {
                try await transport.send(request("http://127.0.0.1:\(silent.localAddress?.port ?? 0)/"))
            }
            for bad in [request("no url"), request(url, [.init("bad name", "x")])] {
                let error = await #expect(throws: MultipathHTTPError.self) { try await transport.send(bad) }
                #expect(error?.code == .invalidURL)
            }
            let refused = await #expect(throws: MultipathHTTPError.self) {
                try await transport.send(request("http://127.0.0.1:1/"))
            }
            #expect(refused?.code == .notConnected)
            await client.close()
            for channel in [server, silent, portal, other] { try await channel.close() }
        }

        /// Answers whatever comes with these bytes.
        private static func server(_ answer: String) async throws -> any Channel {
            try await ServerBootstrap(group: .singletonMultiThreadedEventLoopGroup)
                .childChannelInitializer { $0.pipeline.addHandler(Answering(answer)) }
                .bind(host: "127.0.0.1", port: 0).get()
        }

        private final class Answering: ChannelInboundHandler, Sendable {
            typealias InboundIn = ByteBuffer
            typealias OutboundOut = ByteBuffer

            private let answer: String

            init(_ answer: String) { self.answer = answer }

            func channelRead(context: ChannelHandlerContext, data: NIOAny) {
                guard !answer.isEmpty else { return }
                context.writeAndFlush(wrapOutboundOut(ByteBuffer(string: answer)), promise: nil)
            }
        }
    }
#endif
