#if HTTP
    /// Why an end closes, as a number (RFC 6455 section 7.4, and IANA's WebSocket Close Code Number Registry).
    public struct WebSocketCloseCode: RawRepresentable, Sendable, Hashable, CustomStringConvertible {
        /// The number, as it stands in the close frame.
        public var rawValue: UInt16

        /// Any number, also one that may not be sent.
        public init(rawValue: UInt16) { self.rawValue = rawValue }

        /// 1000: what the connection was for is done.
        public static let normalClosure = WebSocketCloseCode(rawValue: 1000)
        /// 1001: a server goes down, or a client moves on.
        public static let goingAway = WebSocketCloseCode(rawValue: 1001)
        /// 1002: the other end broke the protocol.
        public static let protocolError = WebSocketCloseCode(rawValue: 1002)
        /// 1003: a kind of message that this end can't take, binary for instance.
        public static let unsupportedData = WebSocketCloseCode(rawValue: 1003)
        /// 1005: the other end named no code. It is never sent.
        public static let noStatusReceived = WebSocketCloseCode(rawValue: 1005)
        /// 1007: bytes that don't fit the kind of message: text that is not UTF-8.
        public static let invalidPayload = WebSocketCloseCode(rawValue: 1007)
        /// 1008: a message against this end's rules.
        public static let policyViolation = WebSocketCloseCode(rawValue: 1008)
        /// 1009: a message longer than this end takes.
        public static let messageTooBig = WebSocketCloseCode(rawValue: 1009)
        /// 1010: a client misses an extension that it needs.
        public static let mandatoryExtension = WebSocketCloseCode(rawValue: 1010)
        /// 1011: a server can't go on.
        public static let internalError = WebSocketCloseCode(rawValue: 1011)
        /// 1012: the service restarts.
        public static let serviceRestart = WebSocketCloseCode(rawValue: 1012)
        /// 1013: too much to do; to be tried again later.
        public static let tryAgainLater = WebSocketCloseCode(rawValue: 1013)
        /// 1014: a gateway got no valid answer from the server behind it.
        public static let badGateway = WebSocketCloseCode(rawValue: 1014)

        /// Whether the code may stand in a close frame. 1004 to 1006 and 1015 may not, nor numbers below 3000 that are not
        /// registered; 3000 to 3999 are libraries', 4000 to 4999 each application's own (section 7.4.2).
        public var maySend: Bool {
            switch rawValue {
            case 1000...1003, 1007...1014, 3000...4999: true
            default: false
            }
        }

        /// Whether the end was an ordinary one: 1000, 1001, or no code at all.
        public var isOrdinary: Bool {
            self == .normalClosure || self == .goingAway || self == .noStatusReceived
        }

        /// The number.
        public var description: String { "\(rawValue)" }
    }

    /// How a WebSocket was closed, both ends having said so (RFC 6455 section 7.1.4).
    public struct WebSocketClosure: Sendable, Hashable, CustomStringConvertible {
        /// The end that closed first.
        public enum Side: Sendable, Hashable {
            /// This one.
            case local
            /// The peer.
            case remote
        }

        /// Which end said it first.
        public var initiator: Side
        /// The code of that end; `.noStatusReceived` where it gave none.
        public var code: WebSocketCloseCode
        /// That end's words, at most 123 bytes; mostly empty.
        public var reason: String

        /// A closing.
        public init(initiator: Side, code: WebSocketCloseCode, reason: String = "") {
            self.initiator = initiator
            self.code = code
            self.reason = reason
        }

        /// `closed by the peer: 1001 (server goes down)`
        public var description: String {
            "closed by \(initiator == .local ? "this end" : "the peer"): \(code)"
                + (reason.isEmpty ? "" : " (\(reason))")
        }
    }
#endif
