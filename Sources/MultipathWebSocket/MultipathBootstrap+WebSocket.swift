#if HTTP
    public import Multipath
    public import MultipathNIO
    import MultipathTLS
    import NIOCore
    public import NIOSSL

    extension MultipathBootstrap {
        /// Opens a WebSocket over the best of this machine's paths: connects, with TLS where the address says `wss`, then asks
        /// for the upgrade (RFC 6455 section 4.1).
        ///
        /// ```swift
        /// var options = WebSocketOptions()
        /// options.headers.add(name: "Authorization", value: "Bearer \(token)")
        /// let socket = try await MultipathBootstrap(group: group).webSocket("wss://chat.example/room", options: options)
        /// ```
        ///
        /// With `wss` the race's first attempt whose TLS is up wins, and its certificate has to be the host's (RFC 9525).
        ///
        /// - Parameters:
        ///   - url: `ws` or `wss`; without a user and a fragment.
        ///   - options: headers, subprotocols, limits.
        ///   - tls: roots, a client certificate; of no use with `ws`. What it says of ALPN is replaced by `http/1.1`, which the
        ///     opening handshake needs.
        /// - Throws: `WebSocketError`; `ConnectionError`, which lists every attempt, those whose TLS failed, too;
        ///   `CancellationError`.
        public func webSocket(
            _ url: String, options: WebSocketOptions = WebSocketOptions(),
            tls: TLSConfiguration = .makeClientConfiguration()
        ) async throws -> WebSocket {
            let address = try WebSocketURL(url)
            let opening = try WebSocketOpening(address, options)
            let connected = try await secured(address, tls).connect(host: address.host, port: address.port) {
                $0.eventLoop.makeSucceededVoidFuture()
            }
            return WebSocket(try await opening.open(connected.channel), connection: connected.connection)
        }

        /// Opens a WebSocket again and again, until the work on it is done: each next connection is opened before the one
        /// before is given up, as soon as that one's path fails or a better path is there; after a failure there is a pause, which
        /// ends early when a path appears.
        ///
        /// ```swift
        /// try await bootstrap.withReconnectingWebSocket("wss://feed.example/", progress: 0) { socket, session, position in
        ///     try await socket.send(.text("from \(position)"))
        ///     while let message = try await socket.receive() {
        ///         position = show(message)
        ///         session.madeProgress()
        ///         if session.shouldMigrate { break }
        ///     }
        ///     return .reconnect
        /// }
        /// ```
        ///
        /// What counts as a break, beside what `reconnection.isBreak` says: a connection that is lost, an opening that takes too
        /// long, an answer of 429 or 5xx, and the close codes 1001, 1006 and 1011 to 1014. Every other error ends it all, and
        /// is thrown.
        ///
        /// - Parameters:
        ///   - url: as with `webSocket(_:options:tls:)`.
        ///   - options: headers, subprotocols, limits.
        ///   - tls: as with `webSocket(_:options:tls:)`.
        ///   - progress: what the work knows of how far it got; handed from each call to the next.
        ///   - reconnection: the budget, the pauses, the grace period.
        ///   - body: the work. One call at a time; it is cancelled when its connection must be left.
        /// - Returns: the progress as the work left it when it had finished.
        /// - Throws: what the work throws; `WebSocketError`; `ReconnectionError` when the budget is spent; `CancellationError`.
        public func withReconnectingWebSocket<Progress: Sendable>(
            _ url: String, options: WebSocketOptions = WebSocketOptions(),
            tls: TLSConfiguration = .makeClientConfiguration(), progress: Progress,
            reconnection: ReconnectionOptions = ReconnectionOptions(),
            body:
                @escaping @Sendable (
                    WebSocket, ReconnectionSession<MultipathConnection, Void>, inout Progress
                ) async throws -> ReconnectionStep
        ) async throws -> Progress {
            let address = try WebSocketURL(url)
            let opening = try WebSocketOpening(address, options)
            var reconnection = reconnection
            let isBreak = reconnection.isBreak
            reconnection.isBreak = { ($0 as? WebSocketError)?.isBreak ?? false || isBreak($0) }
            return try await secured(address, tls).withReconnection(
                host: address.host, port: address.port, progress: progress, options: reconnection,
                channelInitializer: { $0.eventLoop.makeSucceededVoidFuture() }
            ) { session, progress in
                let connection = session.connection
                let socket = WebSocket(try await opening.open(connection.channel), connection: connection)
                let step = try await body(socket, session, &progress)
                // The next connection does not wait for the answer.
                socket.beginClosing(.goingAway)
                return step
            }
        }

        private func secured(_ url: WebSocketURL, _ tls: TLSConfiguration) throws -> MultipathBootstrap {
            guard url.isSecure else { return self }
            var tls = tls
            tls.applicationProtocols = ["http/1.1"]
            return try TLSClient(host: url.host, configuration: tls).apply(to: self)
        }
    }

    extension WebSocketError {
        /// Whether another connection may do better.
        var isBreak: Bool {
            switch self {
            case .connectionLost, .closeTimedOut, .openingTimedOut: true
            case .refused(let answer): answer.status.code == 429 || answer.status.code >= 500
            case .closed(let closure):
                closure.initiator == .remote
                    && (closure.code == .goingAway || 1011...1014 ~= closure.code.rawValue)
            default: false
            }
        }
    }
#endif
