#if HTTP
    import Multipath
    import NIOCore
    import NIOWebSocket
    import Testing

    @testable import MultipathWebSocket

    /// Autobahn's cases of group 7, and what this end does by itself.
    @Suite("The closing handshake")
    struct WebSocketClosingTests {
        private func payload(_ code: UInt16, _ reason: [UInt8] = []) -> ByteBuffer {
            var payload = ByteBuffer(integer: code)
            payload.writeBytes(reason)
            return payload
        }

        @Test("is answered with the code that came, and then the server ends the connection")
        func serverAnswers() {
            var end = End(.server)
            let closure = WebSocketClosure(initiator: .remote, code: .goingAway, reason: "bye")
            #expect(
                end.receive(.connectionClose, payload(1001, Array("bye".utf8)))
                    == [.send(.close(.goingAway, "")), .finish(.closed(closure)), .closeConnection])
        }

        @Test("is answered, and then the client leaves it to the server to end the connection, for a while")
        func clientAnswers() {
            var end = End(.client)
            let closure = WebSocketClosure(initiator: .remote, code: .normalClosure)
            #expect(
                end.receive(.connectionClose, payload(1000))
                    == [.send(.close(.normalClosure, "")), .finish(.closed(closure))])
            #expect(end.machine.nextDeadline == end.now.advanced(by: .seconds(5)))
            #expect(end.machine.timeReached(end.now.advanced(by: .seconds(5))) == [.closeConnection])
        }

        @Test("without a code is answered without one")
        func empty() {
            var end = End(.server)
            let closure = WebSocketClosure(initiator: .remote, code: .noStatusReceived)
            #expect(
                end.receive(.connectionClose, "")
                    == [.send(.close(nil, "")), .finish(.closed(closure)), .closeConnection])
        }

        @Test(
            "takes the codes that may be sent",
            arguments: [1000, 1001, 1002, 1003, 1007, 1011, 1014, 3000, 4999])
        func validCodes(_ code: UInt16) {
            var end = End(.client)
            let closure = WebSocketClosure(initiator: .remote, code: WebSocketCloseCode(rawValue: code))
            #expect(end.receive(.connectionClose, payload(code)).contains(.finish(.closed(closure))))
        }

        @Test(
            "refuses the codes that may not",
            arguments: [0, 999, 1004, 1005, 1006, 1015, 1016, 1100, 2000, 2999, 5000, 65_535])
        func invalidCodes(_ code: UInt16) {
            var end = End(.server)
            #expect(end.receive(.connectionClose, payload(code)) == end.refusal(.invalidCloseCode(code)))
        }

        @Test("refuses half a code, and a reason that is not UTF-8")
        func malformed() {
            var half = End(.server)
            #expect(half.receive(.connectionClose, "\u{3}") == half.refusal(.truncatedCloseCode))
            for reason: [UInt8] in [[0xCE, 0xBA, 0xE1], [0xED, 0xA0, 0x80], [0xFF]] {
                var end = End(.server)
                #expect(
                    end.receive(.connectionClose, payload(1000, reason)) == end.refusal(.invalidCloseReason))
            }
        }

        @Test("takes a reason of 123 bytes")
        func longestReason() {
            var end = End(.server)
            let reason = String(repeating: "x", count: 123)
            let closure = WebSocketClosure(initiator: .remote, code: .normalClosure, reason: reason)
            #expect(
                end.receive(.connectionClose, payload(1000, Array(reason.utf8))).contains(
                    .finish(.closed(closure))))
        }

        @Test("ends everything: what comes behind it is not looked at")
        func nothingAfter() {
            var end = End(.client)
            _ = end.receive(.connectionClose, payload(1000))
            for opcode in [WebSocketOpcode.text, .ping, .connectionClose, .continuation] {
                #expect(end.receive(opcode, "x") == [])
            }
            #expect(end.machine.connectionEnded(nil) == [])
        }

        @Test("ends a message that is not whole")
        func withinMessage() {
            var end = End(.server)
            _ = end.receive(.text, "begun", fin: false)
            #expect(end.receive(.connectionClose, payload(1000)).first == .send(.close(.normalClosure, "")))
        }

        @Test("begun by this end, lets what the peer still sends come, and ends with its answer")
        func ours() throws {
            var end = End(.client)
            #expect(
                try end.machine.close(.normalClosure, "done", at: end.now) == [
                    .send(.close(.normalClosure, "done"))
                ])
            let closure = WebSocketClosure(initiator: .local, code: .normalClosure, reason: "done")
            #expect(throws: WebSocketError.closed(closure)) {
                try end.machine.send(ByteBuffer(string: "x"), of: .text, isLast: true)
            }
            #expect(throws: WebSocketError.closed(closure)) { try end.machine.ping(at: end.now) }
            #expect(try end.machine.close(.goingAway, "", at: end.now) == [])
            #expect(end.receive(.text, "late") == [.deliver(.text("late", isFirst: true, isLast: true))])
            #expect(end.receive(.ping, "late") == [])
            #expect(end.receive(.connectionClose, payload(1000)) == [.finish(.closed(closure))])
        }

        @Test("begun by this end, is given up after five seconds without an answer")
        func unanswered() throws {
            var end = End(.server)
            _ = try end.machine.close(.goingAway, "", at: end.now)
            let late = end.now.advanced(by: .seconds(5))
            #expect(end.machine.nextDeadline == late)
            #expect(end.machine.timeReached(late) == [.finish(.failed(.closeTimedOut)), .closeConnection])
            #expect(end.machine.nextDeadline == nil)
        }

        @Test(
            "begun by this end, ends with a violation that comes instead of the answer, and sends no second close"
        )
        func violationInstead() throws {
            var end = End(.server)
            _ = try end.machine.close(.normalClosure, "", at: end.now)
            #expect(
                end.receive(.continuation, "x")
                    == [.finish(.failed(.violation(.unexpectedContinuation))), .closeOutput])
        }

        @Test("refuses to send codes that may not be sent, and reasons of more than 123 bytes")
        func refusesOurs() {
            var end = End(.client)
            for code: UInt16 in [0, 999, 1004, 1005, 1006, 1015, 2999, 5000] {
                let code = WebSocketCloseCode(rawValue: code)
                #expect(throws: WebSocketError.invalidCloseCode(code)) {
                    try end.machine.close(code, "", at: end.now)
                }
            }
            let long = String(repeating: "x", count: 124)
            #expect(throws: WebSocketError.invalidCloseCode(.normalClosure)) {
                try end.machine.close(.normalClosure, long, at: end.now)
            }
            #expect(end.machine.isOpen)
        }

        @Test("that the connection's end comes before is a loss")
        func lost() throws {
            var open = End(.client)
            #expect(
                open.machine.connectionEnded("connection reset")
                    == [.finish(.failed(.connectionLost("connection reset")))])
            #expect(open.machine.connectionEnded(nil) == [])
            var closing = End(.client)
            _ = try closing.machine.close(.normalClosure, "", at: closing.now)
            #expect(closing.machine.connectionEnded("reset") == [.finish(.failed(.connectionLost("reset")))])
        }
    }

    @Suite("Messages that are sent")
    struct WebSocketSendingTests {
        @Test("are one frame, or a first and continuations")
        func frames() throws {
            var end = End(.client)
            #expect(
                try end.machine.send(ByteBuffer(string: "whole"), of: .text, isLast: true)
                    == [.send(.frame(.text, "whole"))])
            #expect(
                try end.machine.send(ByteBuffer(string: "a"), of: .binary, isLast: false)
                    == [.send(.frame(.binary, "a", fin: false))])
            #expect(
                try end.machine.send(ByteBuffer(string: "b"), of: .binary, isLast: false)
                    == [.send(.frame(.continuation, "b", fin: false))])
            #expect(
                try end.machine.send(ByteBuffer(), of: .binary, isLast: true)
                    == [.send(.frame(.continuation, ""))])
        }

        @Test("have to be UTF-8 where they are text, in all their pieces together")
        func text() throws {
            var end = End(.client)
            _ = try end.machine.send(ByteBuffer(bytes: [0xCE]), of: .text, isLast: false)
            #expect(throws: WebSocketError.invalidText) {
                try end.machine.send(ByteBuffer(bytes: [0x41]), of: .text, isLast: false)
            }
            #expect(throws: WebSocketError.invalidText) {
                try end.machine.send(ByteBuffer(), of: .text, isLast: true)
            }
            _ = try end.machine.send(ByteBuffer(bytes: [0xBA]), of: .text, isLast: true)
        }

        @Test("and are given up in the middle end the WebSocket")
        func abandoned() throws {
            var end = End(.client)
            #expect(end.machine.abandonMessage(at: end.now) == [])
            _ = try end.machine.send(ByteBuffer(string: "begun"), of: .text, isLast: false)
            #expect(
                end.machine.abandonMessage(at: end.now)
                    == [.send(.close(.goingAway, "")), .finish(.failed(.messageCutShort)), .closeOutput])
        }
    }
#endif
