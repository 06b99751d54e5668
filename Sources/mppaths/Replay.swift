import ArgumentParser
import CommandSupport
import LinuxNet
import Multipath

struct Replay: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Print what mppaths watch would have printed while a recording was made.",
        discussion: """
            No network is asked: the recording goes through the same decoder and the same
            rules as the kernel's own messages. Where it is cut or changed, what stands
            before is told, then an error with the place, and the exit status is 1.
            """)

    @Flag(help: "Print one JSON object a line.")
    var json = false

    @Flag(help: "Print one line a change on a terminal, too.")
    var lines = false

    @Flag(help: "Take as long as the recording took: on a terminal, with the live table.")
    var realTime = false

    @Argument(help: ArgumentHelp("The recording; - for standard input.", valueName: "file"))
    var file: String

    func validate() throws {
        if json, lines { throw ValidationError("--json and --lines exclude each other") }
    }

    func run() async throws {
        do {
            try await replay(try PathReplay(try bytes()))
        } catch let error as RecordingError {
            throw MessageError("\(name): \(error)")
        } catch let error as PathMonitorError {
            throw MessageError("\(name): \(error)")
        } catch let error as SystemError where error.isBrokenPipe {
            // The reader has gone.
        } catch let error as SystemError {
            throw MessageError("\(error)")
        }
    }

    private var name: String { file == "-" ? "standard input" : file }

    private func bytes() throws -> [UInt8] {
        guard file == "-" else { return try InputFile.bytes(file) }
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = try buffer.withUnsafeMutableBytes { try StandardStream.input.read(into: $0) }
            if count == 0 { return bytes }
            bytes += buffer[..<count]
        }
    }

    private func replay(_ replay: PathReplay) async throws {
        if realTime {
            let monitor = PathMonitor(source: RecordedPaths(replay))
            try await PathOutput(json: json, lines: lines).show(monitor)
            // Throws where the recording is broken; it has ended otherwise.
            _ = try await monitor.currentPath()
            return
        }
        let output: PathOutput = json ? .json : .lines
        var replay = replay
        while let (_, snapshot) = try replay.next() {
            try Diagnostics.tryWrite(output.line(snapshot), to: .output)
        }
    }
}
