// Watching a lab: a line of JSON for each link every 100 ms and for each change, into a file; and a line for each
// link at the bottom of a terminal.

import LinuxNet
import PathCore

/// Only the lab's thread touches it, and the file is closed with the process.
final class LabWatch: @unchecked Sendable {
    private let lab: Lab
    private let trace: TraceFile?
    private let isShown: Bool
    private var last: [String: Wire.Report] = [:]
    private var lastTime = MonotonicTime.zero
    private var ticks = 0
    private var screen: StatusLines?

    static let interval = Duration.milliseconds(100)
    /// The terminal gets every fifth tick: faster can't be read.
    private static let shownEvery = 5

    init(_ lab: Lab, trace: TraceFile?, isShown: Bool) {
        self.lab = lab
        self.trace = trace
        self.isShown = isShown
    }

    func start() {
        lab.setListener { [weak self] action, link in self?.note(action, link) }
        guard trace != nil || isShown else { return }
        Lab.thread.submit {
            if self.isShown { self.screen = StatusLines(count: self.lab.plan.links.count) }
            self.last = self.lab.wire.reports()
            self.lastTime = .now
            self.schedule(after: self.lastTime)
        }
    }

    /// Writes what is left; from another thread, once.
    func finish() {
        try? Lab.thread.perform { () throws(SystemError) in
            self.screen?.close()
            self.trace?.flush()
        }
    }

    private func schedule(after time: MonotonicTime) {
        let next = time.advanced(by: Self.interval)
        _ = Lab.thread.schedule(at: next) { [self] in
            tick()
            // A late tick is not made up for.
            schedule(after: max(next, MonotonicTime.now.advanced(by: .zero - Self.interval)))
        }
    }

    private func tick() {
        let now = MonotonicTime.now
        let reports = lab.wire.reports()
        let conditions = lab.conditions
        ticks += 1
        for (name, _) in conditions {
            guard let report = reports[name] else { continue }
            trace?.write(Self.line(now, name, report))
        }
        guard let screen, ticks % Self.shownEvery == 0 else { return }
        let seconds = lastTime.duration(to: now).inSeconds
        screen.show(
            conditions.map { name, conditions in
                Self.text(name, conditions, reports[name], last[name], seconds)
            })
        last = reports
        lastTime = now
    }

    private func note(_ action: LinkAction, _ link: String) {
        guard let trace else { return }
        let now = MonotonicTime.now
        let what: String
        switch action {
        case .change: what = lab.conditions.first { $0.name == link }?.conditions.text ?? ""
        case .fault(let fault): what = fault.text
        case .tag(let tag): what = tag.text
        }
        trace.write(#"{"change":"\#(what)","link":"\#(link)","t":\#(now.seconds)}"#)
    }

    private static func line(_ now: MonotonicTime, _ name: String, _ report: Wire.Report) -> String {
        func side(_ statistics: LinkMachine.Statistics, _ queue: Int) -> String {
            """
            {"blackholed":\(statistics.blackholed),"bytes":\(statistics.deliveredBytes),\
            "lost":\(statistics.losses),"packets":\(statistics.deliveredPackets),"queue":\(queue),\
            "policed":\(statistics.policed),"queueDrops":\(statistics.queueDrops)}
            """
        }
        return """
            {"down":\(side(report.down, report.downQueue)),"link":"\(name)","t":\(now.seconds),\
            "up":\(side(report.up, report.upQueue))}
            """
    }

    private static func text(
        _ name: String, _ conditions: LinkConditions, _ report: Wire.Report?, _ last: Wire.Report?,
        _ seconds: Double
    ) -> String {
        guard let report, let last, seconds > 0 else { return name }
        func rate(_ now: LinkMachine.Statistics, _ old: LinkMachine.Statistics) -> String {
            LabText.rate(Double(now.deliveredBytes - old.deliveredBytes) * 8 / seconds)
        }
        let drops =
            [report.up, report.down].reduce(0) { $0 + $1.queueDrops + $1.policed + $1.losses + $1.blackholed }
        return """
            \(name)  up \(rate(report.up, last.up))  down \(rate(report.down, last.down))  queue \
            \(report.upQueue / 1000)/\(report.downQueue / 1000) kB  drops \(drops)  \(conditions.text)
            """
    }
}

/// A file of lines. It is opened before the lab begins, so that a bad path is told at once.
final class TraceFile: Sendable {
    private let file: OutputFile

    init(_ path: String) throws(SystemError) { file = try OutputFile(path) }

    func write(_ line: String) { file.write(line + "\n") }

    func flush() { file.flush() }
}

/// Lines at the bottom of a terminal, which scrolls above them.
final class StatusLines {
    private let count: Int
    private let rows: Int
    private let columns: Int

    /// - Returns: nil where standard error is no terminal, or too small a one.
    init?(count: Int) {
        guard let size = StandardStream.error.terminalSize, size.rows > count + 4 else { return nil }
        (self.count, rows, columns) = (count, size.rows, size.columns)
        // Room for the lines, then a scrolling region above them.
        put(String(repeating: "\n", count: count) + "\u{1B}[\(count)A\u{1B}7\u{1B}[1;\(rows - count)r\u{1B}8")
    }

    func show(_ lines: [String]) {
        var text = "\u{1B}7"
        for (position, line) in lines.prefix(count).enumerated() {
            text +=
                "\u{1B}[\(rows - count + 1 + position);1H\u{1B}[2K\u{1B}[7m\(SafeText.line(line).prefix(columns))\u{1B}[0m"
        }
        put(text + "\u{1B}8")
    }

    func close() {
        var text = "\u{1B}7\u{1B}[r"
        for position in 0..<count { text += "\u{1B}[\(rows - position);1H\u{1B}[2K" }
        put(text + "\u{1B}8")
    }

    private func put(_ text: String) {
        var text = text
        text.withUTF8 { try? StandardStream.error.write(UnsafeRawBufferPointer($0)) }
    }
}
