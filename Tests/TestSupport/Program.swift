import Foundation
import Synchronization

/// Runs programs, with deadlines, and keeps all they say.
public struct Program: Sendable {
    public struct Result: Sendable, Equatable {
        public var status: Int32
        public var output: Data
        public var errors: String
        public var outputText: String { String(decoding: output, as: UTF8.self) }

        public init(status: Int32, output: Data, errors: String) {
            self.status = status
            self.output = output
            self.errors = errors
        }
    }

    /// A deadline passed.
    public struct TimedOut: Error, CustomStringConvertible {
        public let description: String
        public init(description: String) { self.description = description }
    }

    /// The folder in which the build put the commands: the one of the tests themselves.
    public static let products = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
        .deletingLastPathComponent().path

    public static func product(_ name: String) -> String { "\(products)/\(name)" }

    /// Where a program is, as a shell would find it, or in the folders of servers.
    public static func find(_ name: String) -> String? {
        let path = ProcessInfo.processInfo.environment["PATH"] ?? ""
        let folders =
            path.split(separator: ":").map(String.init) + ["/usr/sbin", "/sbin", "/usr/bin", "/bin"]
        return folders.map { "\($0)/\(name)" }.first(where: FileManager.default.isExecutableFile)
    }

    /// Runs a program to its end.
    public static func run(
        _ command: [String], input: Data = Data(), environment: [String: String] = [:],
        within limit: Duration = .seconds(30)
    ) async throws -> Result {
        let running = try Running(command, environment: environment)
        running.write(input)
        running.endInput()
        return try await running.result(within: limit)
    }

    /// Polls until a condition holds.
    public static func wait(
        _ what: String, within limit: Duration = .seconds(20), until condition: () async throws -> Bool
    ) async throws {
        let deadline = ContinuousClock.now + limit
        while try await !condition() {
            guard ContinuousClock.now < deadline else {
                throw TimedOut(description: "gave up waiting for \(what)")
            }
            try await Task.sleep(for: .milliseconds(10))
        }
    }
}

/// A program that runs. It is ended when this goes.
public final class Running: Sendable {
    private let process: Process
    private let input = Pipe()
    private let output = Collector()
    private let errors = Collector()
    private let writer = DispatchQueue(label: "input of a program under test")

    public init(_ command: [String], environment: [String: String] = [:]) throws {
        process = Process()
        guard let path = command[0].hasPrefix("/") ? command[0] : Program.find(command[0]) else {
            throw Program.TimedOut(description: "no program \(command[0])")
        }
        process.executableURL = URL(fileURLWithPath: path)
        process.arguments = Array(command.dropFirst())
        process.environment = ProcessInfo.processInfo.environment.merging(environment) { $1 }
        process.standardInput = input
        process.standardOutput = output.pipe
        process.standardError = errors.pipe
        try process.run()
        output.start()
        errors.start()
    }

    deinit { kill() }

    public var identifier: Int32 { process.processIdentifier }
    public var isRunning: Bool { process.isRunning }
    public var outputText: String { String(decoding: output.data, as: UTF8.self) }
    public var errorText: String { String(decoding: errors.data, as: UTF8.self) }

    /// Writes without waiting; the order is kept.
    public func write(_ data: Data) {
        guard !data.isEmpty else { return }
        let handle = input.fileHandleForWriting
        writer.async { try? handle.write(contentsOf: data) }
    }

    public func endInput() {
        let handle = input.fileHandleForWriting
        writer.async { try? handle.close() }
    }

    /// Stops reading its output, as `head` does.
    public func closeOutput() { output.stop() }

    public func signal(_ number: Int32) { _ = Foundation.kill(identifier, number) }

    public func kill() {
        if process.isRunning { signal(SIGKILL) }
    }

    /// Waits for its end.
    public func result(within limit: Duration = .seconds(30)) async throws -> Program.Result {
        do {
            try await Program.wait(
                "the end of \(process.executableURL?.lastPathComponent ?? "")", within: limit
            ) {
                !process.isRunning && output.isAtEnd && errors.isAtEnd
            }
        } catch {
            kill()
            throw Program.TimedOut(
                description: "\(error); it had said: \(errorText) \(outputText.suffix(2000))")
        }
        let status =
            process.terminationReason == .exit ? process.terminationStatus : 128 + process.terminationStatus
        return Program.Result(status: status, output: output.data, errors: errorText)
    }

    /// Reads a pipe to its end, on a thread of its own.
    private final class Collector: Sendable {
        let pipe = Pipe()
        private let state = Mutex((data: Data(), isAtEnd: false))

        var data: Data { state.withLock { $0.data } }
        var isAtEnd: Bool { state.withLock { $0.isAtEnd } }

        func start() {
            let thread = Thread { [self] in
                while let chunk = try? pipe.fileHandleForReading.read(upToCount: 1 << 16), !chunk.isEmpty {
                    state.withLock { $0.data += chunk }
                }
                state.withLock { $0.isAtEnd = true }
            }
            thread.start()
        }

        func stop() {
            try? pipe.fileHandleForReading.close()
            state.withLock { $0.isAtEnd = true }
        }
    }
}
