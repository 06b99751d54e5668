#if HTTP
    import MultipathWebSocket
    import NIOConcurrencyHelpers
    import NIOCore
    import NIOHTTP1
    import NIOPosix
    import TestSupport
    import Testing

    @Suite("A WebSocket between two ends of ours", .timeLimit(.minutes(1)))
    struct WebSocketTests {
        @Test("carries texts and bytes of every length, both ways")
        func messages() async throws {
            try await WebSocketServer().run { url in
                let socket = try await bootstrap.webSocket(url)
                for length in [0, 1, 125, 126, 65_535, 65_536, 300_000] {
                    let text = WebSocketMessage.text(String(repeating: "é", count: length / 2))
                    try await socket.send(text)
                    #expect(try await socket.receive() == text)
                    let bytes = WebSocketMessage.binary(
                        ByteBuffer(bytes: (0..<length).map { UInt8(truncatingIfNeeded: $0) }))
                    try await socket.send(bytes)
                    #expect(try await socket.receive() == bytes)
                }
                try await socket.close()
                #expect(try await socket.receive() == nil)
                #expect(
                    try await socket.closure() == WebSocketClosure(initiator: .local, code: .normalClosure))
            }
        }

        @Test(
            "carries a message piece by piece, with a ping in its middle, and keeps other messages behind it")
        func pieces() async throws {
            let server = WebSocketServer { socket in
                while let message = try await socket.receivePieces() {
                    try await socket.send(message.kind) { writer in
                        for try await piece in message { try await writer.write(piece) }
                    }
                }
            }
            try await server.run { url in
                let socket = try await bootstrap.webSocket(url)
                var other: Task<Void, any Error>?
                try await socket.send(.text) { writer in
                    try await writer.write("one ")
                    other = Task { try await socket.send(.text("second")) }
                    _ = try await socket.ping()
                    try await writer.write("two ")
                    try await writer.write("three")
                }
                try await other?.value
                #expect(try await socket.receive() == .text("one two three"))
                #expect(try await socket.receive() == .text("second"))
            }
        }

        @Test("skips the rest of a message that is received in part")
        func skipping() async throws {
            let server = WebSocketServer { socket in
                try await socket.send(.text) { writer in
                    for number in 0..<100 { try await writer.write("\(number)") }
                }
                try await socket.send(.text("next"))
                _ = try await socket.receive()
            }
            try await server.run { url in
                let socket = try await bootstrap.webSocket(url)
                let long = try #require(try await socket.receivePieces())
                var pieces = long.makeAsyncIterator()
                #expect(try await pieces.next() == ByteBuffer(string: "0"))
                #expect(try await socket.receive() == .text("next"))
                #expect(try await pieces.next() == nil)
            }
        }

        @Test("measures round trips, several at once")
        func pings() async throws {
            try await WebSocketServer().run { url in
                let socket = try await bootstrap.webSocket(url)
                let times = try await withThrowingTaskGroup(of: Duration.self) { group in
                    for _ in 0..<10 { group.addTask { try await socket.ping() } }
                    return try await group.reduce(into: []) { $0.append($1) }
                }
                #expect(times.count == 10 && times.allSatisfy { $0 > .zero })
                #expect(try await socket.timeSinceReceived() >= .zero)
            }
        }

        @Test("has a heartbeat beside its messages and its own pings")
        func heartbeat() async throws {
            try await WebSocketServer().run { url in
                let socket = try await bootstrap.webSocket(url)
                try await socket.startHeartbeat()
                _ = try await socket.ping()
                try await socket.send(.text("still here"))
                #expect(try await socket.receive() == .text("still here"))
                try await socket.close()
                await #expect(throws: WebSocketError.self) { try await socket.startHeartbeat() }
            }
        }

        @Test("slows a sender down whose messages are not received, and then carries all of them")
        func backPressure() async throws {
            let isSlow = AsyncStream.makeStream(of: Void.self)
            var options = WebSocketOptions()
            options.receiveBufferSize = 10_000
            let count = 400
            let server = WebSocketServer(options: options) { socket in
                for await _ in isSlow.stream { break }
                var sum = 0
                while sum < count, let message = try await socket.receive() {
                    #expect(message == .binary(ByteBuffer(repeating: UInt8(sum & 0xFF), count: 60_000)))
                    sum += 1
                }
                try await socket.send(.text("\(sum)"))
                _ = try await socket.receive()
            }
            try await server.run { url in
                let socket = try await bootstrap.webSocket(url)
                let sent = NIOLockedValueBox(0)
                let sender = Task {
                    for number in 0..<count {
                        try await socket.send(
                            .binary(ByteBuffer(repeating: UInt8(number & 0xFF), count: 60_000)))
                        sent.withLockedValue { $0 += 1 }
                    }
                }
                // It stands still, with what the kernel's buffers hold.
                var (seen, unchanged) = (0, 0)
                try await Program.wait("the sender to stand still") {
                    unchanged = sent.withLockedValue { $0 } == seen ? unchanged + 1 : 0
                    seen = sent.withLockedValue { $0 }
                    return seen > 0 && unchanged > 30
                }
                #expect(seen < count)
                isSlow.continuation.yield()
                try await sender.value
                #expect(try await socket.receive() == .text("\(count)"))
            }
        }

        @Test("agrees on a subprotocol, and shows each end the other's headers")
        func handshake() async throws {
            let upgrader = WebSocketUpgrader { request in
                #expect(request.headers["Sec-WebSocket-Protocol"] == ["chat.v2, chat.v1"])
                return .accept(subprotocol: "chat.v1", headers: ["X-Answer": "42"])
            }
            let server = WebSocketServer(upgrader: upgrader) { socket in
                try await socket.send(
                    .text("\(socket.subprotocol ?? "") \(socket.peerHeaders["X-Question"].joined())"))
                _ = try await socket.receive()
            }
            try await server.run { url in
                var options = WebSocketOptions()
                options.subprotocols = ["chat.v2", "chat.v1"]
                options.headers.add(name: "X-Question", value: "all?")
                let socket = try await bootstrap.webSocket(url + "/path?query", options: options)
                #expect(socket.subprotocol == "chat.v1" && socket.peerHeaders["X-Answer"] == ["42"])
                #expect(try await socket.receive() == .text("chat.v1 all?"))
            }
        }

        @Test("is refused with the status that the server chose")
        func refusal() async throws {
            let server = WebSocketServer(
                upgrader: WebSocketUpgrader { _ in
                    .refuse(.unauthorized, headers: ["WWW-Authenticate": "Bearer"])
                })
            try await server.run { url in
                let error = await #expect(throws: WebSocketError.self) { try await bootstrap.webSocket(url) }
                guard case .refused(let answer)? = error else {
                    Issue.record("\(String(describing: error))")
                    return
                }
                #expect(answer.status == .unauthorized && answer.headers["WWW-Authenticate"] == ["Bearer"])
            }
        }

        @Test("tells a receiver of the peer's code, but of an ordinary one only at `closure()`")
        func peersCode() async throws {
            let server = WebSocketServer { socket in
                guard case .text(let code)? = try await socket.receive() else { return }
                try await socket.close(WebSocketCloseCode(rawValue: UInt16(code) ?? 0), reason: "as asked")
            }
            try await server.run { url in
                let ordinary = try await bootstrap.webSocket(url)
                try await ordinary.send(.text("1001"))
                #expect(try await ordinary.receive() == nil)
                let other = try await bootstrap.webSocket(url)
                try await other.send(.text("4321"))
                let closure = WebSocketClosure(
                    initiator: .remote, code: WebSocketCloseCode(rawValue: 4321), reason: "as asked")
                await #expect(throws: WebSocketError.closed(closure)) { try await other.receive() }
                await #expect(throws: WebSocketError.closed(closure)) { try await other.send(.text("late")) }
                await #expect(throws: WebSocketError.closed(closure)) { try await other.ping() }
                #expect(try await other.closure() == closure)
            }
        }

        @Test("lets one task receive at a time, and a cancelled one lose nothing")
        func receivers() async throws {
            try await WebSocketServer().run { url in
                let socket = try await bootstrap.webSocket(url)
                await withTaskGroup(of: Result<WebSocketMessage?, any Error>.self) { group in
                    for _ in 0..<2 {
                        group.addTask {
                            do { return .success(try await socket.receive()) } catch {
                                return .failure(error)
                            }
                        }
                    }
                    let second = await group.next()
                    #expect(throws: WebSocketError.alreadyReceiving) { try second?.get() }
                    group.cancelAll()
                    let first = await group.next()
                    #expect(throws: CancellationError.self) { try first?.get() }
                }
                try await socket.send(.text("still here"))
                #expect(try await socket.receive() == .text("still here"))
            }
        }

        @Test("ends every wait when the connection goes")
        func loss() async throws {
            let server = WebSocketServer { socket in
                _ = try await socket.receive()
                try await socket.channel.close()
            }
            try await server.run { url in
                let socket = try await bootstrap.webSocket(url)
                let received = Task { try await socket.receive() }
                let closed = Task { try await socket.closure() }
                try await socket.send(.text("go"))
                await #expect(throws: WebSocketError.self) { try await received.value }
                await #expect(throws: WebSocketError.self) { try await closed.value }
                await #expect(throws: WebSocketError.self) { try await socket.send(.text("late")) }
            }
        }

        @Test("ends where a message is given up in its middle")
        func cutShort() async throws {
            struct Stop: Error {}
            try await WebSocketServer().run { url in
                let socket = try await bootstrap.webSocket(url)
                await #expect(throws: Stop.self) {
                    try await socket.send(.binary) { writer in
                        try await writer.write(ByteBuffer(string: "begun"))
                        throw Stop()
                    }
                }
                await #expect(throws: WebSocketError.messageCutShort) { try await socket.receive() }
                await #expect(throws: WebSocketError.messageCutShort) { try await socket.send(.text("late")) }
            }
        }

        @Test("closes its connection when nothing refers to it any more")
        func abandoned() async throws {
            let end = AsyncStream.makeStream(of: Bool.self)
            let server = WebSocketServer { socket in
                do {
                    _ = try await socket.receive()
                    end.continuation.yield(false)
                } catch {
                    end.continuation.yield(error as? WebSocketError != nil)
                }
            }
            try await server.run { url in
                do { _ = try await bootstrap.webSocket(url) }
                var ends = end.stream.makeAsyncIterator()
                #expect(await ends.next() == true)
            }
        }
    }
#endif
