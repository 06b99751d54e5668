import PathCore

/// The two streams as lines of text. Nothing here reads a clock or writes anywhere.
struct Picture {
    var hasColours: Bool

    private static let margin = 14
    private static let names = ["kernel alone", "this library"]

    enum Colour: String {
        case red = "31"
        case green = "32"
        case yellow = "33"
        case bold = "1"
    }

    /// - Parameter now: columns behind it are still to come; nil for the end.
    func lines(_ playbacks: [Playback], at now: Duration?) -> [String] {
        let end = now.map { Playback.column(at: $0) ?? Playback.columnCount } ?? Playback.columnCount
        var lines: [String] = []
        for (name, playback) in zip(Self.names, playbacks) {
            lines.append(padded(name) + timeline(playback, to: end))
            lines.append(padded("") + (now == nil ? verdict(playback) : ""))
        }
        let mark = Playback.column(at: Playback.fault) ?? 0
        lines.append(padded("") + String(repeating: " ", count: mark) + (end > mark ? "^ Wi-Fi fails" : ""))
        return lines
    }

    /// What the signs mean.
    var legend: String {
        padded("") + coloured("▆", .green) + " over Wi-Fi   " + coloured("▒", .yellow)
            + " over cellular   " + coloured("·", .red) + " nothing came"
    }

    private func timeline(_ playback: Playback, to end: Int) -> String {
        var text = ""
        var carrier = Playback.Carrier.wifi
        for column in playback.columns.prefix(end) {
            carrier = column.carrier ?? carrier
            if column.bytes == 0 {
                text += coloured("·", .red)
            } else {
                text += carrier == .wifi ? coloured("▆", .green) : coloured("▒", .yellow)
            }
        }
        return text
    }

    private func verdict(_ playback: Playback) -> String {
        let stop = playback.pause.wholeNanoseconds / 1_000_000
        let words = playback.neverWentOn ? "stopped for good" : "stopped for \(stop) ms"
        let bytes = Double(playback.bytes) / 1e6
        let megabytes = "\((bytes * 100).rounded() / 100) MB"
        let state = playback.isAltered ? "NOT the bytes that were sent" : "every byte as sent"
        return coloured(words, .bold) + ", \(megabytes), \(state)"
            + (playback.isBroken ? ", the connection broke" : "")
    }

    private func padded(_ text: String) -> String {
        text + String(repeating: " ", count: Self.margin - text.count)
    }

    private func coloured(_ text: String, _ colour: Colour) -> String {
        hasColours ? "\u{1B}[\(colour.rawValue)m\(text)\u{1B}[0m" : text
    }
}
