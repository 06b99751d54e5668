// The settings file's text, which people edit by hand:
//
//     # At home the telephone's hotspot is free.
//     expensive no My Telephone
//     constrained yes wwan0
//
// A line is a property, `yes` or `no`, and the name of an interface or Wi-Fi network to the line's end. All
// is done on bytes: an SSID is bytes (IEEE 802.11 section 9.4.2.2), and Swift's characters would join a line
// feed to the carriage return before it, or an accent to the blank before it.

extension PathSettings {
    /// What can be said about an interface or network.
    package enum Property: String, Sendable, Hashable, CaseIterable {
        case expensive
        case constrained

        fileprivate var keyPath: WritableKeyPath<Entry, Bool?> & Sendable {
            self == .expensive ? \.isExpensive : \.isConstrained
        }
    }

    /// A line that can't be read. The others count all the same.
    package struct Problem: Sendable, Hashable, CustomStringConvertible {
        /// From 1.
        package var line: Int
        package var message: String

        package init(line: Int, message: String) {
            self.line = line
            self.message = message
        }

        package var description: String { "line \(line): \(message)" }
    }

    /// What is said of a name; nil is left to the other sources.
    package subscript(name: String, property: Property) -> Bool? {
        get { entries[name]?[keyPath: property.keyPath] }
        set {
            var entry = entries[name] ?? Entry()
            entry[keyPath: property.keyPath] = newValue
            entries[name] = entry == Entry() ? nil : entry
        }
    }

    /// Why nothing can have this name; nil where something can. An SSID has 1 to 32 bytes (IEEE 802.11
    /// section 9.4.2.2), an interface's name at most 15 (IFNAMSIZ).
    package static func problem(withName name: String) -> String? {
        if name.isEmpty { return "a name is missing" }
        let count = name.utf8.count
        return count <= 32
            ? nil : "'\(escaped(name))' has \(count) bytes; the name of a network has 32 at most"
    }

    /// Reads a file's text. Of two lines about the same the last counts.
    package static func parse(_ text: String) -> (settings: PathSettings, problems: [Problem]) {
        var settings = PathSettings()
        var problems: [Problem] = []
        for (number, line) in TextLine.split(text).enumerated() {
            switch line.meaning {
            case .nothing: break
            case .word(let property, let value, let name): settings[name, property] = value
            case .problem(let message): problems.append(Problem(line: number + 1, message: message))
            }
        }
        return (settings, problems)
    }

    /// The entries as lines of the file, by name.
    package var lines: [String] {
        entries.keys.sorted().flatMap { name in
            Property.allCases.compactMap { property in
                self[name, property].map { Self.line(property, $0, name) }
            }
        }
    }

    /// A file's text with one thing said differently, and all else as the user wrote it.
    ///
    /// - Parameters:
    ///   - text: the file's text; nil where there is no file yet.
    ///   - property: what is said.
    ///   - name: of the interface or the network.
    ///   - value: nil takes back what is said.
    package static func text(
        _ text: String?, setting property: Property, of name: String, to value: Bool?
    ) -> String {
        guard let text else { return value.map { header + line(property, $0, name) + "\n" } ?? "" }
        var lines = TextLine.split(text)
        let matching = lines.indices.filter { lines[$0].isAbout(property, name) }
        // The last one counts, and takes the place of those before.
        var removed = matching
        if let value {
            if let last = removed.popLast() {
                if !lines[last].says(value) { lines[last].content = Array(line(property, value, name).utf8) }
            } else {
                let end = lines.first.map(\.end).flatMap { $0.isEmpty ? nil : $0 } ?? [newline]
                if let last = lines.indices.last, lines[last].end.isEmpty { lines[last].end = end }
                lines.append(TextLine(content: Array(line(property, value, name).utf8), end: end))
            }
        }
        for index in removed.reversed() { lines.remove(at: index) }
        return String(decoding: lines.flatMap { $0.content + $0.end }, as: UTF8.self)
    }

    /// A name as it stands in the file: on one line, with nothing that a terminal would act on.
    package static func escaped(_ name: String) -> String {
        let scalars = Array(name.unicodeScalars)
        return scalars.indices.map { index in
            let scalar = scalars[index]
            let isAtEdge = index == scalars.startIndex || index == scalars.index(before: scalars.endIndex)
            guard scalar.needsEscape || scalar == "\\" || (scalar == " " && isAtEdge) else {
                return String(scalar)
            }
            return String(scalar).utf8.map { byte in
                "\\x" + (byte < 16 ? "0" : "") + String(byte, radix: 16, uppercase: true)
            }.joined()
        }.joined()
    }

