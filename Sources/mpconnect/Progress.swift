import CommandSupport
import LinuxNet
import Multipath
import MultipathNIO

/// Shows a transfer's progress on one line of the terminal, and takes it away at the end.
struct Progress: Sendable {
    private static let interval = Duration.milliseconds(500)
    /// Back to the line's start, and clear the line (ECMA-48 EL).
    private static let clear = "\r\u{1B}[K"

    /// Whether it would be seen: not beside other output on the same terminal, nor on one that knows no
    /// control sequences.
    static var isPossible: Bool {
        StandardStream.error.isTerminal && !StandardStream.output.isTerminal
            && ProcessEnvironment.value("TERM") != "dumb"
    }

    let connection: MultipathConnection

    /// Runs until it is cancelled.
    func run() async {
        var meter = ProgressMeter()
        // What is over soon needs no progress.
        var isShown = false
        defer { if isShown { Diagnostics.draw(Self.clear) } }
        while (try? await Task.sleep(for: Self.interval)) != nil {
            let width = StandardStream.error.terminalSize?.columns ?? 80
            // The last column stays free: some terminals begin a new line there.
            let line = meter.line(connection.transferReport(), at: .now, width: width - 1)
            if isShown || connection.transferReport().duration > .seconds(1) {
                Diagnostics.draw(Self.clear + line)
                isShown = true
            }
        }
    }
}
