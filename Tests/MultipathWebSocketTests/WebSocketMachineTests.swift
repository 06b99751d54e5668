#if HTTP
    import Multipath
    import NIOCore
    import NIOWebSocket
    import Testing

    @testable import MultipathWebSocket

    /// The headings follow the cases of the Autobahn test suite.
    @Suite("One end of a WebSocket")
    struct WebSocketMachineTests {
        // MARK: 1: messages of one frame

        @Test(
            "delivers a message of any length as it is", arguments: [0, 125, 126, 127, 128, 65_535, 65_536])
        func lengths(_ length: Int) {
            var end = End(.server)
            for kind in [WebSocketMessageKind.text, .binary] {
                let bytes = ByteBuffer(repeating: UInt8(ascii: "*"), count: length)
                #expect(
                    end.receive(kind == .text ? .text : .binary, bytes)
                        == [
                            .deliver(WebSocketFragment(kind: kind, bytes: bytes, isFirst: true, isLast: true))
                        ])
            }
        }

        // MARK: 2: pings and pongs

        @Test(
            "answers a ping with its payload", arguments: ["", "Hello", String(repeating: "x", count: 125)])
        func ping(_ payload: String) {
            var end = End(.server)
            #expect(end.receive(.ping, payload) == [.send(.frame(.pong, payload))])
        }

        @Test("answers ten pings, in their order")
        func tenPings() {
            var end = End(.client)
            let actions = (0..<10).flatMap { end.receive(.ping, "payload \($0)") }
            #expect(actions == (0..<10).map { .send(.frame(.pong, "payload \($0)")) })
        }

        @Test("answers only the newest of the pings that came while nothing could be sent")
        func heldPong() {
            var end = End(.server)
            #expect(end.machine.writabilityChanged(false) == [])
            for number in 0..<1000 { #expect(end.receive(.ping, "\(number)") == []) }
            #expect(end.machine.writabilityChanged(true) == [.send(.frame(.pong, "999"))])
            #expect(end.machine.writabilityChanged(true) == [])
        }

        @Test("takes no notice of a pong that answers nothing")
        func unsolicitedPong() {
            var end = End(.server)
            for payload in ["", "unsolicited", "abcd"] { #expect(end.receive(.pong, payload) == []) }
            #expect(end.receive(.ping, "after it") == [.send(.frame(.pong, "after it"))])
        }

        @Test("measures each ping until its pong, and takes a pong for the pings before it, too")
        func roundTrips() throws {
            var end = End(.client)
            let pings = try (0..<3).map { number in
                end.now = .zero.advanced(by: .milliseconds(10 * number))
                let (id, actions) = try end.machine.ping(at: end.now)
                return (id, try #require(actions.first?.sent).data)
            }
            end.now = .zero.advanced(by: .milliseconds(100))
            #expect(
                end.receive(.pong, pings[1].1)
                    == [.answered(pings[0].0, .milliseconds(100)), .answered(pings[1].0, .milliseconds(90))])
            #expect(end.receive(.pong, pings[0].1) == [])
            end.machine.forgetPing(pings[2].0)
            #expect(end.receive(.pong, pings[2].1) == [])
        }

        // MARK: 3: reserved bits, 4: reserved opcodes

        @Test("refuses reserved bits, in every kind of frame", arguments: [1, 2, 3, 4, 5, 6, 7])
        func reservedBits(_ bits: UInt8) {
            for opcode in [WebSocketOpcode.text, .binary, .ping, .pong, .connectionClose] {
                var end = End(.server)
                var frame = end.peers(opcode, "*")
                (frame.rsv1, frame.rsv2, frame.rsv3) = (bits & 4 != 0, bits & 2 != 0, bits & 1 != 0)
                #expect(end.machine.receive(frame, at: end.now) == end.refusal(.reservedBits))
            }
        }

        @Test("refuses reserved opcodes", arguments: [3, 4, 5, 6, 7, 11, 12, 13, 14, 15])
        func reservedOpcodes(_ number: UInt8) throws {
            let opcode = try #require(WebSocketOpcode(encodedWebSocketOpcode: number))
            for payload in ["", "Hello"] {
                var end = End(.server)
                #expect(end.receive(opcode, payload) == end.refusal(.reservedOpcode(number)))
            }
        }

        // MARK: 5: fragments

        @Test("delivers the pieces of a message, with pings between them")
        func fragments() {
            var end = End(.server)
            #expect(
                end.receive(.text, "one ", fin: false) == [
                    .deliver(.text("one ", isFirst: true, isLast: false))
                ])
            #expect(end.receive(.ping, "between") == [.send(.frame(.pong, "between"))])
            #expect(
                end.receive(.continuation, "two ", fin: false)
                    == [.deliver(.text("two ", isFirst: false, isLast: false))])
            #expect(end.receive(.pong, "unasked") == [])
            #expect(
                end.receive(.continuation, "three") == [
                    .deliver(.text("three", isFirst: false, isLast: true))
                ])
            #expect(end.receive(.text, "next") == [.deliver(.text("next", isFirst: true, isLast: true))])
        }

        @Test("says nothing of empty pieces, of which an endless row takes no room, but of the last")
        func emptyFragments() {
            var end = End(.server)
            #expect(end.receive(.text, "", fin: false) == [])
            for _ in 0..<100 { #expect(end.receive(.continuation, "", fin: false) == []) }
            #expect(
                end.receive(.continuation, "x", fin: false) == [
                    .deliver(.text("x", isFirst: true, isLast: false))
                ])
            #expect(end.receive(.continuation, "") == [.deliver(.text("", isFirst: false, isLast: true))])
        }

        @Test("refuses pings, pongs and closes in pieces")
        func fragmentedControl() {
            for opcode in [WebSocketOpcode.ping, .pong, .connectionClose] {
                var end = End(.server)
                #expect(end.receive(opcode, "piece", fin: false) == end.refusal(.fragmentedControlFrame))
            }
        }

        @Test("refuses pings, pongs and closes of more than 125 bytes")
        func longControl() {
            for opcode in [WebSocketOpcode.ping, .pong, .connectionClose] {
                var end = End(.client)
                let payload = String(repeating: "x", count: 126)
                #expect(end.receive(opcode, payload) == end.refusal(.longControlFrame))
            }
        }

        @Test("refuses a continuation where no message has begun", arguments: [true, false])
        func unexpectedContinuation(_ isLast: Bool) {
            var fresh = End(.server)
            #expect(fresh.receive(.continuation, "", fin: isLast) == fresh.refusal(.unexpectedContinuation))
            var used = End(.server)
            _ = used.receive(.text, "whole")
            #expect(used.receive(.continuation, "more", fin: isLast) == used.refusal(.unexpectedContinuation))
        }

        @Test("refuses a message within another one", arguments: [true, false])
        func interleaved(_ isLast: Bool) {
            for opcode in [WebSocketOpcode.text, .binary] {
                var end = End(.server)
                _ = end.receive(.text, "begun", fin: false)
                #expect(end.receive(opcode, "another", fin: isLast) == end.refusal(.interleavedMessage))
            }
        }

        // MARK: 6: UTF-8

        @Test("takes a character that is cut by frames, byte by byte")
        func cutCharacters() {
            var end = End(.server)
            let bytes = Array("κόσμε 🎌".utf8)
            var text: [UInt8] = []
            for (index, byte) in bytes.enumerated() {
                let actions = end.receive(
                    index == 0 ? .text : .continuation, ByteBuffer(bytes: [byte]),
                    fin: index == bytes.count - 1)
                text += actions.flatMap { $0.delivered.map { Array(buffer: $0.bytes) } ?? [] }
            }
            #expect(text == bytes)
        }

        @Test("refuses text that is not UTF-8 as soon as that shows, and not at the message's end")
        func failsFast() {
            var end = End(.server)
            #expect(end.receive(.text, ByteBuffer(bytes: [0xF4]), fin: false).count == 1)
            #expect(
                end.receive(.continuation, ByteBuffer(bytes: [0x90]), fin: false) == end.refusal(.invalidText)
            )
        }

        @Test("refuses a text that ends within a character")
        func unfinishedText() {
            var end = End(.client)
            #expect(end.receive(.text, ByteBuffer(bytes: [0x41, 0xCE])) == end.refusal(.invalidText))
        }

        @Test("takes any bytes in a binary message")
        func binary() {
            var end = End(.server)
            #expect(end.receive(.binary, ByteBuffer(bytes: [0xFF, 0xC0, 0x80])).count == 1)
        }

        // MARK: Masks

        @Test("refuses a client's frame without a mask, and a server's with one")
        func masks() {
            var server = End(.server)
            let unmasked = WebSocketFrame(fin: true, opcode: .text, data: ByteBuffer(string: "plain"))
            #expect(server.machine.receive(unmasked, at: server.now) == server.refusal(.unmaskedFrame))
            var client = End(.client)
            let masked = WebSocketFrame(
                fin: true, opcode: .text, maskKey: [1, 2, 3, 4], data: ByteBuffer(string: "x"))
            #expect(client.machine.receive(masked, at: client.now) == client.refusal(.maskedFrame))
        }

        // MARK: Limits

        @Test("takes a message as long as its limit, and refuses one byte more, in however many frames")
        func messageLimit() {
            var end = End(.server, maximumMessageSize: 10)
            #expect(end.receive(.binary, "0123456789").count == 1)
            #expect(end.receive(.binary, "01234", fin: false).count == 1)
            #expect(end.receive(.continuation, "56789", fin: false).count == 1)
            #expect(end.receive(.continuation, "X") == end.refusal(.longMessage))
        }

        @Test("tells the peer what SwiftNIO's decoder refuses")
        func decoderErrors() {
            let violations: [(NIOWebSocketError, WebSocketViolation)] = [
                (.invalidFrameLength, .longFrame), (.fragmentedControlFrame, .fragmentedControlFrame),
                (.multiByteControlFrameLength, .longControlFrame),
            ]
            for (error, violation) in violations {
                var end = End(.server)
                #expect(
                    end.machine.receive(WebSocketViolation(error), at: end.now) == end.refusal(violation))
            }
        }

        // MARK: After a violation

        @Test("looks at nothing after a violation, sends nothing, and ends the connection after a second")
        func afterViolation() throws {
            var end = End(.server)
            _ = end.receive(.continuation, "wrong")
            #expect(end.receive(.text, "more") == [])
            #expect(end.receive(.ping, "more") == [])
            #expect(throws: WebSocketError.connectionLost("closed already")) {
                try end.machine.send(ByteBuffer(string: "x"), of: .text, isLast: true)
            }
            #expect(end.machine.nextDeadline == end.now.advanced(by: .seconds(1)))
            #expect(end.machine.timeReached(end.now.advanced(by: .seconds(1))) == [.closeConnection])
            #expect(end.machine.connectionEnded(nil) == [])
        }
    }
#endif
