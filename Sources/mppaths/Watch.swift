import ArgumentParser
import CommandSupport
import LinuxNet
import Multipath

struct Watch: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Print the paths, then every change with its reasons, one a line.",
        discussion: "It ends with SIGINT, or when nobody reads its output any more.")

    @Flag(help: "Print one JSON object a line.")
    var json = false

    func run() async throws {
        let monitor = PathMonitor()
        _ = try await currentPath(monitor)
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                for await path in monitor.updates {
                    let line = json ? JSONLine.text(PathDocument(path)) : PathTable.line(path)
                    try Diagnostics.tryWrite(line, to: .output)
                }
            }
            group.addTask { await StandardStream.output.waitForClosedReader() }
            // Whichever ends first ends the watch: the updates by an error, or the reader by going away.
            defer { group.cancelAll() }
            do {
                try await group.next()
            } catch let error as SystemError where error.isBrokenPipe {
                // The reader went away between two looks.
            } catch let error as SystemError {
                throw MessageError("\(error)")
            }
        }
    }
}
