/// The attributes of a tag (RFC 8216 section 4.2): `BANDWIDTH=1280000,CODECS="avc1.4d401f"`.
struct AttributeList: Sendable {
    /// A value, and whether it stood in quotes.
    struct Value: Sendable, Hashable {
        var text: String
        var isQuoted: Bool
    }

    private var values: [String: Value] = [:]
    private let line: Int

    init(_ text: Substring, line: Int) throws(PlaylistError) {
        self.line = line
        var rest = text.utf8[...]
        while !rest.isEmpty {
            guard let equals = rest.firstIndex(of: UInt8(ascii: "=")), equals > rest.startIndex else {
                throw PlaylistError(line: line, reason: "an attribute has no value")
            }
            let name = String(Substring(rest[..<equals])).drop { $0 == " " }
            guard !name.isEmpty, name.utf8.allSatisfy(Self.isNameByte) else {
                throw PlaylistError(line: line, reason: "'\(name.prefix(40))' is no attribute's name")
            }
            rest = rest[rest.index(after: equals)...]
            let value: Value
            if rest.first == UInt8(ascii: "\"") {
                rest = rest.dropFirst()
                guard let end = rest.firstIndex(of: UInt8(ascii: "\"")) else {
                    throw PlaylistError(line: line, reason: "the quotes of \(name) are not closed")
                }
                value = Value(text: String(Substring(rest[..<end])), isQuoted: true)
                rest = rest[rest.index(after: end)...]
                guard rest.isEmpty || rest.first == UInt8(ascii: ",") else {
                    throw PlaylistError(line: line, reason: "behind the quotes of \(name) a comma is missing")
                }
            } else {
                let end = rest.firstIndex(of: UInt8(ascii: ",")) ?? rest.endIndex
                value = Value(text: String(Substring(rest[..<end])), isQuoted: false)
                rest = rest[end...]
            }
            rest = rest.dropFirst()
            guard values.updateValue(value, forKey: String(name)) == nil else {
                throw PlaylistError(line: line, reason: "the attribute \(name) stands there twice")
            }
        }
    }

    private static func isNameByte(_ byte: UInt8) -> Bool {
        (0x41...0x5A).contains(byte) || (0x30...0x39).contains(byte) || byte == 0x2D
    }

    subscript(name: String) -> String? { values[name]?.text }

    /// - Throws: where it is missing.
    func required(_ name: String, of tag: String) throws(PlaylistError) -> String {
        guard let text = self[name] else {
            throw PlaylistError(line: line, reason: "\(tag) has no \(name)")
        }
        return text
    }

    /// Bits per second, or another count; nil where it is missing.
    func count(_ name: String) throws(PlaylistError) -> Int64? {
        guard let text = self[name] else { return nil }
        guard let count = PlaylistNumber.count(text[...]) else {
            throw PlaylistError(line: line, reason: "\(name) is no number: '\(text.prefix(40))'")
        }
        return count
    }

    /// Seconds; nil where it is missing.
    func seconds(_ name: String) throws(PlaylistError) -> Double? {
        guard let text = self[name] else { return nil }
        guard let seconds = PlaylistNumber.seconds(text[...]) else {
            throw PlaylistError(line: line, reason: "\(name) is no number: '\(text.prefix(40))'")
        }
        return seconds
    }
}

/// Numbers as playlists write them. Nil for each other text, and for what no stream can need.
enum PlaylistNumber {
    /// The largest number that is taken.
    static let limit: Int64 = 1 << 53

    /// A number that a Double can hold to the digit, too.
    static func count(_ text: Substring) -> Int64? {
        guard !text.isEmpty, text.utf8.count <= 16, text.utf8.allSatisfy({ (0x30...0x39).contains($0) })
        else { return nil }
        return Int64(text).flatMap { $0 <= limit ? $0 : nil }
    }

    /// Seconds, perhaps negative; not more than a day of them.
    static func seconds(_ text: Substring) -> Double? {
        let digits = text.first == "-" ? text.dropFirst() : text
        guard !digits.isEmpty, digits.utf8.count <= 32,
            digits.utf8.allSatisfy({ (0x30...0x39).contains($0) || $0 == 0x2E }),
            let value = Double(text), abs(value) <= 86_400
        else { return nil }
        return value
    }

    /// `<n>[@<o>]` (RFC 8216 section 4.3.2.2).
    static func range(_ text: Substring) -> (length: Int64, start: Int64?)? {
        let parts = text.split(separator: "@", maxSplits: 1, omittingEmptySubsequences: false)
        guard let length = count(parts[0]), length > 0 else { return nil }
        guard parts.count == 2 else { return (length, nil) }
        guard let start = count(parts[1]) else { return nil }
        return (length, start)
    }

    /// 16 bytes as `0x…`.
    static func vector(_ text: String) -> [UInt8]? {
        guard text.hasPrefix("0x") || text.hasPrefix("0X") else { return nil }
        let digits = text.utf8.dropFirst(2)
        guard (1...32).contains(digits.count) else { return nil }
        var nibbles = [UInt8](repeating: 0, count: 32 - digits.count)
        for digit in digits {
            switch digit {
            case 0x30...0x39: nibbles.append(digit - 0x30)
            case 0x41...0x46: nibbles.append(digit - 0x41 + 10)
            case 0x61...0x66: nibbles.append(digit - 0x61 + 10)
            default: return nil
            }
        }
        return (0..<16).map { nibbles[2 * $0] << 4 | nibbles[2 * $0 + 1] }
    }

    /// Seconds since 1970 of `2026-02-19T14:54:23.031+08:00`; nil for each other form.
    static func date(_ text: Substring) -> Double? {
        guard
            let match = text.wholeMatch(
                of:
                    #/(\d{4})-(\d{2})-(\d{2})[Tt ](\d{2}):(\d{2}):(\d{2})(\.\d{1,9})?(?:Z|z|([+-])(\d{2}):?(\d{2}))?/#
            ),
            let year = Int(match.1), let month = Int(match.2), let day = Int(match.3),
            let hour = Int(match.4), let minute = Int(match.5), let second = Int(match.6),
            (1...12).contains(month), (1...31).contains(day), hour < 24, minute < 60, second < 61
        else { return nil }
        // Counted from the first of March, so that a leap day is a year's last.
        let shifted = month > 2 ? month - 3 : month + 9
        let years = month > 2 ? year : year - 1
        let days =
            years * 365 + years / 4 - years / 100 + years / 400 + (shifted * 153 + 2) / 5 + day - 719_469
        let fraction = match.7.flatMap { Double("0\($0)") } ?? 0
        let sign = match.8 == "-" ? -1 : 1
        let zone = (match.9.flatMap { Int($0) } ?? 0) * 60 + (match.10.flatMap { Int($0) } ?? 0)
        return Double(days * 86_400 + hour * 3_600 + minute * 60 + second - sign * zone * 60) + fraction
    }
}
