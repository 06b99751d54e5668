/// Text from outside, as a terminal may see it.
///
/// Names of interfaces, of Wi-Fi networks and in certificates, recordings and answers are other people's bytes, and the
/// kernel and most formats allow escape sequences in them. So every command writes its lines through one of these
/// functions, whatever they hold.
package enum SafeText {
    /// The text on one line, with each control or invisible formatting character replaced, so that it can't move the
    /// cursor, change the title, turn the writing's direction or pass for another line.
    package static func line(_ text: String) -> String { replaced(text) { isUnsafe($0) } }

    /// The same, but its ends of lines stay.
    package static func lines(_ text: String) -> String { replaced(text) { $0 != "\n" && isUnsafe($0) } }

    /// JSON with each such character as its escape (RFC 8259 section 7), so that it reads back the same.
    package static func json(_ text: String) -> String {
        guard text.unicodeScalars.contains(where: isUnsafe) else { return text }
        var safe = ""
        for scalar in text.unicodeScalars {
            guard isUnsafe(scalar) else {
                safe.unicodeScalars.append(scalar)
                continue
            }
            for unit in String(scalar).utf16 {
                let digits = String(unit, radix: 16)
                safe += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
            }
        }
        return safe
    }

    private static func replaced(_ text: String, where isUnsafe: (Unicode.Scalar) -> Bool) -> String {
        guard text.unicodeScalars.contains(where: isUnsafe) else { return text }
        var safe = String.UnicodeScalarView()
        for scalar in text.unicodeScalars { safe.append(isUnsafe(scalar) ? "\u{FFFD}" : scalar) }
        return String(safe)
    }

    /// Whether a terminal might do something else than show it.
    package static func isUnsafe(_ scalar: Unicode.Scalar) -> Bool {
        if scalar.isASCII { return scalar.value < 0x20 || scalar.value == 0x7F }
        switch scalar.properties.generalCategory {
        case .control, .lineSeparator, .paragraphSeparator, .surrogate, .privateUse, .unassigned: return true
        // A joiner makes one picture of several, and is part of ordinary names.
        case .format: return scalar.value != 0x200D
        default: return false
        }
    }
}