    private static func line(_ property: Property, _ value: Bool, _ name: String) -> String {
        "\(property.rawValue) \(value ? "yes" : "no") \(escaped(name))"
    }

    /// What a new file begins with.
    private static let header = """
        # What you know better than this machine about its network paths. Running programs take changes over at
        # once. A line says
        #     expensive yes|no NAME      whether traffic costs money
        #     constrained yes|no NAME    whether to save data (low data mode)
        # where NAME is an interface's name or a Wi-Fi network's. 'mppaths set' edits this file.


        """
}

private let newline = UInt8(ascii: "\n")

/// A line of the file, and the bytes that end it: none, a line feed, or a carriage return before one.
private struct TextLine {
    var content: [UInt8]
    var end: [UInt8]

    enum Meaning: Equatable {
        /// A comment, or nothing at all.
        case nothing
        case word(PathSettings.Property, Bool, String)
        case problem(String)
    }

    static func split(_ text: String) -> [TextLine] {
        let bytes = Array(text.utf8)
        var lines: [TextLine] = []
        var start = 0
        while start < bytes.count {
            let feed = bytes[start...].firstIndex(of: newline)
            let next = feed.map { $0 + 1 } ?? bytes.count
            var stop = feed ?? bytes.count
            if feed != nil, stop > start, bytes[stop - 1] == UInt8(ascii: "\r") { stop -= 1 }
            lines.append(TextLine(content: Array(bytes[start..<stop]), end: Array(bytes[stop..<next])))
            start = next
        }
        return lines
    }

    func isAbout(_ property: PathSettings.Property, _ name: String) -> Bool {
        guard case .word(property, _, name) = meaning else { return false }
        return true
    }

    func says(_ value: Bool) -> Bool {
        guard case .word(_, value, _) = meaning else { return false }
        return true
    }

    var meaning: Meaning {
        var rest = content[...]
        guard let first = Self.nextWord(&rest), first.first != UInt8(ascii: "#") else { return .nothing }
        let word = String(decoding: first, as: UTF8.self)
        guard let property = PathSettings.Property(rawValue: word) else {
            let choices = PathSettings.Property.allCases.map(\.rawValue).joined(separator: " or ")
            return .problem("'\(PathSettings.escaped(word))' should be \(choices)")
        }
        let answer = Self.nextWord(&rest).map { String(decoding: $0, as: UTF8.self) }
        guard answer == "yes" || answer == "no" else {
            let said = answer.map { "'\(PathSettings.escaped($0))'" } ?? "nothing"
            return .problem("\(said) after '\(word)' should be yes or no")
        }
        let name: String
        switch Self.unescaped(Self.trimmed(rest)) {
        case .success(let text): name = text
        case .failure(let problem): return .problem(problem.message)
        }
        if let problem = PathSettings.problem(withName: name) { return .problem(problem) }
        return .word(property, answer == "yes", name)
    }

    /// Takes the next word, and the blanks around it.
    private static func nextWord(_ rest: inout ArraySlice<UInt8>) -> ArraySlice<UInt8>? {
        rest = rest.drop(while: isBlank)
        let word = rest.prefix { !isBlank($0) }
        rest = rest[word.endIndex...].drop(while: isBlank)
        return word.isEmpty ? nil : word
    }

    private static func trimmed(_ bytes: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        let end = bytes.lastIndex { !isBlank($0) }
        return end.map { bytes[...$0] } ?? []
    }

    private static func isBlank(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 }

    private struct Unreadable: Error { let message: String }

    private static func unescaped(_ bytes: ArraySlice<UInt8>) -> Result<String, Unreadable> {
        var name: [UInt8] = []
        var rest = bytes
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "\\") else {
                name.append(byte)
                continue
            }
            let digits = rest.dropFirst().prefix(2)
            guard rest.first == UInt8(ascii: "x"), digits.count == 2, digits.allSatisfy(isHexDigit),
                let value = UInt8(String(decoding: digits, as: UTF8.self), radix: 16)
            else {
                return .failure(Unreadable(message: "a backslash is written \\x5C, any other byte \\xNN"))
            }
            name.append(value)
            rest = rest.dropFirst(3)
        }
        guard let text = String(validating: name, as: UTF8.self) else {
            return .failure(Unreadable(message: "the name is no UTF-8"))
        }
        return .success(text)
    }

    private static func isHexDigit(_ byte: UInt8) -> Bool {
        Character(Unicode.Scalar(byte)).isHexDigit && byte < 0x80
    }
}

extension Unicode.Scalar {
    /// Whether it would not be seen as itself: control characters, line ends, changes of direction.
    fileprivate var needsEscape: Bool {
        switch properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator: true
        default: false
        }
    }
}
