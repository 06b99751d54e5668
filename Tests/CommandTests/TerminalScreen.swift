import CommandSupport

/// What a terminal shows after it was sent some bytes: as much of ECMA-48 as the commands use, and a failure
/// for anything else.
struct TerminalScreen {
    private(set) var unknown: [String] = []
    private(set) var isCursorShown = true
    /// Whether any text was in a colour or a weight.
    private(set) var hadColours = false
    private var rows: [[Character]]
    private var cursor = (row: 0, column: 0)
    private let columns: Int

    init(_ text: String, rows: Int = 24, columns: Int = 80) {
        self.rows = Array(repeating: [], count: rows)
        self.columns = columns
        var rest = Substring(text)
        while let character = rest.popFirst() {
            switch character {
            case "\u{1B}":
                guard rest.popFirst() == "[" else {
                    unknown.append("ESC")
                    continue
                }
                let parameters = rest.prefix { !$0.isLetter }
                rest = rest.dropFirst(parameters.count)
                control(String(parameters), rest.popFirst() ?? " ")
            case "\r": cursor.column = 0
            case "\n": newline()
            case "\r\n":
                cursor.column = 0
                newline()
            default: put(character)
            }
        }
    }

    /// The lines down to the last that has text, without spaces at their ends.
    var text: String {
        var lines = rows.map { row in
            String(row[...(row.lastIndex { $0 != " " } ?? -1)].filter { $0 != "\0" })
        }
        while lines.last == "" { lines.removeLast() }
        return lines.joined(separator: "\n")
    }

    private mutating func newline() {
        if cursor.row + 1 < rows.count {
            cursor.row += 1
        } else {
            rows.removeFirst()
            rows.append([])
        }
    }

    private mutating func put(_ character: Character) {
        let width = TerminalText.width(String(character))
        if cursor.column + width > columns {
            cursor.column = 0
            newline()
        }
        while rows[cursor.row].count < cursor.column + width { rows[cursor.row].append(" ") }
        rows[cursor.row][cursor.column] = character
        // The second half of a wide one.
        if width == 2 { rows[cursor.row][cursor.column + 1] = "\0" }
        cursor.column += width
    }

    private mutating func control(_ parameters: String, _ final: Character) {
        switch (parameters, final) {
        case ("", "H"): cursor = (0, 0)
        case ("2", "K"): rows[cursor.row] = []
        case ("", "J"):
            rows[cursor.row] = Array(rows[cursor.row].prefix(cursor.column))
            for row in rows.indices where row > cursor.row { rows[row] = [] }
        case ("2", "J"): rows = Array(repeating: [], count: rows.count)
        case ("?25", "l"): isCursorShown = false
        case ("?25", "h"): isCursorShown = true
        case (_, "m"): hadColours = true
        default: unknown.append("\(parameters)\(final)")
        }
    }
}
