#if HTTP
    /// Checks that bytes are UTF-8, in as many pieces as they come (RFC 3629 section 4).
    ///
    /// It refuses at the first byte that no continuation can make valid: an overlong form, a surrogate, a code point above
    /// U+10FFFF. A text message may be cut anywhere, also within a character (RFC 6455 section 5.6).
    struct UTF8Validator: Sendable, Hashable {
        /// How many bytes the character that has begun still needs.
        private var missing: UInt8 = 0
        /// What the next of them may be. Only the second byte of a character ever has narrower bounds.
        private var lowest: UInt8 = 0x80
        private var highest: UInt8 = 0xBF

        /// Whether no character is cut in two here.
        var isComplete: Bool { missing == 0 }

        /// - Returns: whether all bytes so far can begin a text. After false the validator is of no use any more.
        mutating func ingest(_ bytes: UnsafeRawBufferPointer) -> Bool {
            var index = 0
            while index < bytes.count {
                if missing == 0, bytes.count - index >= 8 {
                    let word = bytes.loadUnaligned(fromByteOffset: index, as: UInt64.self)
                    if word & 0x8080_8080_8080_8080 == 0 {
                        index += 8
                        continue
                    }
                }
                guard ingest(bytes[index]) else { return false }
                index += 1
            }
            return true
        }

        private mutating func ingest(_ byte: UInt8) -> Bool {
            if missing > 0 {
                guard lowest <= byte, byte <= highest else { return false }
                missing -= 1
                (lowest, highest) = (0x80, 0xBF)
                return true
            }
            switch byte {
            case 0x00...0x7F: break
            case 0xC2...0xDF: missing = 1
            case 0xE0: (missing, lowest) = (2, 0xA0)
            case 0xED: (missing, highest) = (2, 0x9F)
            case 0xE1...0xEF: missing = 2
            case 0xF0: (missing, lowest) = (3, 0x90)
            case 0xF1...0xF3: missing = 3
            case 0xF4: (missing, highest) = (3, 0x8F)
            default: return false
            }
            return true
        }
    }
#endif
