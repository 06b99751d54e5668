#if HTTP
    public import NIOHTTP1

    /// Why a WebSocket could not be opened, or went wrong.
    public enum WebSocketError: Error, Sendable, Equatable {
        // MARK: Before it is open

        /// No WebSocket's address (RFC 6455 section 3): `ws` or `wss`, a host, no user and no fragment.
        case invalidURL(String)
        /// A header that the opening handshake sets itself, or one that HTTP does not allow.
        case invalidHeader(String)
        /// A subprotocol that is no token of HTTP, or stands twice in the list.
        case invalidSubprotocol(String)
        /// The server answered, and not with 101: 401 wants credentials, 3xx names another address in `Location`.
        case refused(HTTPResponseHead)
        /// The answer was 101, but not as RFC 6455 section 4.1 wants it: a wrong `Sec-WebSocket-Accept`, say.
        case invalidAnswer(String)
        /// The server chose a subprotocol that was not among the offered ones.
        case unexpectedSubprotocol(String)
        /// The server switched an extension on; none was offered.
        case unexpectedExtension(String)
        /// A client's request that this server does not take for the opening of a WebSocket.
        case notUpgraded(String)
        /// The opening handshake took longer than `openingTimeout`.
        case openingTimedOut(Duration)

        // MARK: While it is open

        /// The peer broke the protocol. It was told so, and the connection closed.
        case violation(WebSocketViolation)
        /// Closed already, or about to be: nothing more can be sent. Also what a receiver gets of an end that is not ordinary
        /// (`WebSocketCloseCode.isOrdinary`).
        case closed(WebSocketClosure)
        /// The connection ended without a closing handshake (code 1006 in RFC 6455 section 7.1.5), and why.
        case connectionLost(String)
        /// The peer did not answer the close frame within `closeTimeout`.
        case closeTimedOut
        /// A message was begun, and the body that writes it threw before its end. The peer can't tell where another message would
        /// begin, so the connection was closed.
        case messageCutShort
        /// A text message of this end is not UTF-8. Nothing of that piece was sent.
        case invalidText
        /// The code may not be sent (`WebSocketCloseCode.maySend`), or its reason is longer than 123 bytes.
        case invalidCloseCode(WebSocketCloseCode)
        /// Another task is receiving. One at a time may.
        case alreadyReceiving
    }

    extension WebSocketError: CustomStringConvertible {
        public var description: String {
            switch self {
            case .invalidURL(let url): "no WebSocket's address: \(url)"
            case .invalidHeader(let name): "the header \(name) can't be set"
            case .invalidSubprotocol(let name): "no subprotocol: \(name)"
            case .refused(let answer): "the server refused the upgrade: \(answer.status)"
            case .invalidAnswer(let reason): "the server's answer is no upgrade to WebSocket: \(reason)"
            case .unexpectedSubprotocol(let name):
                "the server chose the subprotocol \(name), which was not offered"
            case .unexpectedExtension(let name):
                "the server chose the extension \(name), which was not offered"
            case .notUpgraded(let reason): "no upgrade to WebSocket: \(reason)"
            case .openingTimedOut(let limit): "not open within \(limit)"
            case .violation(let violation): "the peer broke the protocol: \(violation)"
            case .closed(let closure): "\(closure)"
            case .connectionLost(let reason): "the connection was lost: \(reason)"
            case .closeTimedOut: "the peer did not answer the closing"
            case .messageCutShort: "a message was not finished"
            case .invalidText: "a text message has to be UTF-8"
            case .invalidCloseCode(let code):
                "\(code) can't be sent as a close code, or its reason is too long"
            case .alreadyReceiving: "another task is receiving"
            }
        }
    }

    /// What the peer did that RFC 6455 forbids, or this end's limits. Each is told to the peer by a close frame; then the
    /// connection ends, and none of its bytes are looked at any more (section 7.1.7).
    public enum WebSocketViolation: Error, Sendable, Hashable {
        /// RSV1, RSV2 or RSV3 is set, and no extension is in use (section 5.2).
        case reservedBits
        /// An opcode that means nothing yet: 3 to 7, 11 to 15 (section 5.2).
        case reservedOpcode(UInt8)
        /// A client sent a frame without a mask (section 5.1).
        case unmaskedFrame
        /// A server sent a frame with one (section 5.1).
        case maskedFrame
        /// A ping, pong or close in several frames (section 5.5).
        case fragmentedControlFrame
        /// A ping, pong or close of more than 125 bytes (section 5.5).
        case longControlFrame
        /// A continuation where no message has begun (section 5.4).
        case unexpectedContinuation
        /// A message within another one (section 5.4).
        case interleavedMessage
        /// A text message that is not UTF-8 (section 8.1).
        case invalidText
        /// A close frame of one byte (section 5.5.1).
        case truncatedCloseCode
        /// A close code that may not be sent (section 7.4).
        case invalidCloseCode(UInt16)
        /// A reason for closing that is not UTF-8 (section 5.5.1).
        case invalidCloseReason
        /// A frame above `maximumFrameSize`, or one whose length has its highest bit set (section 5.2).
        case longFrame
        /// A message above `maximumMessageSize`.
        case longMessage

        /// What the peer is told.
        public var closeCode: WebSocketCloseCode {
            switch self {
            case .invalidText, .invalidCloseReason: .invalidPayload
            case .longFrame, .longMessage: .messageTooBig
            default: .protocolError
            }
        }
    }

    extension WebSocketViolation: CustomStringConvertible {
        public var description: String {
            switch self {
            case .reservedBits: "reserved bits are set"
            case .reservedOpcode(let number): "the opcode \(number) is reserved"
            case .unmaskedFrame: "a client's frame has no mask"
            case .maskedFrame: "a server's frame has a mask"
            case .fragmentedControlFrame: "a control frame in pieces"
            case .longControlFrame: "a control frame of more than 125 bytes"
            case .unexpectedContinuation: "a continuation of no message"
            case .interleavedMessage: "a message within another one"
            case .invalidText: "text that is not UTF-8"
            case .truncatedCloseCode: "half a close code"
            case .invalidCloseCode(let code): "the close code \(code)"
            case .invalidCloseReason: "a reason for closing that is not UTF-8"
            case .longFrame: "a frame that is too long"
            case .longMessage: "a message that is too long"
            }
        }
    }

#endif
