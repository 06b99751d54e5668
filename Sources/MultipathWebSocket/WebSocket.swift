#if HTTP
    public import MultipathNIO
    public import NIOCore
    public import NIOHTTP1

    /// A WebSocket that is open (RFC 6455), either end of it.
    ///
    /// ```swift
    /// let socket = try await bootstrap.webSocket("ws://chat.example/room")
    /// try await socket.send(.text("hello"))
    /// for try await message in socket.messages { print(message) }
    /// ```
    ///
    /// Messages can be sent from any number of tasks; each goes out whole before the next begins. One task at a time receives.
    /// When nothing refers to the WebSocket any more, its connection is closed without a farewell.
    public final class WebSocket: Sendable {
        /// The connection's channel. Nothing but this object should write to it.
        public let channel: any Channel
        /// The connection, with its events and reports. Nil on the server's side, where the accepted channel brings it.
        public let connection: MultipathConnection?
        /// The application's protocol that both ends agreed on; nil for none.
        public let subprotocol: String?
        /// The peer's headers in the opening handshake: of a client the server's answer, of a server the client's request.
        public let peerHeaders: HTTPHeaders

        private let handler: NIOLoopBound<WebSocketHandler>
        private let endFuture: EventLoopFuture<WebSocketEnd>
        private let sentFrameSize: Int
        let isClient: Bool

        init(_ opened: OpenedWebSocket, connection: MultipathConnection?) {
            channel = opened.channel
            self.connection = connection
            subprotocol = opened.subprotocol
            peerHeaders = opened.peerHeaders
            handler = opened.handler
            endFuture = opened.endFuture
            sentFrameSize = opened.sentFrameSize
            isClient = opened.isClient
        }

        deinit { channel.eventLoop.execute { [handler] in handler.value.abandon() } }

        // MARK: Receiving

        /// The messages that come, whole.
        public var messages: WebSocketMessages { WebSocketMessages(socket: self) }

        /// The next message, whole, as soon as it is here.
        ///
        /// - Returns: nil where the WebSocket has ended in the ordinary way: this end closed it, or the peer did with one of the
        ///   codes 1000, 1001 and 1005. `closure()` says which.
        /// - Throws: `WebSocketError` after another end; `.alreadyReceiving`; `CancellationError`, after which no message is lost.
        public func receive() async throws -> WebSocketMessage? {
            try await take(.message).map { WebSocketMessage($0.fragment) }
        }

        /// The next message, as soon as its first frame is here, to be received piece by piece.
        ///
        /// - Returns: nil as `receive()`.
        /// - Throws: as `receive()`.
        public func receivePieces() async throws -> WebSocketIncomingMessage? {
            try await take(.nextMessage).map {
                WebSocketIncomingMessage(
                    kind: $0.fragment.kind, socket: self, first: $0.fragment, number: $0.message)
            }
        }

        func take(_ demand: IncomingQueue.Demand) async throws -> WebSocketHandler.Received? {
            try await call { handler, ticket, promise in handler.receive(demand, ticket, promise) }
        }

        // MARK: Sending

        /// Sends a message, and returns when the kernel has taken all of it: a peer that reads slowly slows the sender.
        ///
        /// - Throws: `WebSocketError` where the WebSocket has ended; `CancellationError`. A long message that is cancelled between
        ///   two of its frames can't be finished, and ends the WebSocket.
        public func send(_ message: WebSocketMessage) async throws {
            try await withTurn(message.kind) { writer in
                var bytes = message.bytes
                while bytes.readableBytes > sentFrameSize, let piece = bytes.readSlice(length: sentFrameSize)
                {
                    try await writer.write(piece, isLast: false)
                }
                try await writer.write(bytes, isLast: true)
            }
        }

        /// Sends a message piece by piece. Other tasks' messages wait until it is sent; pings don't.
        ///
        /// - Parameters:
        ///   - kind: text or binary.
        ///   - pieces: writes them. Where it throws after the first, the message can't be finished, and the WebSocket ends.
        /// - Throws: what the body throws; as `send(_:)`.
        public func send(
            _ kind: WebSocketMessageKind, pieces: (WebSocketMessageWriter) async throws -> Void
        ) async throws {
            try await withTurn(kind) { writer in
                try await pieces(writer)
                try await writer.write(ByteBuffer(), isLast: true)
            }
        }

        private func withTurn(
            _ kind: WebSocketMessageKind, _ body: (WebSocketMessageWriter) async throws -> Void
        ) async throws {
            let turn = try await call { handler, ticket, promise in handler.awaitTurn(ticket, promise) }
            var isWhole = false
            defer {
                channel.eventLoop.execute { [handler, isWhole] in handler.value.endTurn(isWhole: isWhole) }
            }
            try await body(WebSocketMessageWriter(socket: self, kind: kind, turn: turn))
            isWhole = true
        }

        // MARK: Asking whether the peer is there

        /// Pings the peer, and waits for its answer (RFC 6455 sections 5.5.2 and 5.5.3): a client sends 10 bytes and gets 6,
        /// a server sends 6 and gets 10. The answer comes behind the messages that the peer has sent before, so it waits
        /// where nothing receives them.
        ///
        /// It has no time limit of its own: cancel the task for one.
        ///
        /// - Returns: the time until the answer was here.
        /// - Throws: `WebSocketError` where the WebSocket has ended; `CancellationError`.
        public func ping() async throws -> Duration {
            try await call { handler, ticket, promise in handler.ping(ticket, promise) }
        }

        /// The bytes of a ping, and of its answer the other way round: a client's frames carry a mask of 4 bytes.
        var pingSize: Int { isClient ? 10 : 6 }

        /// Adds a handler of frames between their decoder and this object's own.
        func addHandler(_ make: @escaping @Sendable () -> any ChannelHandler) async throws {
            try await channel.eventLoop.submit { [channel, handler] in
                if let end = handler.value.end { throw end.senderError }
                try channel.pipeline.syncOperations.addHandler(make(), position: .before(handler.value))
            }.get()
        }

        /// How long ago the last frame of the peer came, of whatever kind; since the opening where none has.
        public func timeSinceReceived() async throws -> Duration {
            try await channel.eventLoop.submit { [handler] in handler.value.timeSinceReceived }.get()
        }

        // MARK: Closing

        /// Closes the WebSocket (RFC 6455 section 7.1.2), and waits until the peer has, too. Messages that come until then can
        /// still be received. Where it has ended already nothing happens.
        ///
        /// - Parameters:
        ///   - code: one that may be sent.
        ///   - reason: at most 123 bytes of UTF-8.
        /// - Throws: `WebSocketError.invalidCloseCode`; `.closeTimedOut` where the peer does not answer within `closeTimeout`:
        ///   then the connection is closed all the same; how the WebSocket ended where that was no closing.
        public func close(_ code: WebSocketCloseCode = .normalClosure, reason: String = "") async throws {
            let end = try await call { handler, _, promise in handler.close(code, reason, promise) }
            if case .failed(let error) = end { throw error }
        }

        /// Sends a close frame, and does not wait.
        func beginClosing(_ code: WebSocketCloseCode) {
            channel.eventLoop.execute { [handler, channel] in
                handler.value.close(code, "", channel.eventLoop.makePromise())
            }
        }

        /// Waits until the WebSocket is closed, by whichever end.
        ///
        /// - Throws: `WebSocketError` where it ended without a closing handshake.
        public func closure() async throws -> WebSocketClosure {
            switch try await endFuture.get() {
            case .closed(let closure): return closure
            case .failed(let error): throw error
            }
        }

        /// Runs a call of the handler's on the event loop. The cancellation of the task ends it.
        func call<Value: Sendable>(
            _ body: @escaping @Sendable (WebSocketHandler, LoopTicket, EventLoopPromise<Value>) -> Void
        ) async throws -> Value {
            let (loop, handler, ticket) = (channel.eventLoop, handler, LoopTicket())
            let promise = loop.makePromise(of: Value.self)
            return try await withTaskCancellationHandler {
                loop.execute { body(handler.value, ticket, promise) }
                return try await promise.futureResult.get()
            } onCancel: {
                loop.execute { handler.value.cancel(ticket) }
            }
        }
    }

    /// What the opening handshake leaves behind.
    struct OpenedWebSocket: Sendable {
        let channel: any Channel
        let handler: NIOLoopBound<WebSocketHandler>
        let endFuture: EventLoopFuture<WebSocketEnd>
        let subprotocol: String?
        let peerHeaders: HTTPHeaders
        let sentFrameSize: Int
        let isClient: Bool

        /// Adds the handler to a channel whose frames are decoded; on its event loop.
        init(
            _ channel: any Channel, _ role: WebSocketMachine.Role, _ options: WebSocketOptions,
            subprotocol: String?, peerHeaders: HTTPHeaders
        ) throws {
            let handler = WebSocketHandler(
                options.machine(role), receiveBuffer: options.receiveBufferSize, on: channel.eventLoop)
            try channel.pipeline.syncOperations.addHandler(handler)
            self.channel = channel
            self.handler = NIOLoopBound(handler, eventLoop: channel.eventLoop)
            endFuture = handler.endFuture
            self.subprotocol = subprotocol
            self.peerHeaders = peerHeaders
            sentFrameSize = max(options.sentFrameSize, 1)
            isClient = role == .client
        }
    }
#endif
