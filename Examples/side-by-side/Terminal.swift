import LinuxNet
import PathCore

/// Where the picture is drawn: again and again in the same place of a terminal, once at the end elsewhere.
final class Terminal: Sendable {
    private let picture: Picture
    private let isLive: Bool
    private let drawnLines = Locked(0)

    init(_ picture: Picture) {
        self.picture = picture
        // A line that is wrapped can't be drawn over.
        let columns = StandardStream.output.terminalSize?.columns ?? 0
        isLive = Self.hasControls && columns > Picture.width
    }

    private static var hasControls: Bool {
        StandardStream.output.isTerminal && ProcessEnvironment.value("TERM") != "dumb"
    }

    /// <https://no-color.org>
    static var hasColours: Bool {
        hasControls && (ProcessEnvironment.value("NO_COLOR") ?? "").isEmpty
    }

    /// - Parameter now: nil for the end.
    func draw(_ playbacks: [Playback], at now: Duration?) {
        guard isLive || now == nil else { return }
        let lines = picture.lines(playbacks, at: now) + [picture.legend]
        let above = drawnLines.withLock { drawn in
            defer { drawn = lines.count }
            return drawn
        }
        var text = above > 0 ? "\u{1B}[\(above)A" : ""
        // Each line is cleared behind what is drawn (ECMA-48 EL).
        for line in lines { text += line + (isLive ? "\u{1B}[K\n" : "\n") }
        Self.write(text, to: .output)
    }

    static func write(_ text: String, to stream: StandardStream) {
        var text = text
        // Where the stream itself is gone there is no place left for a message.
        text.withUTF8 { try? stream.write(UnsafeRawBufferPointer($0)) }
    }
}
