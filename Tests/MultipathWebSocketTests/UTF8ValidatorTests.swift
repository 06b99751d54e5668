#if HTTP
    import Testing

    @testable import MultipathWebSocket

    @Suite("UTF-8, checked piece by piece")
    struct UTF8ValidatorTests {
        /// Whether the pieces together are a text.
        private func isText(_ pieces: [[UInt8]]) -> Bool {
            var validator = UTF8Validator()
            for piece in pieces {
                guard piece.withUnsafeBytes({ validator.ingest($0) }) else { return false }
            }
            return validator.isComplete
        }

        @Test("takes every text, wherever it is cut")
        func cuts() {
            let text = Array(
                "Hello-µ@ßöäüàá-UTF-8!! κόσμε 🎌 \u{10FFFF}\u{FFFF}\u{0} plain ASCII after it all".utf8)
            for first in 0...text.count {
                for second in first...text.count {
                    #expect(
                        isText([Array(text[..<first]), Array(text[first..<second]), Array(text[second...])]))
                }
            }
        }

        @Test(
            "agrees with the standard library on every sequence of three bytes that begins like a character")
        func threeBytes() {
            for first in UInt8(0x7F)...0xFF {
                for second in UInt8.min...UInt8.max {
                    for third: UInt8 in [0x00, 0x7F, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF, 0xC0, 0xFF] {
                        let bytes = [first, second, third]
                        let expected = String(validating: bytes, as: UTF8.self) != nil
                        #expect(isText([bytes]) == expected, "\(bytes)")
                    }
                }
            }
        }

        @Test(
            "refuses what is no character, at its first wrong byte",
            arguments: [
                [0xC0], [0xC1], [0xE0, 0x9F], [0xED, 0xA0], [0xF0, 0x8F], [0xF4, 0x90], [0xF5], [0xFE],
                [0xFF],
                [0x80], [0xCE, 0x41],
            ] as [[UInt8]])
        func atOnce(_ bytes: [UInt8]) {
            var validator = UTF8Validator()
            let verdicts = bytes.map { byte in [byte].withUnsafeBytes { validator.ingest($0) } }
            #expect(verdicts == Array(repeating: true, count: bytes.count - 1) + [false])
        }

        @Test(
            "is not complete within a character",
            arguments: [[0xCE], [0xE2, 0x82], [0xF0, 0x9F, 0x8E]] as [[UInt8]])
        func unfinished(_ bytes: [UInt8]) {
            var validator = UTF8Validator()
            #expect(bytes.withUnsafeBytes { validator.ingest($0) } && !validator.isComplete)
        }
    }
#endif
