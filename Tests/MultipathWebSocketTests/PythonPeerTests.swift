#if HTTP
    import Foundation
    import Multipath
    import MultipathNIO
    import MultipathWebSocket
    import NIOCore
    import NIOSSL
    import TestSupport
    import Testing

    /// Python's `websockets`, on the other side.
    private enum Python {
        /// One that has the module: the first of the PATH, or the system's.
        static let path: String? = [Program.find("python3"), "/usr/bin/python3"].compactMap(\.self).first {
            path in
            let process = Process()
            process.executableURL = URL(fileURLWithPath: path)
            process.arguments = ["-c", "import websockets"]
            process.standardError = FileHandle.nullDevice
            guard (try? process.run()) != nil else { return false }
            process.waitUntilExit()
            return process.terminationStatus == 0
        }

        static let server = #"""
            import asyncio, ssl, sys, websockets
            async def serve(ws):
                async for message in ws:
                    if message == "close":
                        await ws.close(4000, "as asked")
                    elif message == "fragments":
                        await ws.send(["frag", "men", "ted"])
                    elif message == "ping":
                        await asyncio.wait_for(await ws.ping(), 10)
                        await ws.send("ponged")
                    else:
                        await ws.send(message)
            async def main():
                context = None
                if len(sys.argv) > 1:
                    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
                    context.load_cert_chain(sys.argv[1], sys.argv[2])
                async with websockets.serve(
                    serve, "127.0.0.1", 0, subprotocols=["chat.v1"], max_size=None, ssl=context
                ) as server:
                    print(list(server.sockets)[0].getsockname()[1], flush=True)
                    await asyncio.Future()
            asyncio.run(main())
            """#

        static let client = #"""
            import asyncio, sys, websockets
            async def main():
                async with websockets.connect(sys.argv[1], max_size=None, subprotocols=["chat.v1"]) as ws:
                    for length in [0, 1, 125, 126, 127, 65535, 65536, 1000000]:
                        for message in ["*" * length, bytes(length)]:
                            await ws.send(message)
                            assert await ws.recv() == message, length
                    await ws.send(["\u03ba", "\u1f79", "\u03c3\u03bc\u03b5"])
                    assert await ws.recv() == "\u03ba\u1f79\u03c3\u03bc\u03b5"
                    await asyncio.wait_for(await ws.ping(), 10)
                    await asyncio.wait_for(await ws.ping(b"x" * 125), 10)
                    await ws.close(1000, "done")
                    assert ws.close_code == 1000, ws.close_code
                async with websockets.connect(sys.argv[1]) as ws:
                    await ws.send("close")
                    try:
                        await ws.recv()
                        assert False
                    except websockets.ConnectionClosed as closed:
                        assert closed.rcvd.code == 4001 and closed.rcvd.reason == "as asked", closed
                print("all well")
            asyncio.run(main())
            """#
    }

    extension Trait where Self == ConditionTrait {
        fileprivate static var needsPythonWebsockets: ConditionTrait {
            .enabled(
                if: Python.path != nil || Requirement.isStrict,
                "no python3 with websockets on this machine: scripts/setup.sh test installs it")
        }
    }

    @Suite("Python's websockets", .needsPythonWebsockets, .timeLimit(.minutes(2)))
    struct PythonPeerTests {
        /// Starts a server, and gives its port.
        private func server(_ arguments: String...) async throws -> (Running, Int) {
            let running = try Running([try #require(Python.path), "-c", Python.server] + arguments)
            try await Program.wait("the server's port") {
                running.outputText.contains("\n") || !running.isRunning
            }
            let text = running.outputText.split(separator: "\n").first ?? ""
            return (running, try #require(Int(text), "\(running.errorText)"))
        }

        private func talk(_ socket: WebSocket) async throws {
            #expect(socket.subprotocol == "chat.v1")
            for length in [0, 1, 125, 126, 65_535, 65_536, 1_000_000] {
                let text = WebSocketMessage.text(String(repeating: "*", count: length))
                try await socket.send(text)
                #expect(try await socket.receive() == text)
            }
            let bytes = WebSocketMessage.binary(ByteBuffer(bytes: UInt8.min...UInt8.max))
            try await socket.send(bytes)
            #expect(try await socket.receive() == bytes)

            try await socket.send(.text) { writer in
                for piece in ["κ", "ό", "σ", "", "με"] {
                    try await writer.write(piece)
                    _ = try await socket.ping()
                }
            }
            #expect(try await socket.receive() == .text("κόσμε"))

            try await socket.send(.text("fragments"))
            let message = try #require(try await socket.receivePieces())
            var pieces: [String] = []
            for try await piece in message { pieces.append(String(buffer: piece)) }
            #expect(pieces.filter { !$0.isEmpty } == ["frag", "men", "ted"])

            try await socket.send(.text("ping"))
            #expect(try await socket.receive() == .text("ponged"))
            try await socket.send(.text("close"))
            let closure = WebSocketClosure(
                initiator: .remote, code: WebSocketCloseCode(rawValue: 4000), reason: "as asked")
            await #expect(throws: WebSocketError.closed(closure)) { try await socket.receive() }
        }

        private var options: WebSocketOptions {
            var options = WebSocketOptions()
            options.subprotocols = ["chat.v2", "chat.v1"]
            return options
        }

        @Test("serves our client")
        func serves() async throws {
            let (running, port) = try await server()
            try await talk(try await bootstrap.webSocket("ws://127.0.0.1:\(port)/", options: options))
            let closed = try await bootstrap.webSocket("ws://127.0.0.1:\(port)/", options: options)
            try await closed.close(.goingAway, reason: "bye")
            #expect(
                try await closed.closure()
                    == WebSocketClosure(initiator: .local, code: .goingAway, reason: "bye"))
            running.kill()
        }

        @Test(
            "serves our client by TLS, and is refused where its certificate is another host's",
            .needs("openssl"))
        func servesByTLS() async throws {
            let certificates = try await TestCertificates()
            let (running, port) = try await server(certificates.chain("good"), certificates.key)
            let loopback = try #require(IPAddress("127.0.0.1"))
            let resolver = StaticResolver(["server.example": [loopback], "other.example": [loopback]])
            let bootstrap = MultipathBootstrap(
                group: .singletonMultiThreadedEventLoopGroup, connector: Connector(resolver: resolver)
            ).configure { $0.protocols = [.tcp] }
            var tls = TLSConfiguration.makeClientConfiguration()
            tls.trustRoots = .file(certificates.root)
            let socket = try await bootstrap.webSocket(
                "wss://server.example:\(port)/", options: options, tls: tls)
            try await talk(socket)
            #expect(socket.connection?.applicationProtocol == nil)
            await #expect(throws: ConnectionError.self) {
                try await bootstrap.webSocket("wss://other.example:\(port)/", options: options, tls: tls)
            }
            running.kill()
        }

        @Test("is served by us")
        func isServed() async throws {
            let upgrader = WebSocketUpgrader { _ in .accept(subprotocol: "chat.v1") }
            let server = WebSocketServer(upgrader: upgrader) { socket in
                for try await message in socket.messages {
                    if message == .text("close") {
                        try await socket.close(WebSocketCloseCode(rawValue: 4001), reason: "as asked")
                    } else {
                        try await socket.send(message)
                    }
                }
            }
            let python = try #require(Python.path)
            try await server.run { url in
                let result = try await Program.run([python, "-c", Python.client, url], within: .seconds(60))
                #expect(result.outputText == "all well\n", "\(result.errors)")
            }
        }
    }
#endif
