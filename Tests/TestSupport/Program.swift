import Foundation

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

    /// The program that runs these tests.
    public static let testProgram = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath().path

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
