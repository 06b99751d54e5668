#if HTTP
    public import Multipath
    public import MultipathNIO
    import NIOCore
    import NIOWebSocket

    extension WebSocket {
        /// Keeps the connection alive while it idles, and ends it when the peer is dead: see `Heartbeat`. Its pings are
        /// WebSocket's, 10 bytes of a client, 6 of a server; the interval is what the network bears.
        ///
        /// The answers come behind the peer's messages, so something has to receive those. A dead peer ends the WebSocket with
        /// `WebSocketError.connectionLost`.
        ///
        /// - Parameters:
        ///   - connection: on the server's side the accepted connection; a client has its own.
        ///   - told: what happens, on a thread that must not be held up.
        /// - Throws: `WebSocketError` where it has ended.
        public func startHeartbeat(
            over connection: MultipathConnection? = nil,
            told: @escaping @Sendable (Heartbeat.Event) -> Void = { _ in }
        ) async throws {
            guard let connection = connection ?? self.connection else {
                preconditionFailure("a server's WebSocket does not know its connection")
            }
            let (isClient, size) = (isClient, pingSize)
            try await addHandler {
                // Its payload is none of `ping()`'s, so that neither takes the other's answer.
                let payload = ByteBuffer(string: "beat")
                return HeartbeatHandler<WebSocketFrame, WebSocketFrame>(
                    of: connection, pingSize: size,
                    ping: {
                        WebSocketFrame(
                            fin: true, opcode: .ping, maskKey: isClient ? .random() : nil, data: payload)
                    }, isAnswer: { $0.opcode == .pong && $0.unmaskedData == payload }, told: told)
            }
        }
    }
#endif
