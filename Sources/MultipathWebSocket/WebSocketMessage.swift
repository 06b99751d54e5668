#if HTTP
    public import NIOCore

    /// A whole message (RFC 6455 section 5.6).
    public enum WebSocketMessage: Sendable, Hashable {
        /// Text, which is sent as UTF-8.
        case text(String)
        /// Bytes.
        case binary(ByteBuffer)

        /// - Parameter fragment: a whole message; text that was checked to be UTF-8.
        init(_ fragment: WebSocketFragment) {
            switch fragment.kind {
            case .text: self = .text(String(buffer: fragment.bytes))
            case .binary: self = .binary(fragment.bytes)
            }
        }

        var kind: WebSocketMessageKind {
            switch self {
            case .text: .text
            case .binary: .binary
            }
        }

        var bytes: ByteBuffer {
            switch self {
            case .text(let text): ByteBuffer(string: text)
            case .binary(let bytes): bytes
            }
        }
    }

    /// The messages that come, whole. It ends where the WebSocket ends in the ordinary way, and throws `WebSocketError` where it
    /// ends in another one. One task at a time may iterate, and each message is handed out once.
    public struct WebSocketMessages: AsyncSequence, Sendable {
        public typealias Element = WebSocketMessage

        let socket: WebSocket

        /// An iterator over what has not been received yet.
        public func makeAsyncIterator() -> Iterator { Iterator(socket: socket) }

        /// Asks for one message after the other.
        public struct Iterator: AsyncIteratorProtocol {
            let socket: WebSocket

            /// The next message; nil at an ordinary end.
            public mutating func next() async throws -> WebSocketMessage? { try await socket.receive() }
        }
    }

    /// A message that is received piece by piece, as its frames come; for those too long to be held whole. The pieces of a text
    /// are UTF-8 together, but one may end within a character.
    ///
    /// It can be iterated once. What is left when another message is asked for is skipped.
    public struct WebSocketIncomingMessage: AsyncSequence, Sendable {
        public typealias Element = ByteBuffer

        /// Text or binary.
        public let kind: WebSocketMessageKind

        let socket: WebSocket
        let first: WebSocketFragment
        let number: Int

        /// The message's pieces from its beginning.
        public func makeAsyncIterator() -> Iterator { Iterator(message: self, first: first) }

        /// Asks for one piece after the other.
        public struct Iterator: AsyncIteratorProtocol {
            let message: WebSocketIncomingMessage
            var first: WebSocketFragment?
            private var isOver = false

            init(message: WebSocketIncomingMessage, first: WebSocketFragment) {
                self.message = message
                self.first = first
            }

            /// The next piece, which may be empty; nil at the message's end.
            ///
            /// - Throws: `WebSocketError` where the WebSocket ends within the message.
            public mutating func next() async throws -> ByteBuffer? {
                guard !isOver else { return nil }
                guard let fragment = try await takeNext() else { return nil }
                isOver = fragment.isLast
                return fragment.bytes
            }

            private mutating func takeNext() async throws -> WebSocketFragment? {
                if let first {
                    self.first = nil
                    return first
                }
                return try await message.socket.take(.piece(of: message.number))?.fragment
            }
        }
    }

    /// Writes a message piece by piece: `WebSocket.send(_:pieces:)`. Each piece is a frame. It is of use until the body that it
    /// was given to returns.
    public struct WebSocketMessageWriter: Sendable {
        let socket: WebSocket
        let kind: WebSocketMessageKind
        let turn: WebSocketHandler.Turn

        /// Sends text, and returns when the kernel has taken it.
        ///
        /// - Throws: `WebSocketError` where the WebSocket has ended; `CancellationError`, after which the message can't go on.
        public func write(_ text: String) async throws { try await write(ByteBuffer(string: text)) }

        /// Sends bytes, and returns when the kernel has taken them. Those of a text message may end within a character.
        ///
        /// - Throws: as `write(_:)` for text; `WebSocketError.invalidText`.
        public func write(_ bytes: ByteBuffer) async throws { try await write(bytes, isLast: false) }

        func write(_ bytes: ByteBuffer, isLast: Bool) async throws {
            try await socket.call { handler, ticket, promise in
                handler.send(bytes, of: kind, isLast: isLast, in: turn, ticket, promise)
            }
        }
    }
#endif
