#if HTTP
    public import MultipathHTTP
    import NIOCore

    extension MultipathHTTPClient {
        /// Opens a WebSocket as the client opens its connections: raced, with its TLS, its pins and its proxy (RFC 6455
        /// section 4.1).
        ///
        /// ```swift
        /// let socket = try await client.webSocket("wss://chat.example/")
        /// try await socket.send(.text("hello"))
        /// print(try await socket.ping())
        /// ```
        ///
        /// The socket has a connection of its own, which lives until one of its ends closes it, and which the client's `close()`
        /// leaves alone. Of the options those about paths and names count, and `connectTimeout`; of the client's header fields
        /// those that the socket's options lack.
        ///
        /// - Parameters:
        ///   - url: `ws` or `wss`; without a user and a fragment.
        ///   - options: headers, subprotocols, limits.
        ///   - configure: which paths it may use, from the client's own options on.
        /// - Throws: `WebSocketError`; `MultipathHTTPError`, with the code `.notConnected` and every attempt, or `.proxy`;
        ///   `CancellationError`.
        public func webSocket(
            _ url: String, options: WebSocketOptions = WebSocketOptions(),
            configure: (inout HTTPRequestOptions) -> Void = { _ in }
        ) async throws -> WebSocket {
            let address = try WebSocketURL(url)
            var options = options
            for field in configuration.headerFields
            where options.headers[field.name.canonicalName].isEmpty {
                options.headers.add(name: field.name.rawName, value: field.value)
            }
            let opening = try WebSocketOpening(address, options)
            let origin = HTTPOrigin(isSecure: address.isSecure, host: address.host, port: address.port)
            // Another protocol would not know the upgrade (RFC 8441 is none that servers commonly have).
            let opened = try await open(origin, applicationProtocols: ["http/1.1"], configure: configure) {
                channel, _ in channel.eventLoop.makeSucceededVoidFuture()
            }
            return WebSocket(
                try await opening.open(opened.connection.channel), connection: opened.connection)
        }
    }
#endif
