// The live table of `mppaths watch`: what is shown is a function of the snapshots so far, the terminal's size
// and whether it has colours. Nothing here reads a clock or writes anywhere.

import Multipath

/// The paths now, the interfaces that are none, and the latest changes, on a screen.
public struct LiveScreen: Sendable {
    /// A terminal's size, in characters.
    public struct Size: Sendable, Hashable {
        public var rows: Int
        public var columns: Int

        public init(rows: Int, columns: Int) {
            self.rows = rows
            self.columns = columns
        }
    }

    private var snapshot = PathSnapshot()
    private var time = ""
    /// The latest last.
    private var history: [(time: String, change: PathChange)] = []

    private static let remembered = 10

    public init() {}

    /// Takes in the next snapshot.
    /// - Parameter time: of day, as people read it.
    public mutating func show(_ snapshot: PathSnapshot, at time: String) {
        self.snapshot = snapshot
        self.time = time
        // The most important reason of an update comes first in it, and so on top of the list, which is
        // read from its top: the latest.
        history += snapshot.changes.reversed().map { (time, $0) }
        history.removeFirst(max(0, history.count - Self.remembered))
    }

    /// The lines of the screen, one row fewer than there are: the cursor stands in the last.
    public func lines(_ size: Size, hasColours: Bool) -> [String] {
        let room = max(1, size.rows - 1)
        let paths = pathLines
        var rest = restLines
        var changes = changeLines
        // What is short of room goes in this order: old changes down to three, then interfaces that are no
        // paths, then the changes.
        func excess() -> Int {
            2 + paths.count + rest.count + (changes.isEmpty ? 0 : 1) + changes.count - room
        }
        changes.removeLast(min(max(0, excess()), max(0, changes.count - 3)))
        if excess() > 0, rest.count > 1 {
            let kept = max(0, rest.count - excess() - 1)
            let word = rest.count - kept == 1 ? "interface" : "interfaces"
            rest =
                rest.prefix(kept) + [
                    StyledLine("   \(rest.count - kept) more \(word) without a path", .faint)
                ]
        }
        changes.removeLast(min(max(0, excess()), changes.count))
        var lines = [titleLine(size.columns), headLine] + paths + rest
        if !changes.isEmpty { lines += [StyledLine()] + changes }
        return lines.prefix(room).map { $0.text(columns: size.columns, hasColours: hasColours) }
    }

    // MARK: Lines

    private func titleLine(_ columns: Int) -> StyledLine {
        var line = StyledLine()
        if let primary = snapshot.primary {
            let count = snapshot.interfaces.count
            line.append(
                "\(count) \(count == 1 ? "path" : "paths"), \(PathWords.safe(primary.name)) first", .bold)
        } else {
            line.append("No path to the Internet", .red)
        }
        let right = "update \(snapshot.generation)  \(time)"
        line.append("  ")
        line.pad(to: columns - TerminalText.width(right))
        line.append(right, .faint)
        return line
    }

    private var names: [String] {
        (snapshot.interfaces + snapshot.excluded.map(\.interface)).map { PathWords.safe($0.name) }
    }

    /// Where the columns begin: path, type, expensive, save, IP, metric, details.
    private var columns: [Int] {
        let name = min(20, max(4, names.map(TerminalText.width).max() ?? 0))
        return [name, 9, 11, 4, 3, 6].reduce(into: [3]) { $0.append($0[$0.count - 1] + $1 + 2) }
    }

    private var headLine: StyledLine {
        let titles = ["PATH", "TYPE", "EXPENSIVE", "SAVE", "IP", "METRIC", "LINK, ADDRESSES"]
        return row("", titles.map { ($0, .faint) })
    }

    /// A line with its cells under each other. The last one takes what room there is.
    private func row(_ number: String, _ cells: [(text: String, style: StyledLine.Style)]) -> StyledLine {
        var line = StyledLine(number)
        let starts = columns
        for (position, cell) in cells.enumerated() {
            line.pad(to: starts[position])
            let isLast = position == cells.count - 1
            let width = isLast ? Int.max : starts[position + 1] - starts[position] - 2
            line.append(TerminalText.truncated(cell.text, to: width), cell.style)
        }
        return line
    }

    private var pathLines: [StyledLine] {
        snapshot.interfaces.enumerated().map { position, path in
            let families = [path.supportsIPv4 ? "4" : nil, path.supportsIPv6 ? "6" : nil].compactMap { $0 }
            let addresses = path.addresses.filter { !$0.address.isLinkLocal }.map(PathWords.address)
            return row(
                "\(position + 1)",
                [
                    (PathWords.safe(path.name), position == 0 ? .green : .plain),
                    (path.type.value.rawValue, .plain),
                    (PathWords.expense(path.expensive.value), path.isExpensive ? .yellow : .plain),
                    (path.isConstrained ? "yes" : "no", path.isConstrained ? .yellow : .plain),
                    (families.joined(separator: " "), .plain),
                    (path.metric.map(String.init) ?? "", .plain),
                    ((PathWords.link(path) + addresses).joined(separator: ", "), .plain),
                ])
        }
    }

    private var restLines: [StyledLine] {
        let software = snapshot.excluded.filter { $0.interface.type.value == .virtual }
        let isSummarized = software.count > 2
        var lines = snapshot.excluded.filter { !isSummarized || $0.interface.type.value != .virtual }.map {
            row(
                "-",
                [
                    (PathWords.safe($0.interface.name), .faint), ($0.interface.type.value.rawValue, .faint),
                    (PathWords.reason($0), .faint),
                ])
        }
        if isSummarized { lines.append(StyledLine("   \(software.count) more made by software", .faint)) }
        return lines
    }

    /// The latest on top.
    private var changeLines: [StyledLine] {
        history.reversed().map { time, change in
            var line = StyledLine(time, .faint)
            line.append("  ")
            line.append(PathWords.change(change), Self.style(change.reason))
            return line
        }
    }

    private static func style(_ reason: PathChange.Reason) -> StyledLine.Style {
        switch reason {
        case .primaryChanged: .bold
        case .pathAppeared, .resumed: .green
        case .pathLost: .red
        case .expensiveChanged, .constrainedChanged: .yellow
        default: .plain
        }
    }
}

/// Draws screens in place, as bytes for a terminal (ECMA-48).
public struct LiveFrame: Sendable {
    private var size: LiveScreen.Size?

    public init() {}

    /// The bytes that put these lines on the screen. The first time what was there scrolls away, so that it
    /// can still be read above.
    public mutating func draw(_ lines: [String], on size: LiveScreen.Size) -> String {
        var text = ""
        if self.size == nil {
            text += "\u{1B}[?25l" + String(repeating: "\n", count: max(0, size.rows - 1))
        } else if self.size != size {
            // The terminal may have broken its lines anew.
            text += "\u{1B}[H\u{1B}[2J"
        }
        self.size = size
        text += "\u{1B}[H"
        // Cleared before the text: behind a line that fills its row the cursor still stands in the last column.
        for line in lines { text += "\u{1B}[2K\(line)\r\n" }
        return text + "\u{1B}[J"
    }

    /// The bytes that give the cursor back, and have the next drawing begin anew.
    public mutating func close() -> String {
        defer { size = nil }
        return size == nil ? "" : "\u{1B}[?25h"
    }
}
