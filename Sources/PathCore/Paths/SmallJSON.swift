/// The little of JSON (RFC 8259) that other programs' small state files need. Foundation, which reads all of
/// it, is not for this module.
package enum SmallJSON: Equatable, Sendable {
    case object([String: SmallJSON])
    case array([SmallJSON])
    case text(String)
    case number(Double)
    case bool(Bool)
    case null

    /// Reads a whole text; nil where it is no JSON, or nested deeper than 16.
    package init?(_ text: String) {
        var reader = Reader(rest: Array(text.utf8)[...])
        guard let value = reader.value(depth: 0), reader.isAtEnd else { return nil }
        self = value
    }

    package subscript(key: String) -> SmallJSON? {
        guard case .object(let members) = self else { return nil }
        return members[key]
    }

    package var elements: [SmallJSON]? {
        guard case .array(let elements) = self else { return nil }
        return elements
    }

    package var string: String? {
        guard case .text(let string) = self else { return nil }
        return string
    }

    /// An array of numbers that are bytes.
    var bytes: [UInt8]? {
        guard let elements else { return nil }
        let bytes = elements.compactMap { element -> UInt8? in
            guard case .number(let number) = element else { return nil }
            return UInt8(exactly: number)
        }
        return bytes.count == elements.count ? bytes : nil
    }

    private struct Reader {
        var rest: ArraySlice<UInt8>

        var isAtEnd: Bool {
            mutating get {
                skipBlanks()
                return rest.isEmpty
            }
        }

        private mutating func skipBlanks() { rest = rest.drop { [0x20, 0x09, 0x0A, 0x0D].contains($0) } }

        private mutating func consume(_ character: Unicode.Scalar) -> Bool {
            skipBlanks()
            guard rest.first == UInt8(ascii: character) else { return false }
            rest.removeFirst()
            return true
        }

        private mutating func consume(word: String) -> Bool {
            guard rest.starts(with: word.utf8) else { return false }
            rest.removeFirst(word.utf8.count)
            return true
        }

        mutating func value(depth: Int) -> SmallJSON? {
            skipBlanks()
            guard depth < 16, let first = rest.first else { return nil }
            switch first {
            case UInt8(ascii: "{"): return object(depth)
            case UInt8(ascii: "["): return array(depth)
            case UInt8(ascii: "\""): return string().map { .text($0) }
            default:
                if consume(word: "true") { return .bool(true) }
                if consume(word: "false") { return .bool(false) }
                if consume(word: "null") { return .null }
                return number()
            }
        }

        private mutating func object(_ depth: Int) -> SmallJSON? {
            var members: [String: SmallJSON] = [:]
            guard consume("{") else { return nil }
            if consume("}") { return .object(members) }
            repeat {
                skipBlanks()
                guard let key = string(), consume(":"), let value = value(depth: depth + 1) else {
                    return nil
                }
                members[key] = value
            } while consume(",")
            return consume("}") ? .object(members) : nil
        }

        private mutating func array(_ depth: Int) -> SmallJSON? {
            var elements: [SmallJSON] = []
            guard consume("[") else { return nil }
            if consume("]") { return .array(elements) }
            repeat {
                guard let value = value(depth: depth + 1) else { return nil }
                elements.append(value)
            } while consume(",")
            return consume("]") ? .array(elements) : nil
        }

        private mutating func number() -> SmallJSON? {
            let digits = rest.prefix {
                (0x30...0x39).contains($0) || [0x2B, 0x2D, 0x2E, 0x45, 0x65].contains($0)
            }
            rest = rest[digits.endIndex...]
            return Double(String(decoding: digits, as: UTF8.self)).map { .number($0) }
        }

        private mutating func string() -> String? {
            guard rest.first == UInt8(ascii: "\"") else { return nil }
            rest.removeFirst()
            var bytes: [UInt8] = []
            while let byte = rest.popFirst() {
                switch byte {
                case UInt8(ascii: "\""): return String(validating: bytes, as: UTF8.self)
                case UInt8(ascii: "\\"):
                    guard let scalar = escape() else { return nil }
                    bytes += Array(String(scalar).utf8)
                case 0..<0x20: return nil
                default: bytes.append(byte)
                }
            }
            return nil
        }

        private mutating func escape() -> Unicode.Scalar? {
            guard let byte = rest.popFirst() else { return nil }
            switch byte {
            case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): return Unicode.Scalar(byte)
            case UInt8(ascii: "b"): return "\u{8}"
            case UInt8(ascii: "f"): return "\u{C}"
            case UInt8(ascii: "n"): return "\n"
            case UInt8(ascii: "r"): return "\r"
            case UInt8(ascii: "t"): return "\t"
            case UInt8(ascii: "u"):
                guard let first = codeUnit() else { return nil }
                guard UTF16.isLeadSurrogate(first) else { return Unicode.Scalar(first) }
                guard consume(word: "\\u"), let second = codeUnit(), UTF16.isTrailSurrogate(second) else {
                    return nil
                }
                return UTF16.decode(UTF16.EncodedScalar([first, second]))
            default: return nil
            }
        }

        private mutating func codeUnit() -> UInt16? {
            let digits = rest.prefix(4)
            guard digits.count == 4, digits.first != UInt8(ascii: "+") else { return nil }
            rest.removeFirst(4)
            return UInt16(String(decoding: digits, as: UTF8.self), radix: 16)
        }
    }
}
