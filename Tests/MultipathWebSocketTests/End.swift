#if HTTP
    import Multipath
    import NIOCore
    import NIOWebSocket

    @testable import MultipathWebSocket

    /// A machine with a peer that frames as it should, unless told otherwise.
    struct End {
        var machine: WebSocketMachine
        var now = MonotonicTime.zero
        private let role: WebSocketMachine.Role

        init(_ role: WebSocketMachine.Role, maximumMessageSize: Int? = nil) {
            self.role = role
            machine = WebSocketMachine(
                WebSocketMachine.Configuration(
                    role: role, maximumMessageSize: maximumMessageSize, closeTimeout: .seconds(5)))
        }

        /// A frame of the peer.
        func peers(_ opcode: WebSocketOpcode, _ payload: ByteBuffer, fin: Bool = true) -> WebSocketFrame {
            guard role == .server else { return WebSocketFrame(fin: fin, opcode: opcode, data: payload) }
            let key: WebSocketMaskingKey = [0x12, 0x34, 0x56, 0x78]
            var masked = payload
            masked.webSocketMask(key)
            return WebSocketFrame(fin: fin, opcode: opcode, maskKey: key, data: masked)
        }

        func peers(_ opcode: WebSocketOpcode, _ payload: String) -> WebSocketFrame {
            peers(opcode, ByteBuffer(string: payload))
        }

        mutating func receive(
            _ opcode: WebSocketOpcode, _ payload: ByteBuffer, fin: Bool = true
        ) -> [WebSocketMachine.Action] {
            machine.receive(peers(opcode, payload, fin: fin), at: now)
        }

        mutating func receive(
            _ opcode: WebSocketOpcode, _ payload: String, fin: Bool = true
        ) -> [WebSocketMachine.Action] {
            receive(opcode, ByteBuffer(string: payload), fin: fin)
        }

        /// What the machine does about a violation, if it was open.
        func refusal(_ violation: WebSocketViolation) -> [WebSocketMachine.Action] {
            [
                .send(.close(violation.closeCode, violation.description)),
                .finish(.failed(.violation(violation))),
                .closeOutput,
            ]
        }
    }

    extension WebSocketMachine.Action {
        var sent: WebSocketFrame? {
            guard case .send(let frame) = self else { return nil }
            return frame
        }

        var delivered: WebSocketFragment? {
            guard case .deliver(let fragment) = self else { return nil }
            return fragment
        }
    }

    extension WebSocketFrame {
        static func frame(_ opcode: WebSocketOpcode, _ payload: String, fin: Bool = true) -> WebSocketFrame {
            WebSocketFrame(fin: fin, opcode: opcode, data: ByteBuffer(string: payload))
        }
    }

    extension WebSocketFragment {
        static func text(_ text: String, isFirst: Bool, isLast: Bool) -> WebSocketFragment {
            WebSocketFragment(kind: .text, bytes: ByteBuffer(string: text), isFirst: isFirst, isLast: isLast)
        }
    }
#endif
