import Multipath

/// What a long transfer shows while it runs: the bytes, the rate, and the path that carries them. It draws
/// nothing itself.
public struct ProgressMeter: Sendable {
    private struct Sample: Sendable {
        var time: MonotonicTime
        var bytes: UInt64
    }

    /// The rate is that of the last few seconds.
    private static let window = Duration.seconds(3)

    private var samples: [Sample] = []
    private var carried: [PathID: UInt64] = [:]
    private var busiest: PathID?

    public init() {}

    /// One line of at most `width` characters, without an end:
    /// `640 MB received, 1.2 kB sent, 52.1 MB/s over wlan0 (wlan0 600 MB, wwan0 40.2 MB)`.
    public mutating func line(_ report: TransferReport, at now: MonotonicTime, width: Int) -> String {
        let total = report.bytesSent + report.bytesReceived
        samples.append(Sample(time: now, bytes: total))
        // The oldest sample kept is the newest that is as old as the window.
        while samples.count > 2, samples[1].time.duration(to: now) >= Self.window { samples.removeFirst() }
        notePaths(report)

        var text = [(report.bytesReceived, "received"), (report.bytesSent, "sent")]
            .filter { $0.0 > 0 }.map { "\(Self.size($0.0)) \($0.1)" }.joined(separator: ", ")
        if text.isEmpty { text = "nothing carried yet" }
        if let rate { text += ", \(Self.size(rate))/s" }
        if let busiest { text += " over \(busiest)" }
        if report.paths.count > 1 {
            let paths = report.paths.map { "\($0.path) \(Self.size($0.bytesSent + $0.bytesReceived))" }
            text += " (\(paths.joined(separator: ", ")))"
        }
        return String(TerminalText.safe(text).prefix(max(0, width)))
    }

    /// Bytes per second; nil until there are two samples.
    private var rate: UInt64? {
        guard let first = samples.first, let last = samples.last else { return nil }
        let nanoseconds = first.time.duration(to: last.time).wholeNanoseconds
        guard nanoseconds > 0, last.bytes >= first.bytes else { return nil }
        return UInt64(Double(last.bytes - first.bytes) / (Double(nanoseconds) / 1e9))
    }

    /// The path that has carried most since the last look; the one before it where nothing moved.
    private mutating func notePaths(_ report: TransferReport) {
        var most: UInt64 = 0
        for part in report.paths {
            let bytes = part.bytesSent + part.bytesReceived
            let before = carried[part.path] ?? 0
            if bytes > before, bytes - before > most {
                most = bytes - before
                busiest = part.path
            }
            carried[part.path] = bytes
        }
    }

    /// `999 B`, `1.2 kB`, `52.1 MB`, `640 MB`: three digits, in powers of 1000.
    static func size(_ bytes: UInt64) -> String {
        if bytes < 1000 { return "\(bytes) B" }
        var value = Double(bytes)
        var unit = 0
        let units = ["B", "kB", "MB", "GB", "TB", "PB", "EB"]
        // 999.5 would be written with four digits.
        while value >= 999.5, unit < units.count - 1 {
            value /= 1000
            unit += 1
        }
        if value >= 99.95 { return "\(Int(value.rounded())) \(units[unit])" }
        let tenths = Int((value * 10).rounded())
        return "\(tenths / 10).\(tenths % 10) \(units[unit])"
    }
}
