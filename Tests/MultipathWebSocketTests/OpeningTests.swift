#if HTTP
    import MultipathWebSocket
    import NIOCore
    import NIOHTTP1
    import NIOPosix
    import Testing

    @Suite("The opening handshake", .timeLimit(.minutes(1)))
    struct OpeningTests {
        private func opening(
            of answer: @escaping @Sendable (String) -> [UInt8], closes: Bool = false,
            options: WebSocketOptions = WebSocketOptions()
        ) async throws -> Result<WebSocket, any Error> {
            let server = try await RawServer(closes: closes, answer)
            let result: Result<WebSocket, any Error>
            do {
                result = .success(
                    try await bootstrap.webSocket("ws://127.0.0.1:\(server.port)/", options: options))
            } catch {
                result = .failure(error)
            }
            await server.close()
            return result
        }

        @Test("takes frames that come in one piece with the answer")
        func earlyFrames() async throws {
            let socket = try await opening {
                WebSocketKey.acceptance(of: $0) + [0x81, 2, UInt8(ascii: "h"), UInt8(ascii: "i")]
            }.get()
            #expect(try await socket.receive() == .text("hi"))
        }

        @Test("takes frames that come in one piece with the answer and the connection's end")
        func earlyEnd() async throws {
            // The client sees all three at once only where it is late.
            for _ in 0..<50 {
                let opened = try await opening(
                    of: {
                        WebSocketKey.acceptance(of: $0) + [0x81, 2, UInt8(ascii: "h"), UInt8(ascii: "i")]
                    },
                    closes: true)
                let socket = try opened.get()
                #expect(try await socket.receive() == .text("hi"))
                await #expect(throws: WebSocketError.self) { try await socket.receive() }
            }
        }

        @Test("refuses a wrong Sec-WebSocket-Accept, and an answer without one")
        func wrongAccept() async throws {
            for accept in ["Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n", ""] {
                let result = try await opening { _ in
                    Array(
                        "HTTP/1.1 101 ok\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\(accept)\r\n".utf8)
                }
                #expect(throws: WebSocketError.invalidAnswer("a wrong Sec-WebSocket-Accept, or none")) {
                    try result.get()
                }
            }
        }

        @Test("refuses an answer whose Upgrade or Connection says something else")
        func wrongHeaders() async throws {
            let upgrade = try await opening { _ in
                Array("HTTP/1.1 101 ok\r\nUpgrade: h2c\r\nConnection: Upgrade\r\n\r\n".utf8)
            }
            #expect(throws: WebSocketError.invalidAnswer("Upgrade does not say websocket")) {
                try upgrade.get()
            }
            let connection = try await opening {
                Array(
                    String(decoding: WebSocketKey.acceptance(of: $0), as: UTF8.self)
                        .replacing("Connection: Upgrade", with: "Connection: close").utf8)
            }
            #expect(throws: WebSocketError.invalidAnswer("Connection does not say upgrade")) {
                try connection.get()
            }
        }

        @Test("refuses a subprotocol or an extension that was not offered")
        func unasked() async throws {
            let subprotocol = try await opening {
                WebSocketKey.acceptance(of: $0, "Sec-WebSocket-Protocol: other\r\n")
            }
            #expect(throws: WebSocketError.unexpectedSubprotocol("other")) { try subprotocol.get() }
            let name = try await opening {
                WebSocketKey.acceptance(of: $0, "Sec-WebSocket-Extensions: permessage-deflate\r\n")
            }
            #expect(throws: WebSocketError.unexpectedExtension("permessage-deflate")) { try name.get() }
        }

        @Test("tells of another status", arguments: [200, 302, 404, 503])
        func statuses(_ status: Int) async throws {
            let result = try await opening { _ in
                Array("HTTP/1.1 \(status) x\r\nContent-Length: 5\r\nLocation: /y\r\n\r\nhello".utf8)
            }
            let error = #expect(throws: WebSocketError.self) { try result.get() }
            guard case .refused(let head)? = error else {
                Issue.record("\(String(describing: error))")
                return
            }
            #expect(head.status.code == status && head.headers["Location"] == ["/y"])
        }

        @Test("ends with an error of its own where the server says what is no HTTP, or nothing, or too much")
        func garbage() async throws {
            let noise = try await opening { _ in Array("SSH-2.0-OpenSSH_9.2\r\n\r\n".utf8) }
            guard case .failure(WebSocketError.invalidAnswer) = noise else {
                Issue.record("\(noise)")
                return
            }
            let nothing = try await opening(of: { _ in [] }, closes: true)
            guard case .failure(WebSocketError.connectionLost) = nothing else {
                Issue.record("\(nothing)")
                return
            }
            let endless = try await opening { _ in
                Array("HTTP/1.1 101 ok\r\n".utf8)
                    + Array(
                        repeating: Array("X: \(String(repeating: "y", count: 1000))\r\n".utf8), count: 2000
                    ).flatMap(\.self)
            }
            guard case .failure(WebSocketError.invalidAnswer) = endless else {
                Issue.record("\(endless)")
                return
            }
        }

        @Test("gives a silent server up after its time, and ends when its task is cancelled")
        func silence() async throws {
            var options = WebSocketOptions()
            options.openingTimeout = .milliseconds(100)
            let late = try await opening(of: { _ in [] }, options: options)
            #expect(throws: WebSocketError.openingTimedOut(.milliseconds(100))) { try late.get() }

            let asked = AsyncStream.makeStream(of: Void.self)
            let server = try await RawServer { _ in
                asked.continuation.yield()
                return []
            }
            let task = Task { try await bootstrap.webSocket("ws://127.0.0.1:\(server.port)/") }
            for await _ in asked.stream { break }
            task.cancel()
            await #expect(throws: CancellationError.self) { try await task.value }
            await server.close()
        }

        @Test("refuses headers and subprotocols that can't be sent, before it connects")
        func ourHeaders() async {
            for (name, value) in [
                ("Host", "x"), ("sec-websocket-key", "x"), ("Upgrade", "x"), ("a b", "x"), ("", "x"),
                ("X", "a\r\nb"),
            ] {
                var options = WebSocketOptions()
                options.headers.add(name: name, value: value)
                await #expect(throws: WebSocketError.invalidHeader(name)) {
                    try await bootstrap.webSocket("ws://127.0.0.1:1/", options: options)
                }
            }
            for names in [["a b"], [""], ["twice", "twice"], ["a,b"]] {
                var options = WebSocketOptions()
                options.subprotocols = names
                await #expect(throws: WebSocketError.invalidSubprotocol(names[names.count - 1])) {
                    try await bootstrap.webSocket("ws://127.0.0.1:1/", options: options)
                }
            }
        }
    }

    @Suite("A request that is no opening of a WebSocket", .timeLimit(.minutes(1)))
    struct UpgraderTests {
        /// What a server of ours answers to bytes, to the connection's end.
        private func answer(to request: String) async throws -> String {
            try await WebSocketServer().run { url in
                let port = Int(url.split(separator: ":")[2]) ?? 0
                let channel = try await ClientBootstrap(group: .singletonMultiThreadedEventLoopGroup)
                    .connect(host: "127.0.0.1", port: port) { channel in
                        channel.eventLoop.makeCompletedFuture {
                            try NIOAsyncChannel<ByteBuffer, ByteBuffer>(wrappingChannelSynchronously: channel)
                        }
                    }
                return try await channel.executeThenClose { inbound, outbound in
                    try await outbound.write(ByteBuffer(string: request))
                    var answer = ""
                    for try await bytes in inbound { answer += String(buffer: bytes) }
                    return answer
                }
            }
        }

        private static let good = [
            "GET /chat HTTP/1.1", "Host: server.example", "Upgrade: websocket", "Connection: Upgrade",
            "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==", "Sec-WebSocket-Version: 13",
        ]

        private func answer(_ change: (inout [String]) -> Void) async throws -> String {
            var lines = Self.good
            change(&lines)
            return try await answer(to: lines.joined(separator: "\r\n") + "\r\n\r\n")
        }

        @Test("is answered with what a client needs to know, and its connection closed")
        func refusals() async throws {
            #expect(try await answer { $0[5] = "Sec-WebSocket-Version: 8" }.hasPrefix("HTTP/1.1 426 "))
            #expect(
                try await answer { $0[5] = "Sec-WebSocket-Version: 8" }.contains(
                    "Sec-WebSocket-Version: 13\r\n"))
            #expect(try await answer { $0[2] = "X: y" }.hasPrefix("HTTP/1.1 426 "))
            #expect(try await answer { $0[4] = "Sec-WebSocket-Key: short" }.hasPrefix("HTTP/1.1 400 "))
            #expect(try await answer { $0[1] = "X: y" }.hasPrefix("HTTP/1.1 400 "))
            #expect(try await answer { $0[0] = "POST /chat HTTP/1.1" }.hasPrefix("HTTP/1.1 405 "))
            #expect(try await answer(to: "no HTTP at all\r\n\r\n").hasPrefix("HTTP/1.1 400 "))
        }
    }
#endif
