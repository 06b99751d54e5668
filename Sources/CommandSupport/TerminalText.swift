import PathCore

/// Measures and cuts text by the columns it takes on a terminal.
public enum TerminalText {
    /// The text with each control or invisible formatting character replaced, ends of lines among them.
    public static func safe(_ text: String) -> String { SafeText.line(text) }

    /// How many columns a text takes.
    public static func width(_ text: String) -> Int {
        text.utf8.allSatisfy { $0 < 0x80 } ? text.utf8.count : text.reduce(0) { $0 + width($1) }
    }

    static func width(_ character: Character) -> Int {
        guard let first = character.unicodeScalars.first else { return 0 }
        switch first.properties.generalCategory {
        case .nonspacingMark, .enclosingMark, .format: return 0
        default: break
        }
        // Unicode's East Asian Width W and F, by block; and what is shown as a picture.
        switch first.value {
        case 0x1100...0x115F, 0x2E80...0x303E, 0x3041...0xA4CF, 0xA960...0xA97F, 0xAC00...0xD7A3,
            0xF900...0xFAFF, 0xFE30...0xFE6F, 0xFF00...0xFF60, 0xFFE0...0xFFE6, 0x1F300...0x1F64F,
            0x1F680...0x1F6FF, 0x1F900...0x1FAFF, 0x20000...0x3FFFD:
            return 2
        default:
            return character.unicodeScalars.contains { $0.value == 0xFE0F } ? 2 : 1
        }
    }

    /// The text in at most so many columns; an ellipsis says that something is missing.
    public static func truncated(_ text: String, to columns: Int) -> String {
        guard width(text) > columns else { return text }
        guard columns > 0 else { return "" }
        var (cut, taken) = ("", 0)
        for character in text {
            let next = taken + width(character)
            if next > columns - 1 { break }
            cut.append(character)
            taken = next
        }
        return cut + "…"
    }

    /// The text with spaces behind it, so many columns wide at least.
    public static func padded(_ text: String, to columns: Int) -> String {
        text + String(repeating: " ", count: max(0, columns - width(text)))
    }

    /// Items, with a comma between them, on as few lines as they need; broken only between two of them.
    public static func wrapped(_ items: [String], to columns: Int) -> [String] {
        var lines: [String] = []
        for (position, item) in items.enumerated() {
            let text = position + 1 < items.count ? item + "," : item
            if let last = lines.last, width(last) + 1 + width(text) <= columns {
                lines[lines.count - 1] = last + " " + text
            } else {
                lines.append(text)
            }
        }
        return lines
    }
}
