#if HTTP
    import MultipathWebSocket
    import NIOCore
    import NIOPosix
    import Testing

    /// What stands in the machine's tests, once more with bytes on a real connection: the peer hears the code, and the
    /// connection ends.
    @Suite("A peer that breaks the protocol", .timeLimit(.minutes(1)))
    struct BadFramesTests {
        private struct Case: Sendable, CustomTestStringConvertible {
            var bytes: [UInt8]
            var violation: WebSocketViolation
            var testDescription: String { "\(violation)" }

            init(_ violation: WebSocketViolation, _ bytes: [UInt8]) {
                self.bytes = bytes
                self.violation = violation
            }
        }

        private static let mask: [UInt8] = [0, 0, 0, 0]

        private static let fromClients = [
            Case(.unmaskedFrame, [0x81, 1, 0x41]),
            Case(.reservedBits, [0xC1, 0x80] + mask),
            Case(.reservedOpcode(3), [0x83, 0x80] + mask),
            Case(.fragmentedControlFrame, [0x09, 0x80] + mask),
            Case(.longControlFrame, [0x89, 0xFE, 0, 126] + mask),
            Case(.unexpectedContinuation, [0x80, 0x80] + mask),
            Case(.interleavedMessage, [0x01, 0x80] + mask + [0x81, 0x80] + mask),
            Case(.invalidText, [0x81, 0x81] + mask + [0xFF]),
            Case(.truncatedCloseCode, [0x88, 0x81] + mask + [3]),
            Case(.invalidCloseCode(1005), [0x88, 0x82] + mask + [3, 0xED]),
            Case(.invalidCloseReason, [0x88, 0x83] + mask + [3, 0xE8, 0xFF]),
            Case(.longFrame, [0x82, 0xFF, 0, 0, 0, 0, 0, 0x10, 0, 1] + mask),
            Case(.longFrame, [0x82, 0xFF, 0xFF, 0, 0, 0, 0, 0, 0, 0] + mask),
        ]

        /// An opening, then bytes, then noise that a server must not look at; and what the server says to its end.
        private func conversation(_ url: String, _ bytes: [UInt8]) async throws -> [UInt8] {
            let port = Int(url.split(separator: ":")[2]) ?? 0
            let channel = try await ClientBootstrap(group: .singletonMultiThreadedEventLoopGroup)
                .connect(host: "127.0.0.1", port: port) { channel in
                    channel.eventLoop.makeCompletedFuture {
                        try NIOAsyncChannel<ByteBuffer, ByteBuffer>(wrappingChannelSynchronously: channel)
                    }
                }
            let head = """
                GET / HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
                Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n
                """
            return try await channel.executeThenClose { inbound, outbound in
                try await outbound.write(ByteBuffer(string: head))
                var answer: [UInt8] = []
                var isOpen = false
                for try await piece in inbound {
                    answer += Array(buffer: piece)
                    if !isOpen, let end = answer.endOfHead {
                        isOpen = true
                        answer.removeFirst(end)
                        try await outbound.write(ByteBuffer(bytes: bytes + Self.noise))
                    }
                }
                return answer
            }
        }

        /// A valid text message: after a violation it must not be delivered.
        private static let noise: [UInt8] = [0x81, 0x81] + mask + [UInt8(ascii: "n")]

        @Test("as a client is told why, and closed", arguments: fromClients)
        private func client(_ wrong: Case) async throws {
            let ends = AsyncStream.makeStream(of: (any Error)?.self)
            let server = WebSocketServer { socket in
                do {
                    let message = try await socket.receive()
                    Issue.record("received \(String(describing: message))")
                } catch {
                    ends.continuation.yield(error)
                }
            }
            try await server.run { url in
                let said = try await conversation(url, wrong.bytes)
                let code = wrong.violation.closeCode.rawValue
                #expect(said.prefix(1) == [0x88])
                #expect(said.dropFirst(2).prefix(2) == [UInt8(code >> 8), UInt8(code & 0xFF)])
                #expect(said.count == 2 + Int(said.dropFirst().first ?? 0))
                for await error in ends.stream {
                    #expect(error as? WebSocketError == .violation(wrong.violation))
                    break
                }
            }
        }

        @Test(
            "as a server gets its client away",
            arguments: [
                Case(.maskedFrame, [0x81, 0x81] + mask + [0x41]), Case(.invalidText, [0x81, 1, 0xFF]),
                Case(.longControlFrame, [0x8A, 126, 0, 126]),
                Case(.longFrame, [0x82, 127, 0, 0, 0, 0, 0, 0x10, 0, 1]),
            ])
        private func server(_ wrong: Case) async throws {
            let server = try await RawServer { request in
                WebSocketKey.acceptance(of: request) + wrong.bytes
            }
            let socket = try await bootstrap.webSocket("ws://127.0.0.1:\(server.port)/")
            await #expect(throws: WebSocketError.violation(wrong.violation)) { try await socket.receive() }
            await #expect(throws: WebSocketError.violation(wrong.violation)) { try await socket.closure() }
            // The server never ends it: the client does.
            try await socket.channel.closeFuture.get()
            await server.close()
        }
    }

    extension [UInt8] {
        /// Behind the empty line that ends a head of HTTP.
        var endOfHead: Int? {
            indices.dropFirst(3).first { self[($0 - 3)...$0].elementsEqual([13, 10, 13, 10]) }.map { $0 + 1 }
        }
    }
#endif
