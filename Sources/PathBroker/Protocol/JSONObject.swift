import PathCore

/// A JSON object under construction, on one line.
struct JSONObject {
    private(set) var text = "{"

    private mutating func key(_ name: String) {
        if text.utf8.count > 1 { text += "," }
        text += "\"\(name)\":"
    }

    mutating func put(_ name: String, _ value: some BinaryInteger) {
        key(name)
        text += "\(value)"
    }

    mutating func put(_ name: String, _ value: Bool) {
        key(name)
        text += value ? "true" : "false"
    }

    mutating func put(_ name: String, _ value: String) {
        key(name)
        text += Self.quoted(value)
    }

    /// Leaves the member out where there is no value.
    mutating func put(_ name: String, _ value: (some BinaryInteger)?) {
        if let value { put(name, value) }
    }

    mutating func put(_ name: String, _ value: String?) {
        if let value { put(name, value) }
    }

    mutating func put(_ name: String, _ value: JSONObject) {
        key(name)
        text += value.line
    }

    mutating func put(_ name: String, _ values: [JSONObject]) {
        key(name)
        text += "[" + values.map(\.line).joined(separator: ",") + "]"
    }

    /// The whole object.
    var line: String { text + "}" }

    private static func quoted(_ value: String) -> String {
        var text = "\""
        for scalar in value.unicodeScalars {
            switch scalar {
            case "\"", "\\": text += "\\\(scalar)"
            case "\u{0}"..<"\u{20}", "\u{7F}"..<"\u{A0}":
                let digits = String(scalar.value, radix: 16)
                text += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
            default: text.unicodeScalars.append(scalar)
            }
        }
        return text + "\""
    }
}

extension SmallJSON {
    /// A number that is one of these, exactly.
    func number<Value: FixedWidthInteger>(_ type: Value.Type = Value.self) -> Value? {
        guard case .number(let number) = self else { return nil }
        return Value(exactly: number)
    }

    var bool: Bool? {
        guard case .bool(let value) = self else { return nil }
        return value
    }

    /// A whole packet: an object, or nothing.
    init?(packet bytes: [UInt8]) {
        guard let text = String(validating: bytes, as: UTF8.self), let value = SmallJSON(text),
            case .object = value
        else { return nil }
        self = value
    }
}
