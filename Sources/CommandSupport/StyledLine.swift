/// A line of a terminal: pieces of text, each in one style.
struct StyledLine {
    /// How a piece looks, as SGR parameters (ECMA-48 section 8.3.117).
    enum Style: String {
        case plain = ""
        case bold = "1"
        case faint = "2"
        case red = "31"
        case green = "32"
        case yellow = "33"
    }

    private var pieces: [(text: String, style: Style)] = []

    init(_ text: String = "", _ style: Style = .plain) { append(text, style) }

    mutating func append(_ text: String, _ style: Style = .plain) {
        if !text.isEmpty { pieces.append((text, style)) }
    }

    var width: Int { pieces.reduce(0) { $0 + TerminalText.width($1.text) } }

    /// Ends the line at a column: with spaces where it is shorter.
    mutating func pad(to columns: Int) {
        append(String(repeating: " ", count: max(0, columns - width)))
    }

    /// The line in at most so many columns, without spaces at its end.
    func text(columns: Int, hasColours: Bool) -> String {
        var pieces = pieces
        while let last = pieces.last {
            let trimmed = last.text.lastIndex { $0 != " " }.map { String(last.text[...$0]) } ?? ""
            pieces.removeLast()
            if !trimmed.isEmpty {
                pieces.append((trimmed, last.style))
                break
            }
        }
        var room = columns
        var behind = pieces.reduce(0) { $0 + TerminalText.width($1.text) }
        var text = ""
        for (piece, style) in pieces where room > 0 {
            let width = TerminalText.width(piece)
            behind -= width
            // The last column says that something is missing, if anything is.
            let isCut = width > room || (width == room && behind > 0)
            let shown =
                isCut && width <= room
                ? TerminalText.truncated(piece + " ", to: room) : TerminalText.truncated(piece, to: room)
            text += hasColours && style != .plain ? "\u{1B}[\(style.rawValue)m\(shown)\u{1B}[0m" : shown
            room -= isCut ? room : width
        }
        return text
    }
}
