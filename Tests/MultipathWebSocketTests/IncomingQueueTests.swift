#if HTTP
    import NIOCore
    import Testing

    @testable import MultipathWebSocket

    @Suite("Messages that wait to be received")
    struct IncomingQueueTests {
        private func append(_ queue: inout IncomingQueue, _ pieces: String...) {
            for (index, piece) in pieces.enumerated() {
                queue.append(.text(piece, isFirst: index == 0, isLast: index == pieces.count - 1))
            }
        }

        private func text(_ fragment: WebSocketFragment?) -> String? {
            fragment.map { String(buffer: $0.bytes) }
        }

        @Test("are handed out whole, each once, when their last piece is here")
        func whole() {
            var queue = IncomingQueue(highMark: 1000)
            queue.append(.text("a", isFirst: true, isLast: false))
            #expect(queue.take(.message) == nil)
            queue.append(.text("b", isFirst: false, isLast: true))
            append(&queue, "next")
            #expect(queue.take(.message) == .text("ab", isFirst: true, isLast: true))
            #expect(text(queue.take(.message)) == "next")
            #expect(queue.take(.message) == nil)
        }

        @Test("are kept together: a message that comes byte by byte takes no more than its bytes")
        func joined() {
            var queue = IncomingQueue(highMark: 1000)
            // As a frame's decoder hands them out: each keeps all alive that was read with it.
            let read = ByteBuffer(repeating: UInt8(ascii: "x"), count: 64 << 10)
            for number in 0..<40_000 {
                let byte = read.getSlice(at: number, length: 1)!
                queue.append(WebSocketFragment(kind: .text, bytes: byte, isFirst: number == 0, isLast: false))
            }
            var (length, capacity, pieces) = (0, 0, 0)
            while let piece = pieces == 0 ? queue.take(.nextMessage) : queue.take(.piece(of: queue.current)) {
                (length, pieces) = (length + piece.bytes.readableBytes, pieces + 1)
                capacity += piece.bytes.storageCapacity
                #expect(piece.isFirst == (pieces == 1) && !piece.isLast)
            }
            // 63 of one byte, and three of 16 KiB at most.
            #expect(length == 40_000 && pieces == 66)
            #expect(capacity <= 2 * 40_000)
        }

        @Test("are handed out piece by piece, up to their end and not beyond")
        func pieces() {
            var queue = IncomingQueue(highMark: 1000)
            append(&queue, "a", "b")
            append(&queue, "next")
            #expect(text(queue.take(.nextMessage)) == "a")
            let number = queue.current
            #expect(text(queue.take(.piece(of: number))) == "b")
            #expect(queue.isOver(.piece(of: number)) && queue.take(.piece(of: number)) == nil)
            #expect(text(queue.take(.nextMessage)) == "next")
        }

        @Test(
            "that are received in part are skipped when the next one is asked for", arguments: [true, false])
        func skipping(_ isWhole: Bool) {
            var queue = IncomingQueue(highMark: 1000)
            append(&queue, "a", "b", "c")
            _ = queue.take(.nextMessage)
            let first = queue.current
            let demand = isWhole ? IncomingQueue.Demand.message : .nextMessage
            queue.append(.text("next", isFirst: true, isLast: true))
            #expect(text(queue.take(demand)) == "next")
            #expect(queue.isOver(.piece(of: first)))
        }

        @Test("skip what is not here yet as well")
        func skippingLate() {
            var queue = IncomingQueue(highMark: 1000)
            queue.append(.text("a", isFirst: true, isLast: false))
            _ = queue.take(.nextMessage)
            #expect(queue.take(.message) == nil)
            queue.append(.text("b", isFirst: false, isLast: true))
            #expect(queue.take(.message) == nil)
            append(&queue, "next")
            #expect(text(queue.take(.message)) == "next")
        }

        @Test("stop the reading when they are many bytes or many pieces, unless a receiver waits")
        func backPressure() {
            var bytes = IncomingQueue(highMark: 1000)
            bytes.append(.text(String(repeating: "x", count: 1000), isFirst: true, isLast: false))
            #expect(!bytes.wantsMore(for: nil) && bytes.wantsMore(for: .message))
            _ = bytes.take(.nextMessage)
            #expect(bytes.wantsMore(for: nil))
            var pieces = IncomingQueue(highMark: 1000)
            for _ in 0..<16 { append(&pieces, "") }
            #expect(!pieces.wantsMore(for: nil))
        }
    }

    @Suite("A WebSocket's address")
    struct WebSocketURLTests {
        @Test("has a host, a port and what is asked for")
        func parts() throws {
            let plain = try WebSocketURL("ws://chat.example")
            #expect(
                (plain.host, plain.port, plain.resource, plain.isSecure) == ("chat.example", 80, "/", false))
            #expect(plain.hostHeader == "chat.example")
            let secure = try WebSocketURL("WSS://chat.example:8443/a/b?c=d/e")
            #expect((secure.host, secure.port, secure.resource) == ("chat.example", 8443, "/a/b?c=d/e"))
            #expect(secure.isSecure && secure.hostHeader == "chat.example:8443")
            let address = try WebSocketURL("wss://[2001:db8::1]:443?q")
            #expect((address.host, address.port, address.resource) == ("2001:db8::1", 443, "/?q"))
            #expect(address.hostHeader == "[2001:db8::1]")
            #expect(try WebSocketURL("ws://chat.example:/").port == 80)
        }

        @Test(
            "is refused where it is none",
            arguments: [
                "", "http://chat.example", "ws:chat.example", "ws://", "ws:///path", "ws://chat.example:0",
                "ws://chat.example:65536", "ws://chat.example:+80", "ws://user@chat.example/",
                "ws://chat.example/#part",
                "ws://chat.example/a b", "ws://chat.example/\r\nHost: other", "ws://[::1", "ws://[::1]x/",
                "ws://[name]/",
                "ws://chät.example/",
            ])
        func refused(_ url: String) {
            #expect(throws: WebSocketError.invalidURL(url)) { try WebSocketURL(url) }
        }
    }
#endif
