import ArgumentParser
import CommandSupport
import LinuxNet
import Multipath

struct Record: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Record all that the path monitor is told, for mppaths replay.",
        discussion: """
            It records until SIGINT, SIGTERM or the end of --duration, and each record is
            written at once: the file can be replayed at any time.

            A recording is a bug report. It holds this machine's interface names, IP and
            hardware addresses, gateways, name servers, Wi-Fi network names, and what the
            settings file and MULTIPATH_INTERFACES say of them. It holds no traffic.
            """)

    @Option(
        help: ArgumentHelp("End after this time: 10, 10s, 5m.", valueName: "duration"),
        transform: Duration.argument)
    var duration: Duration?

    @Flag(help: "Print each update meanwhile, one JSON object a line, as watch does.")
    var json = false

    @Argument(help: ArgumentHelp("The file; - for standard output.", valueName: "file"))
    var file: String

    func validate() throws {
        if file == "-", json { throw ValidationError("--json needs standard output for itself; name a file") }
    }

    func run() async throws {
        TerminationSignal.install()
        do {
            try await record(to: try sink())
        } catch let error as SystemError where error.isBrokenPipe {
            // The recording's reader has gone.
        } catch let error as SystemError {
            throw MessageError("\(error)")
        }
    }

    private func sink() throws -> @Sendable ([UInt8]) throws -> Void {
        guard file == "-" else {
            let output: OutputFile
            do {
                output = try OutputFile(file)
            } catch {
                throw MessageError("\(error)")
            }
            return { try output.append($0) }
        }
        guard !StandardStream.output.isTerminal else {
            throw MessageError("a recording is nothing for a terminal; name a file")
        }
        return { bytes in try bytes.withUnsafeBytes { try StandardStream.output.write($0) } }
    }

    private func record(to write: @escaping @Sendable ([UInt8]) throws -> Void) async throws {
        let (chunks, continuation) = AsyncStream.makeStream(of: [UInt8].self)
        let monitor = PathMonitor(recorder: PathRecorder { continuation.yield($0) })
        _ = try await currentPath(monitor)
        let progress = Progress()
        try await withThrowingTaskGroup(of: Ending.self) { group in
            group.addTask {
                for await chunk in chunks {
                    try write(chunk)
                    progress.wrote(chunk.count)
                }
                return .written
            }
            group.addTask {
                for await path in monitor.updates where json {
                    try Diagnostics.tryWrite(JSONLine.text(PathDocument(path)), to: .output)
                }
                return .asked
            }
            group.addTask { await progress.show() }
            group.addTask {
                _ = await TerminationSignal.first()
                return .asked
            }
            if let duration {
                group.addTask {
                    try? await Task.sleep(for: duration)
                    return .asked
                }
            }
            if file == "-" {
                group.addTask {
                    await StandardStream.output.waitForClosedReader()
                    return .asked
                }
            }
            defer { group.cancelAll() }
            // What was recorded until the end is written before it.
            while let ending = try await group.next(), ending != .written {
                if ending == .asked { continuation.finish() }
            }
        }
        progress.finish()
    }

    private enum Ending { case asked, written, shown }

    /// A line on standard error that tells how it goes, where that is a terminal.
    private final class Progress: Sendable {
        private let counts = Locked((records: 0, bytes: 0))
        private let start = ContinuousClock.now

        func wrote(_ bytes: Int) {
            counts.withLock {
                $0.records += 1
                $0.bytes += bytes
            }
        }

        func show() async -> Ending {
            guard StandardStream.error.isTerminal else { return .shown }
            while (try? await Task.sleep(for: .milliseconds(500))) != nil { draw(end: "") }
            return .shown
        }

        func finish() {
            if StandardStream.error.isTerminal { draw(end: "\n") }
        }

        private func draw(end: String) {
            let (records, bytes) = counts.withLock { $0 }
            let seconds = (ContinuousClock.now - start).components.seconds
            let size = bytes < 10_000 ? "\(bytes) bytes" : "\(bytes / 1000) kB"
            try? Diagnostics.tryWrite(
                raw: "\r\u{1B}[2Krecording: \(records) records, \(size), \(seconds) s\(end)", to: .error)
        }
    }
}
