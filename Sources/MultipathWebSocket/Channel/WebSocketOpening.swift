#if HTTP
    import Multipath
    import NIOCore
    import NIOHTTP1
    import NIOWebSocket

    /// The client's opening handshake (RFC 6455 section 4.1) on a channel that is connected, behind TLS where there is any.
    struct WebSocketOpening: Sendable {
        private let head: HTTPRequestHead
        private let options: WebSocketOptions

        /// What the handshake sets itself; every other header is the caller's.
        private static let reserved: Set<String> = [
            "host", "upgrade", "connection", "sec-websocket-key", "sec-websocket-version",
            "sec-websocket-protocol",
            "sec-websocket-extensions", "sec-websocket-accept", "content-length", "transfer-encoding",
        ]

        /// - Throws: `WebSocketError` for a header or a subprotocol that can't be sent.
        init(_ url: WebSocketURL, _ options: WebSocketOptions) throws(WebSocketError) {
            for (name, value) in options.headers {
                guard !Self.reserved.contains(name.lowercased()), name.isToken, value.isFieldValue else {
                    throw .invalidHeader(name)
                }
            }
            for (index, name) in options.subprotocols.enumerated() {
                guard name.isToken, !options.subprotocols[..<index].contains(name) else {
                    throw .invalidSubprotocol(name)
                }
            }
            var headers = HTTPHeaders([("Host", url.hostHeader)])
            headers.add(contentsOf: options.headers)
            if !options.subprotocols.isEmpty {
                headers.add(
                    name: "Sec-WebSocket-Protocol", value: options.subprotocols.joined(separator: ", "))
            }
            head = HTTPRequestHead(version: .http1_1, method: .GET, uri: url.resource, headers: headers)
            self.options = options
        }

        /// Asks for the upgrade, and waits for the answer.
        ///
        /// - Throws: `WebSocketError`; `CancellationError`. The channel is closed then.
        func open(_ channel: any Channel) async throws -> OpenedWebSocket {
            do {
                return try await withTaskCancellationHandler {
                    try await channel.eventLoop.flatSubmit { start(channel) }.get()
                } onCancel: {
                    channel.close(promise: nil)
                }
            } catch {
                channel.close(promise: nil)
                try Task.checkCancellation()
                throw error
            }
        }

        /// On the channel's event loop.
        private func start(_ channel: any Channel) -> EventLoopFuture<OpenedWebSocket> {
            let loop = channel.eventLoop
            let answer = AnswerRecorder()
            do {
                let opened = try addHandlers(channel, answer)
                let isLate = NIOLoopBoundBox(false, eventLoop: loop)
                let limit = options.openingTimeout
                let patience = loop.scheduleTask(in: .nanoseconds(limit.wholeNanoseconds)) {
                    isLate.value = true
                    channel.close(promise: nil)
                }
                let bound = NIOLoopBound(answer, eventLoop: loop)
                return opened.flatMapErrorThrowing { error in
                    patience.cancel()
                    if isLate.value { throw WebSocketError.openingTimedOut(limit) }
                    throw bound.value.explain(error)
                }.map {
                    patience.cancel()
                    return $0
                }
            } catch {
                return loop.makeFailedFuture(error)
            }
        }

        private func addHandlers(
            _ channel: any Channel, _ answer: AnswerRecorder
        ) throws -> EventLoopFuture<OpenedWebSocket> {
            let options = options
            let upgrader = NIOTypedWebSocketClientUpgrader(
                maxFrameSize: options.frameLimit, enableAutomaticErrorHandling: false
            ) { channel, head in
                channel.eventLoop.makeCompletedFuture { try Self.opened(channel, head, options) }
            }
            let encoder = HTTPRequestEncoder()
            // The server's first frames may come with its answer.
            let decoder = ByteToMessageHandler(HTTPResponseDecoder(leftOverBytesStrategy: .forwardBytes))
            let upgrade = NIOTypedHTTPClientUpgradeHandler(
                httpHandlers: [encoder, decoder, answer],
                upgradeConfiguration: NIOTypedHTTPClientUpgradeConfiguration(
                    upgradeRequestHead: head, upgraders: [upgrader]
                ) { channel in
                    // The head, which the recorder has, says why.
                    channel.eventLoop.makeFailedFuture(WebSocketError.invalidAnswer("no upgrade"))
                })
            let end = EndHolder(answer)
            try channel.pipeline.syncOperations.addHandlers([end, encoder, decoder, answer, upgrade])
            let bound = NIOLoopBound(end, eventLoop: channel.eventLoop)
            // A turn of the loop later the frames that came with the answer have gone where they belong.
            upgrade.upgradeResultFuture.whenComplete { _ in bound.eventLoop.execute { bound.value.release() }
            }
            return upgrade.upgradeResultFuture
        }

        /// What SwiftNIO does not check of an answer that accepts (section 4.1, the client's steps 3, 5 and 6).
        private static func opened(
            _ channel: any Channel, _ head: HTTPResponseHead, _ options: WebSocketOptions
        ) throws -> OpenedWebSocket {
            guard head.headers[canonicalForm: "connection"].contains(where: { $0.lowercased() == "upgrade" })
            else {
                throw WebSocketError.invalidAnswer("Connection does not say upgrade")
            }
            if let name = head.headers[canonicalForm: "sec-websocket-extensions"].first {
                throw WebSocketError.unexpectedExtension(String(name))
            }
            let chosen = head.headers["sec-websocket-protocol"]
            guard chosen.count <= 1 else { throw WebSocketError.invalidAnswer("several subprotocols") }
            if let name = chosen.first, !options.subprotocols.contains(name) {
                throw WebSocketError.unexpectedSubprotocol(name)
            }
            return try OpenedWebSocket(
                channel, .client, options, subprotocol: chosen.first, peerHeaders: head.headers)
        }
    }

    /// Has the connection's end wait until the change of protocols is over: a server may accept, send and close at once, and HTTP's decoder
    /// drops the frames that came together with the answer when it hears of the end first.
    private final class EndHolder: ChannelInboundHandler, RemovableChannelHandler {
        typealias InboundIn = ByteBuffer

        private let answer: AnswerRecorder
        private var context: ChannelHandlerContext?
        private var held: [(ChannelHandlerContext) -> Void] = []
        private var isOpen = false

        init(_ answer: AnswerRecorder) { self.answer = answer }

        func handlerAdded(context: ChannelHandlerContext) { self.context = context }

        /// The channel is closed: those after it are told by their removal.
        func handlerRemoved(context: ChannelHandlerContext) { self.context = nil }

        func channelInactive(context: ChannelHandlerContext) { pass(context) { $0.fireChannelInactive() } }

        func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
            if event as? ChannelEvent == .inputClosed {
                pass(context) { $0.fireUserInboundEventTriggered(ChannelEvent.inputClosed) }
            } else {
                context.fireUserInboundEventTriggered(event)
            }
        }

        private func pass(
            _ context: ChannelHandlerContext, _ event: @escaping (ChannelHandlerContext) -> Void
        ) {
            if !isOpen, answer.head?.status == .switchingProtocols {
                held.append(event)
            } else {
                event(context)
            }
        }

        func release() {
            isOpen = true
            guard let context else { return }
            for event in held { event(context) }
            held = []
            context.pipeline.syncOperations.removeHandler(self, promise: nil)
        }
    }

    /// Keeps the head of the server's answer, for an error that says what it was.
    private final class AnswerRecorder: ChannelInboundHandler, RemovableChannelHandler {
        typealias InboundIn = HTTPClientResponsePart
        typealias InboundOut = HTTPClientResponsePart

        private(set) var head: HTTPResponseHead?
        private var firstError: (any Error)?

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            if case .head(let head) = unwrapInboundIn(data), self.head == nil { self.head = head }
            context.fireChannelRead(data)
        }

        func errorCaught(context: ChannelHandlerContext, error: any Error) {
            firstError = firstError ?? error
            context.fireErrorCaught(error)
        }

        func explain(_ error: any Error) -> any Error {
            if let head {
                if head.status != .switchingProtocols { return WebSocketError.refused(head) }
                if error is WebSocketError { return error }
                return switch error as? NIOHTTPClientUpgradeError {
                case .upgraderDeniedUpgrade?:
                    WebSocketError.invalidAnswer("a wrong Sec-WebSocket-Accept, or none")
                case .responseProtocolNotFound?:
                    WebSocketError.invalidAnswer("Upgrade does not say websocket")
                default: WebSocketError.invalidAnswer("\(error)")
                }
            }
            switch firstError {
            case let error as HTTPParserError: return WebSocketError.invalidAnswer("\(error)")
            case let error?: return WebSocketError.connectionLost("\(error)")
            case nil: return WebSocketError.connectionLost("the server ended it without an answer")
            }
        }
    }

    extension String {
        /// A token of HTTP (RFC 9110 section 5.6.2).
        fileprivate var isToken: Bool {
            !isEmpty
                && utf8.allSatisfy {
                    switch $0 {
                    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                        UInt8(ascii: "0")...UInt8(ascii: "9"):
                        true
                    default: "!#$%&'*+-.^_`|~".utf8.contains($0)
                    }
                }
        }

        /// A field's value: nothing that would end it (RFC 9110 section 5.5).
        fileprivate var isFieldValue: Bool { utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F || $0 == 0x09 } }
    }
#endif
