import ArgumentParser
import CommandSupport
import LinuxNet
import Multipath

struct Watch: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Show the paths, and every change with its reasons.",
        discussion: """
            On a terminal it is a live table with the latest changes below; in a pipe or
            a file one line a change. NO_COLOR=1 keeps colours away; TERM=dumb, the table.
            It ends with SIGINT, or when the reader of its output goes.
            """)

    @Flag(help: "Print one JSON object a line.")
    var json = false

    @Flag(help: "Print one line a change on a terminal, too.")
    var lines = false

    func validate() throws {
        if json, lines { throw ValidationError("--json and --lines exclude each other") }
    }

    func run() async throws {
        let monitor = PathMonitor()
        _ = try await currentPath(monitor)
        try await PathOutput(json: json, lines: lines).show(monitor)
    }
}

/// How `watch` and `replay` show snapshots.
enum PathOutput {
    case json
    case lines
    case table(hasColours: Bool)

    /// A table where there is a terminal that can show one, unless something else is asked for.
    init(json: Bool, lines: Bool) {
        let terminal = ProcessEnvironment.value("TERM") ?? "dumb"
        let isCapable = StandardStream.output.terminalSize != nil && !["", "dumb"].contains(terminal)
        if json {
            self = .json
        } else if lines || !isCapable {
            self = .lines
        } else {
            // https://no-color.org: whatever its value, if it has one.
            self = .table(hasColours: (ProcessEnvironment.value("NO_COLOR") ?? "").isEmpty)
        }
    }

    /// Shows a monitor's updates until they end, the user ends it, or the reader goes.
    func show(_ monitor: PathMonitor) async throws {
        do {
            switch self {
            case .table(let hasColours): try await LiveTable(hasColours: hasColours).run(monitor)
            case .json, .lines: try await showLines(monitor)
            }
        } catch let error as SystemError where error.isBrokenPipe {
            // The reader went away between two looks.
        } catch let error as SystemError {
            throw MessageError("\(error)")
        }
    }

    /// A snapshot's line.
    func line(_ path: PathSnapshot) -> String {
        if case .json = self { JSONLine.text(PathDocument(path)) } else { PathTable.line(path) }
    }

    private func showLines(_ monitor: PathMonitor) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                for await path in monitor.updates { try Diagnostics.tryWrite(line(path), to: .output) }
            }
            group.addTask { await StandardStream.output.waitForClosedReader() }
            // Whichever ends first ends the watch: the updates, also by an error, or the reader by going away.
            defer { group.cancelAll() }
            try await group.next()
        }
    }
}

/// The live table on a terminal. It leaves the terminal with its cursor, however it ends.
private struct LiveTable {
    let hasColours: Bool

    private enum Event {
        case path(PathSnapshot)
        case terminal(TerminalEvent)
        case end
    }

    func run(_ monitor: PathMonitor) async throws {
        TerminalEvents.install()
        let (events, continuation) = AsyncStream.makeStream(of: Event.self)
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                for await path in monitor.updates { continuation.yield(.path(path)) }
                continuation.yield(.end)
            }
            group.addTask {
                while let event = await TerminalEvents.next() { continuation.yield(.terminal(event)) }
            }
            defer { group.cancelAll() }
            try await draw(events)
        }
    }

    private func draw(_ events: AsyncStream<Event>) async throws {
        var screen = LiveScreen()
        var frame = LiveFrame()
        func write(_ text: String) throws { try Diagnostics.tryWrite(raw: text, to: .output) }
        defer { try? write(frame.close()) }
        for await event in events {
            switch event {
            case .path(let path): screen.show(path, at: WallClock.text)
            case .terminal(.resized): break
            case .terminal(.suspend):
                try write(frame.close())
                TerminalEvents.suspend()
                continue
            case .terminal(.resumed): _ = frame.close()
            case .terminal(.end(let number)):
                try write(frame.close())
                throw CommandExit.signal(number)
            case .end: return
            }
            // A terminal that is gone is told by the write's error.
            let size = StandardStream.output.terminalSize ?? (rows: 24, columns: 80)
            let place = LiveScreen.Size(rows: size.rows, columns: size.columns)
            try write(frame.draw(screen.lines(place, hasColours: hasColours), on: place))
        }
    }
}
