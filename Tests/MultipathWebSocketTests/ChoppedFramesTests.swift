#if HTTP
    import MultipathWebSocket
    import NIOCore
    import NIOPosix
    import Testing

    /// Autobahn's cases "sent in octet-wise chops" of groups 1, 2, 5 and 6, in one conversation.
    @Suite("Frames whose bytes come one by one", .timeLimit(.minutes(1)))
    struct ChoppedFramesTests {
        private static func masked(_ first: UInt8, _ payload: [UInt8]) -> [UInt8] {
            let mask: [UInt8] = [0x11, 0x22, 0x33, 0x44]
            var frame: [UInt8] = [first, 0x80 | UInt8(payload.count)]
            frame += mask
            for (place, byte) in payload.enumerated() { frame.append(byte ^ mask[place % 4]) }
            return frame
        }

        @Test(
            "are what they are in one piece: a text in fragments, cut within a character, with a ping in its middle"
        )
        func chopped() async throws {
            let text = Array("κόσμε".utf8)
            var frames = Self.masked(0x01, Array(text.prefix(3)))
            frames += Self.masked(0x89, Array("hi".utf8))
            frames += Self.masked(0x00, [])
            frames += Self.masked(0x80, Array(text.dropFirst(3)))
            frames += Self.masked(0x82, [0, 255])
            let (bytes, close) = (frames, Self.masked(0x88, [0x03, 0xE8]))
            // A pong, the text and the bytes; then the same code.
            var echoes: [UInt8] = [0x8A, 2]
            echoes += Array("hi".utf8)
            echoes += [0x81, UInt8(text.count)]
            echoes += text
            echoes += [0x82, 2, 0, 255]
            let expected = echoes
            let head = """
                GET / HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
                Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n
                """
            let said = try await WebSocketServer().run { url in
                let port = Int(url.split(separator: ":")[2]) ?? 0
                let channel = try await ClientBootstrap(group: .singletonMultiThreadedEventLoopGroup)
                    .channelOption(.tcpOption(.tcp_nodelay), value: 1)
                    .connect(host: "127.0.0.1", port: port) { channel in
                        channel.eventLoop.makeCompletedFuture {
                            try NIOAsyncChannel<ByteBuffer, ByteBuffer>(wrappingChannelSynchronously: channel)
                        }
                    }
                return try await channel.executeThenClose { inbound, outbound in
                    for byte in Array(head.utf8) { try await outbound.write(ByteBuffer(bytes: [byte])) }
                    var (answer, isOpen, isClosing) = ([UInt8](), false, false)
                    for try await piece in inbound {
                        answer += Array(buffer: piece)
                        guard let end = answer.endOfHead else { continue }
                        if !isOpen {
                            isOpen = true
                            for byte in bytes { try await outbound.write(ByteBuffer(bytes: [byte])) }
                        }
                        // A server need not answer what it reads together with the end.
                        if !isClosing, answer.count - end >= expected.count {
                            isClosing = true
                            for byte in close { try await outbound.write(ByteBuffer(bytes: [byte])) }
                        }
                    }
                    return Array(answer[(answer.endOfHead ?? answer.count)...])
                }
            }
            #expect(said == expected + [0x88, 2, 0x03, 0xE8])
        }
    }
#endif
