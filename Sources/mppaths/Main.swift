import ArgumentParser
import CommandSupport
import LinuxNet
import Multipath

@main
enum Main {
    static func main() async {
        await MPPaths.runAsProcess()
    }
}

struct MPPaths: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "mppaths",
        abstract: "This machine's network paths: which there are, in which order, and why.",
        discussion: """
            EXAMPLES
              mppaths                    the paths now
              mppaths list --json        the same as one JSON object
              mppaths watch              a line for every change, with its reasons
              mppaths watch --json | jq -r .primary

              MULTIPATH_INTERFACES='eth1=cellular,expensive eth0=not-constrained' mppaths
                                         what you know better, for this process
            """,
        version: projectVersion,
        subcommands: [List.self, Watch.self, SetWord.self], defaultSubcommand: List.self)
}

struct List: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Print the paths in order of preference, and what disqualifies the rest.")

    @Flag(help: "Print one JSON object.")
    var json = false

    func run() async throws {
        let path = try await currentPath(PathMonitor())
        try Diagnostics.tryWrite(json ? JSONLine.text(PathDocument(path)) : PathTable.text(path), to: .output)
    }
}

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

private func currentPath(_ monitor: PathMonitor) async throws -> PathSnapshot {
    do {
        return try await monitor.currentPath()
    } catch let error as PathMonitorError {
        throw MessageError(error.description)
    }
}
