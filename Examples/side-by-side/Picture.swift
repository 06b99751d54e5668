import PathCore

/// The two streams as lines of text. Nothing here reads a clock or writes anywhere.
struct Picture {
    var hasColours: Bool

    private static let margin = 14
    /// What the lines take of a terminal's.
    static let width = margin + Playback.columnCount
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
        padded("") + signs(.wifi) + " over Wi-Fi   " + signs(.cellular) + " over cellular   "
            + signs(.nothing) + " nothing came"
    }

    private func timeline(_ playback: Playback, to end: Int) -> String {
        var pieces: [(sign: Sign, count: Int)] = []
        var carrier = Playback.Carrier.wifi
        for column in playback.columns.prefix(end) {
            carrier = column.carrier ?? carrier
            let sign: Sign = column.bytes == 0 ? .nothing : carrier == .wifi ? .wifi : .cellular
            if pieces.last?.sign == sign {
                pieces[pieces.count - 1].count += 1
            } else {
                pieces.append((sign, 1))
            }
        }
        return pieces.map { signs($0.sign, $0.count) }.joined()
    }

    /// Different without colours too.
    private enum Sign: Character {
        case wifi = "▆"
        case cellular = "▒"
        case nothing = "·"

        var colour: Colour {
            switch self {
            case .wifi: .green
            case .cellular: .yellow
            case .nothing: .red
            }
        }
    }

    private func signs(_ sign: Sign, _ count: Int = 1) -> String {
        coloured(String(repeating: sign.rawValue, count: count), sign.colour)
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
