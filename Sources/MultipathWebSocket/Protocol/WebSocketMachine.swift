#if HTTP
    import Multipath
    import NIOCore
    import NIOWebSocket

    /// One end of a WebSocket after its opening handshake (RFC 6455 sections 5 and 7): frames come in, and what to do about them
    /// comes out. It knows no clock, no channel and no task; masks are its runner's.
    ///
    ///          open ────── a close frame comes ──────────┐
    ///           │ close()                                ▼
    ///         closing ──── the answer comes ─────► leaving ──── the connection ends, or its time is up ────► ended
    ///           │                                        ▲
    ///           └── either: a violation, no answer ──────┘
    ///
    /// - `open`: messages go both ways.
    /// - `closing`: this end has sent its close frame. It sends nothing more; what comes is still delivered.
    /// - `leaving`: both close frames are through, or the peer was told what it did wrong. Nothing is read or sent any more.
    ///   A server closes the connection, a client gives it time to (section 7.1.1). After a violation only the sending
    ///   direction is closed at first: closing both at once would have the kernel reset the connection, and the peer might never
    ///   see the reason.
    /// - `ended`: the connection is gone.
    ///
    /// Call order: inputs as they happen, `timeReached` at `nextDeadline`. Perform the actions in their order.
    struct WebSocketMachine: Sendable {
        /// Which end this is: a client masks its frames, a server does not (section 5.1).
        enum Role: Sendable, Hashable {
            case client, server
        }

        struct Configuration: Sendable, Hashable {
            var role: Role
            /// Bytes of a message in all its frames; nil for any number.
            var maximumMessageSize: Int?
            /// How long the peer may take to answer a close frame, and a server to end the connection after that.
            var closeTimeout: Duration
            /// How long the peer may take to end the connection after it was told what it did wrong.
            var violationTimeout = Duration.seconds(1)
        }

        typealias PingID = UInt32

        enum Action: Sendable, Equatable {
            /// A frame for the peer, without a mask.
            case send(WebSocketFrame)
            /// A piece of a message for the receiver.
            case deliver(WebSocketFragment)
            /// A ping was answered after so long.
            case answered(PingID, Duration)
            /// The last thing that a receiver is told. Pings still open will have no answer.
            case finish(WebSocketEnd)
            /// No more is sent; what still comes is thrown away.
            case closeOutput
            case closeConnection
        }

        private enum State: Sendable, Hashable {
            case open
            case closing(WebSocketClosure, until: MonotonicTime)
            case leaving(until: MonotonicTime)
            case ended
        }

        /// The message that is coming in.
        private struct Incoming: Sendable, Hashable {
            var kind: WebSocketMessageKind
            var size = 0
            var text = UTF8Validator()
            /// Whether a piece of it was delivered.
            var isDelivered = false
        }

        /// The message that is going out.
        private struct Outgoing: Sendable, Hashable {
            var kind: WebSocketMessageKind
            var text = UTF8Validator()
        }

        private struct OpenPing: Sendable, Hashable {
            var id: PingID
            var sent: MonotonicTime
        }

        private let configuration: Configuration
        private var state = State.open
        private var incoming: Incoming?
        private var outgoing: Outgoing?
        /// In the order in which they were sent.
        private var pings: [OpenPing] = []
        private var nextPing: PingID = 0
        private var isWritable = true
        /// The newest ping of the peer that could not be answered yet (section 5.5.3: older ones need no answer then).
        private var heldPong: ByteBuffer?

        init(_ configuration: Configuration) { self.configuration = configuration }

        /// When `timeReached` is due; nil for never.
        var nextDeadline: MonotonicTime? {
            switch state {
            case .closing(_, let time), .leaving(let time): time
            case .open, .ended: nil
            }
        }

        /// Whether messages may be sent.
        var isOpen: Bool { state == .open }

        /// Whether frames are still looked at.
        private var isReading: Bool {
            switch state {
            case .open, .closing: true
            case .leaving, .ended: false
            }
        }

        // MARK: Frames from the peer

        /// A whole frame came.
        mutating func receive(_ frame: WebSocketFrame, at now: MonotonicTime) -> [Action] {
            guard isReading else { return [] }
            do throws(WebSocketViolation) {
                try check(frame)
                switch frame.opcode {
                case .connectionClose: return try receiveClose(frame.unmaskedData, at: now)
                case .ping: return receivePing(frame.unmaskedData)
                case .pong: return receivePong(frame.unmaskedData, at: now)
                default: return try receiveData(frame)
                }
            } catch {
                return fail(error, at: now)
            }
        }

        /// The frame decoder found what is no frame.
        mutating func receive(_ violation: WebSocketViolation, at now: MonotonicTime) -> [Action] {
            isReading ? fail(violation, at: now) : []
        }

        /// What goes for frames of every kind (sections 5.1, 5.2 and 5.5).
        private func check(_ frame: WebSocketFrame) throws(WebSocketViolation) {
            guard !frame.rsv1, !frame.rsv2, !frame.rsv3 else { throw .reservedBits }
            switch frame.opcode {
            case .continuation, .text, .binary, .connectionClose, .ping, .pong: break
            default: throw .reservedOpcode(UInt8(webSocketOpcode: frame.opcode))
            }
            switch configuration.role {
            case .server: guard frame.maskKey != nil else { throw .unmaskedFrame }
            case .client: guard frame.maskKey == nil else { throw .maskedFrame }
            }
            guard frame.opcode.isControlOpcode else { return }
            guard frame.fin else { throw .fragmentedControlFrame }
            guard frame.length <= 125 else { throw .longControlFrame }
        }

        /// A piece of a message (section 5.4).
        private mutating func receiveData(_ frame: WebSocketFrame) throws(WebSocketViolation) -> [Action] {
            var message: Incoming
            switch (frame.opcode, incoming) {
            case (.continuation, let begun?): message = begun
            case (.continuation, nil): throw .unexpectedContinuation
            case (_, .some): throw .interleavedMessage
            case (_, nil): message = Incoming(kind: frame.opcode == .text ? .text : .binary)
            }
            let bytes = frame.unmaskedData
            message.size += bytes.readableBytes
            if let limit = configuration.maximumMessageSize, message.size > limit { throw .longMessage }
            if message.kind == .text {
                let isText = bytes.withUnsafeReadableBytes { message.text.ingest($0) }
                guard isText, message.text.isComplete || !frame.fin else { throw .invalidText }
            }
            // An endless row of empty pieces takes no room.
            let isWorthTelling = frame.fin || bytes.readableBytes > 0
            let fragment = WebSocketFragment(
                kind: message.kind, bytes: bytes, isFirst: !message.isDelivered, isLast: frame.fin)
            if isWorthTelling { message.isDelivered = true }
            incoming = frame.fin ? nil : message
            return isWorthTelling ? [.deliver(fragment)] : []
        }

        private mutating func receivePing(_ payload: ByteBuffer) -> [Action] {
            guard state == .open else { return [] }
            guard isWritable else {
                heldPong = payload
                return []
            }
            return [.send(WebSocketFrame(fin: true, opcode: .pong, data: payload))]
        }

        /// A pong answers its ping, and all pings before it (section 5.5.3). One that answers none is ignored.
        private mutating func receivePong(_ payload: ByteBuffer, at now: MonotonicTime) -> [Action] {
            var payload = payload
            guard payload.readableBytes == MemoryLayout<PingID>.size,
                let id = payload.readInteger(as: PingID.self),
                let index = pings.firstIndex(where: { $0.id == id })
            else { return [] }
            let answered = pings[...index]
            pings.removeSubrange(...index)
            return answered.map { .answered($0.id, $0.sent.duration(to: now)) }
        }

        private mutating func receiveClose(
            _ payload: ByteBuffer, at now: MonotonicTime
        ) throws(WebSocketViolation) -> [Action] {
            let theirs = try WebSocketClosure(payload)
            var actions: [Action] = []
            if case .closing(let ours, _) = state {
                actions.append(.finish(.closed(ours)))
            } else {
                // The answer repeats the code (section 5.5.1).
                let code = theirs.code == .noStatusReceived ? nil : theirs.code
                actions = [.send(.close(code, "")), .finish(.closed(theirs))]
            }
            leave(until: now.advanced(by: configuration.closeTimeout))
            if configuration.role == .server { actions.append(.closeConnection) }
            return actions
        }

        // MARK: What this end wants

        /// Sends the first or next piece of a message.
        ///
        /// - Throws: `.invalidText`, after which the message may go on with other bytes; `.closed`, where it can't.
        mutating func send(
            _ bytes: ByteBuffer, of kind: WebSocketMessageKind, isLast: Bool
        ) throws(WebSocketError) -> [Action] {
            try requireOpen()
            var message = outgoing ?? Outgoing(kind: kind)
            precondition(message.kind == kind, "a message within another one")
            if kind == .text {
                let isText = bytes.withUnsafeReadableBytes { message.text.ingest($0) }
                guard isText, message.text.isComplete || !isLast else { throw .invalidText }
            }
            let opcode: WebSocketOpcode =
                if outgoing != nil { .continuation } else if kind == .text { .text } else { .binary }
            outgoing = isLast ? nil : message
            return [.send(WebSocketFrame(fin: isLast, opcode: opcode, data: bytes))]
        }

        /// The message that has begun will not be finished: no other one can follow, so the connection ends.
        mutating func abandonMessage(at now: MonotonicTime) -> [Action] {
            guard state == .open, outgoing != nil else { return [] }
            leave(until: now.advanced(by: configuration.violationTimeout))
            let code = configuration.role == .server ? WebSocketCloseCode.internalError : .goingAway
            return [.send(.close(code, "")), .finish(.failed(.messageCutShort)), .closeOutput]
        }

        /// Pings the peer (section 5.5.2). The ping takes 6 bytes of a server, 10 of a client, which masks.
        mutating func ping(at now: MonotonicTime) throws(WebSocketError) -> (PingID, [Action]) {
            try requireOpen()
            let id = nextPing
            nextPing &+= 1
            pings.append(OpenPing(id: id, sent: now))
            return (id, [.send(WebSocketFrame(fin: true, opcode: .ping, data: ByteBuffer(integer: id)))])
        }

        /// No answer is awaited any more.
        mutating func forgetPing(_ id: PingID) { pings.removeAll { $0.id == id } }

        /// Begins the closing handshake (section 7.1.2). Nothing happens where it has begun.
        ///
        /// - Throws: `.invalidCloseCode`.
        mutating func close(
            _ code: WebSocketCloseCode, _ reason: String, at now: MonotonicTime
        ) throws(WebSocketError) -> [Action] {
            guard code.maySend, reason.utf8.count <= 123 else { throw .invalidCloseCode(code) }
            guard state == .open else { return [] }
            let closure = WebSocketClosure(initiator: .local, code: code, reason: reason)
            state = .closing(closure, until: now.advanced(by: configuration.closeTimeout))
            heldPong = nil
            return [.send(.close(code, reason))]
        }

        private func requireOpen() throws(WebSocketError) {
            switch state {
            case .open: return
            case .closing(let closure, _): throw .closed(closure)
            // The runner knows how it ended.
            case .leaving, .ended: throw .connectionLost("closed already")
            }
        }

        // MARK: The connection

        /// Whether the channel takes more: pongs wait while it does not, so that pings can't fill this end's memory.
        mutating func writabilityChanged(_ isWritable: Bool) -> [Action] {
            self.isWritable = isWritable
            guard isWritable, state == .open, let payload = heldPong else { return [] }
            heldPong = nil
            return [.send(WebSocketFrame(fin: true, opcode: .pong, data: payload))]
        }

        /// The connection is gone.
        ///
        /// - Parameter reason: an error's words, where there was one.
        mutating func connectionEnded(_ reason: String?) -> [Action] {
            defer { state = .ended }
            guard isReading else { return [] }
            return [
                .finish(.failed(.connectionLost(reason ?? "the peer ended it without closing the WebSocket")))
            ]
        }

        /// `nextDeadline` has come.
        mutating func timeReached(_ now: MonotonicTime) -> [Action] {
            guard let nextDeadline, now >= nextDeadline else { return [] }
            defer { state = .ended }
            if case .closing = state { return [.finish(.failed(.closeTimedOut)), .closeConnection] }
            return [.closeConnection]
        }

        /// Tells the peer what it did wrong (section 7.1.7).
        private mutating func fail(_ violation: WebSocketViolation, at now: MonotonicTime) -> [Action] {
            var actions: [Action] = []
            // A close frame is the last that an end sends.
            if state == .open { actions.append(.send(.close(violation.closeCode, violation.description))) }
            leave(until: now.advanced(by: configuration.violationTimeout))
            return actions + [.finish(.failed(.violation(violation))), .closeOutput]
        }

        private mutating func leave(until deadline: MonotonicTime) {
            state = .leaving(until: deadline)
            (incoming, outgoing, heldPong) = (nil, nil, nil)
            pings = []
        }
    }
#endif
