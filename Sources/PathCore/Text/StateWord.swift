/// Text as one word on one line, as the files in the state folder keep names: blanks, control characters, backslashes and what
/// is no ASCII are written `\xNN`, byte by byte.
enum StateWord {
    private static let digits = Array("0123456789ABCDEF".utf8)
    private static let backslash = UInt8(ascii: "\\")

    static func escaped(_ text: String, alsoEscaping others: Set<UInt8> = []) -> String {
        var bytes: [UInt8] = []
        for byte in text.utf8 {
            if byte > 0x20, byte < 0x7F, byte != backslash, !others.contains(byte) {
                bytes.append(byte)
            } else {
                bytes += [backslash, UInt8(ascii: "x"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// - Returns: nil for what is no such word, is empty, or has more bytes than the limit.
    static func unescaped(_ word: Substring, limit: Int) -> String? {
        var text: [UInt8] = []
        var rest = word.utf8[...]
        while let byte = rest.popFirst() {
            guard byte == backslash else {
                text.append(byte)
                continue
            }
            guard rest.popFirst() == UInt8(ascii: "x"), let high = rest.popFirst(), let low = rest.popFirst(),
                let upper = digits.firstIndex(of: high), let lower = digits.firstIndex(of: low)
            else { return nil }
            text.append(UInt8(upper << 4 | lower))
        }
        guard !text.isEmpty, text.count <= limit else { return nil }
        return String(validating: text, as: UTF8.self)
    }
}
