#if HTTP
    public import NIOHTTP1

    /// What one end of a WebSocket allows, and how long it waits. The headers and subprotocols are a client's.
    public struct WebSocketOptions: Sendable {
        /// Further headers of the opening request: `Authorization`, `Origin`, `Cookie`. Not those that the handshake sets
        /// itself: `Host`, `Upgrade`, `Connection`, `Sec-WebSocket-…`.
        public var headers = HTTPHeaders()
        /// The application's protocols, the best first, of which the server takes one or none (RFC 6455 section 1.9).
        public var subprotocols: [String] = []

        /// The longest frame that is taken, in bytes: 1 MiB unless set, 4 GiB at most. A frame is held until it is whole.
        public var maximumFrameSize = 1 << 20
        /// The longest message that is taken, in bytes of all its frames: 1 MiB unless set; nil for any, where messages are
        /// received piece by piece.
        public var maximumMessageSize: Int? = 1 << 20
        /// How many bytes are held for a receiver that is slow; beyond them nothing is read, so that the peer slows down, too.
        /// Pings of the peer wait with the rest. 256 KiB unless set; a receiver of a whole message gets it whatever this says.
        public var receiveBufferSize = 1 << 18
        /// Longer messages are sent in frames of this size, so that pings pass between them: 64 KiB unless set.
        public var sentFrameSize = 1 << 16

        /// How long the opening handshake may take after the connection is there; 10 s unless set.
        public var openingTimeout: Duration = .seconds(10)
        /// How long the peer may take to answer a close frame, and then a server to end the connection; 5 s unless set.
        public var closeTimeout: Duration = .seconds(5)

        /// The defaults.
        public init() {}

        func machine(_ role: WebSocketMachine.Role) -> WebSocketMachine.Configuration {
            WebSocketMachine.Configuration(
                role: role, maximumMessageSize: maximumMessageSize, closeTimeout: closeTimeout)
        }

        /// As SwiftNIO's frame decoder takes it.
        var frameLimit: Int { min(max(maximumFrameSize, 0), Int(UInt32.max)) }
    }
#endif
