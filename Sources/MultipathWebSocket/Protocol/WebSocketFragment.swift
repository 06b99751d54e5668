#if HTTP
    import NIOCore
    import NIOWebSocket

    /// Whether a message is text or bytes (RFC 6455 section 5.6).
    public enum WebSocketMessageKind: Sendable, Hashable {
        /// UTF-8.
        case text
        /// Bytes.
        case binary
    }

    /// A piece of a message, of one frame, or of several where many wait.
    struct WebSocketFragment: Sendable, Hashable {
        var kind: WebSocketMessageKind
        var bytes: ByteBuffer
        var isFirst: Bool
        var isLast: Bool
    }

    /// How a WebSocket ended.
    enum WebSocketEnd: Sendable, Equatable {
        /// By the closing handshake.
        case closed(WebSocketClosure)
        /// Otherwise.
        case failed(WebSocketError)

        /// What a receiver is told after the last message; nil where it was an ordinary end.
        var receiverError: WebSocketError? {
            switch self {
            case .closed(let closure):
                closure.code.isOrdinary || closure.initiator == .local ? nil : .closed(closure)
            case .failed(let error): error
            }
        }

        /// What a sender is told.
        var senderError: WebSocketError {
            switch self {
            case .closed(let closure): .closed(closure)
            case .failed(let error): error
            }
        }
    }

    extension WebSocketClosure {
        /// Reads a close frame of the peer (RFC 6455 section 5.5.1).
        init(_ payload: ByteBuffer) throws(WebSocketViolation) {
            var payload = payload
            guard payload.readableBytes > 0 else {
                self.init(initiator: .remote, code: .noStatusReceived)
                return
            }
            guard let number = payload.readInteger(as: UInt16.self) else { throw .truncatedCloseCode }
            let code = WebSocketCloseCode(rawValue: number)
            guard code.maySend else { throw .invalidCloseCode(number) }
            var validator = UTF8Validator()
            guard payload.withUnsafeReadableBytes({ validator.ingest($0) }), validator.isComplete else {
                throw .invalidCloseReason
            }
            self.init(initiator: .remote, code: code, reason: String(buffer: payload))
        }
    }

    extension WebSocketFrame {
        /// - Parameters:
        ///   - code: nil for a close frame without one.
        ///   - reason: at most 123 bytes.
        static func close(_ code: WebSocketCloseCode?, _ reason: String) -> WebSocketFrame {
            var payload = ByteBuffer()
            if let code {
                payload.writeInteger(code.rawValue)
                payload.writeString(reason)
            }
            return WebSocketFrame(fin: true, opcode: .connectionClose, data: payload)
        }
    }

    extension WebSocketViolation {
        /// What SwiftNIO's frame decoder refuses.
        init(_ error: NIOWebSocketError) {
            switch error {
            case .fragmentedControlFrame: self = .fragmentedControlFrame
            case .multiByteControlFrameLength: self = .longControlFrame
            case .invalidFrameLength: self = .longFrame
            }
        }
    }
#endif
