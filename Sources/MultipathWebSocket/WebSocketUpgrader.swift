#if HTTP
    import Multipath
    public import NIOCore
    public import NIOHTTP1
    import NIOWebSocket

    /// What a server does with a client's request for a WebSocket.
    public enum WebSocketDecision: Sendable {
        /// Opens it.
        ///
        /// - Parameters:
        ///   - subprotocol: the one to take if the client offers it; nil for none.
        ///   - headers: further headers of the answer.
        case accept(subprotocol: String? = nil, headers: HTTPHeaders = [:])
        /// Answers with a status, and closes the connection: 401, 403, 404.
        case refuse(HTTPResponseStatus, headers: HTTPHeaders = [:])
    }

    /// The server's side of the opening handshake (RFC 6455 section 4.2), for the channels of a `MultipathServerBootstrap` or any
    /// other of SwiftNIO's.
    ///
    /// ```swift
    /// let upgrader = WebSocketUpgrader { request in
    ///     request.uri == "/chat" ? .accept() : .refuse(.notFound)
    /// }
    /// let server = try await MultipathServerBootstrap().bind(host: "::", port: 8080) { upgrader.upgrade($0) }
    /// try await server.executeThenClose { connections in
    ///     try await withThrowingDiscardingTaskGroup { group in
    ///         for try await accepted in connections {
    ///             group.addTask {
    ///                 guard let socket = try? await accepted.output.get() else { return }
    ///                 try? await serve(socket)
    ///             }
    ///         }
    ///     }
    /// }
    /// ```
    ///
    /// A request that is no opening of a WebSocket gets an error's status (400, 426), and its connection is closed.
    public struct WebSocketUpgrader: Sendable {
        private let options: WebSocketOptions
        private let decide: @Sendable (HTTPRequestHead) async -> WebSocketDecision

        /// - Parameters:
        ///   - options: limits and time-outs; its headers and subprotocols are a client's.
        ///   - decide: is asked once for each request that is well formed. The client's subprotocols stand in
        ///     `Sec-WebSocket-Protocol`. Browsers name the page in `Origin`, which a server for browsers has to look at
        ///     (section 10.2).
        public init(
            options: WebSocketOptions = WebSocketOptions(),
            decide: @escaping @Sendable (HTTPRequestHead) async -> WebSocketDecision = { _ in .accept() }
        ) {
            self.options = options
            self.decide = decide
        }

        /// Adds the handlers to an accepted channel, behind TLS where there is any: the `childChannelInitializer` of a server.
        ///
        /// - Parameter channel: before its first byte is read.
        /// - Returns: the WebSocket, as soon as the client has asked for it; `WebSocketError.notUpgraded`, `.openingTimedOut` or
        ///   `.connectionLost` where it does not. The outer future is done at once.
        public func upgrade(_ channel: any Channel) -> EventLoopFuture<EventLoopFuture<WebSocket>> {
            channel.eventLoop.makeCompletedFuture { try addHandlers(channel) }
        }

        private func addHandlers(_ channel: any Channel) throws -> EventLoopFuture<WebSocket> {
            let (loop, options, decide) = (channel.eventLoop, options, decide)
            let refusal = NIOLoopBoundBox(OpeningRefusal?.none, eventLoop: loop)
            let acceptance = NIOLoopBoundBox(String?.none, eventLoop: loop)

            let upgrader = NIOTypedWebSocketServerUpgrader(
                maxFrameSize: options.frameLimit, enableAutomaticErrorHandling: false
            ) { (channel: any Channel, head: HTTPRequestHead) -> EventLoopFuture<HTTPHeaders?> in
                if let found = OpeningRefusal(of: head) {
                    refusal.value = found
                    return loop.makeSucceededFuture(nil)
                }
                return loop.makeFutureWithTask { await decide(head) }.map { decision -> HTTPHeaders? in
                    switch decision {
                    case .refuse(let status, let headers):
                        refusal.value = OpeningRefusal(status, headers, "\(status)")
                        return nil
                    case .accept(let subprotocol, var headers):
                        let offered = head.headers[canonicalForm: "sec-websocket-protocol"]
                        if let subprotocol, offered.contains(where: { $0 == subprotocol }) {
                            acceptance.value = subprotocol
                            headers.replaceOrAdd(name: "Sec-WebSocket-Protocol", value: subprotocol)
                        }
                        return headers
                    }
                }
            } upgradePipelineHandler: { channel, head in
                channel.eventLoop.makeCompletedFuture {
                    try OpenedWebSocket(
                        channel, .server, options, subprotocol: acceptance.value, peerHeaders: head.headers)
                }
            }

            let opened: EventLoopFuture<OpenedWebSocket> =
                try channel.pipeline.syncOperations.configureUpgradableHTTPServerPipeline(
                    configuration: NIOUpgradableHTTPServerPipelineConfiguration(
                        upgradeConfiguration: NIOTypedHTTPServerUpgradeConfiguration(upgraders: [upgrader]) {
                            channel in
                            // Without `Upgrade: websocket` the upgrader was not asked.
                            let found = refusal.value ?? .noUpgrade
                            return found.answer(channel).flatMapThrowing {
                                throw WebSocketError.notUpgraded(found.reason)
                            }
                        }))
            let limit = options.openingTimeout
            let isLate = NIOLoopBoundBox(false, eventLoop: loop)
            let patience = loop.scheduleTask(in: .nanoseconds(limit.wholeNanoseconds)) {
                isLate.value = true
                channel.close(promise: nil)
            }
            return opened.map {
                patience.cancel()
                return WebSocket($0, connection: nil)
            }.flatMapErrorThrowing { error in
                patience.cancel()
                channel.close(promise: nil)
                if isLate.value { throw WebSocketError.openingTimedOut(limit) }
                if error is WebSocketError { throw error }
                throw WebSocketError.connectionLost("the client ended it before the upgrade")
            }
        }
    }

    /// Why a request opens no WebSocket, and what its client is told (RFC 6455 section 4.2.2).
    private struct OpeningRefusal: Sendable {
        var status: HTTPResponseStatus
        var headers: HTTPHeaders
        var reason: String

        /// The client may try again with what the headers say (RFC 9110 section 15.5.22).
        static let noUpgrade = OpeningRefusal(
            .upgradeRequired, ["Upgrade": "websocket", "Sec-WebSocket-Version": "13"],
            "the request is no opening of a WebSocket of version 13")

        init(_ status: HTTPResponseStatus, _ headers: HTTPHeaders, _ reason: String) {
            self.status = status
            self.headers = headers
            self.reason = reason
        }

        /// Looks at what SwiftNIO does not (section 4.2.1); nil where all is well.
        init?(of head: HTTPRequestHead) {
            guard head.method == .GET else {
                self.init(.methodNotAllowed, ["Allow": "GET"], "the method is \(head.method)")
                return
            }
            guard head.version == .http1_1 else {
                self = .noUpgrade
                reason = "the version of HTTP is \(head.version)"
                return
            }
            guard head.headers["Host"].count == 1 else {
                self.init(.badRequest, [:], "no Host, or several")
                return
            }
            guard head.headers["Sec-WebSocket-Version"] == ["13"] else {
                self = .noUpgrade
                reason = "the version of WebSocket is not 13"
                return
            }
            let keys = head.headers["Sec-WebSocket-Key"]
            guard keys.count == 1, Self.isKey(keys[0]) else {
                self.init(.badRequest, [:], "Sec-WebSocket-Key is not one of 16 bytes")
                return
            }
            return nil
        }

        /// 16 bytes in Base64 are 22 digits and two signs of equality.
        private static func isKey(_ text: String) -> Bool {
            text.utf8.count == 24 && text.hasSuffix("==")
                && text.utf8.dropLast(2).allSatisfy {
                    switch $0 {
                    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                        UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "+"), UInt8(ascii: "/"):
                        true
                    default: false
                    }
                }
        }

        /// Answers by HTTP, on the event loop, and closes the channel.
        func answer(_ channel: any Channel) -> EventLoopFuture<Void> {
            var headers = headers
            headers.replaceOrAdd(name: "Content-Length", value: "0")
            headers.replaceOrAdd(
                name: "Connection", value: status == .upgradeRequired ? "upgrade, close" : "close")
            let head = HTTPResponseHead(version: .http1_1, status: status, headers: headers)
            channel.write(HTTPServerResponsePart.head(head), promise: nil)
            return channel.writeAndFlush(HTTPServerResponsePart.end(nil)).flatMapErrorThrowing { _ in }
                .flatMap {
                    channel.close().flatMapErrorThrowing { _ in }
                }
        }
    }
#endif
