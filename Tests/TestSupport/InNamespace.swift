import Foundation
import Testing

/// Runs a test in a network namespace of its own: in a process started for it alone, in which everything,
/// the event thread too, sees that network. There it may do what it likes to links and routes.
///
/// The process runs the same tests as this one, told to run that single one. A test with arguments runs them
/// all in one namespace.
public struct InNamespace: TestTrait, TestScoping {
    private static let mark = "TEST_IS_IN_NAMESPACE"
    /// Whether this process is such a one.
    public static let isInside = ProcessInfo.processInfo.environment[mark] != nil

    let limit: Duration

    public func scopeProvider(for test: Test, testCase: Test.Case?) -> InNamespace? {
        // Once for the test, not once for each of its arguments.
        testCase == nil ? self : nil
    }

    public func provideScope(
        for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void
    ) async throws {
        if Self.isInside { return try await function() }
        let name = "\(test.id)".split(separator: "/").dropLast().joined(separator: "/")
        let result = try await Program.run(
            [
                "unshare", "--map-root-user", "--net", "--mount", "--pid", "--fork", "--kill-child", "bash",
                "-c",
                """
                set -e
                mount -t proc proc /proc
                mount -t sysfs sysfs /sys
                ip link set lo up
                exec "$0" --testing-library swift-testing --no-parallel --filter "$1"
                """,
                Program.testProgram, "^" + NSRegularExpression.escapedPattern(for: name) + "/",
            ], environment: [Self.mark: "1"], within: limit)
        let said = result.outputText + result.errors
        // What it measured is worth seeing where it passed, too.
        for line in said.split(separator: "\n") where line.hasPrefix("measured: ") { print(line) }
        if result.status != 0 || !said.contains("Test run with 1 test") {
            // A crash tells its cause first, and then of each thread.
            let cause = said.range(of: " crashed:").map {
                said[..<$0.upperBound].suffix(500) + said[$0.upperBound...].prefix(3_000)
            }
            Issue.record("in the namespace:\n\(cause ?? said.suffix(8_000))")
        }
    }
}

extension Trait where Self == InNamespace {
    public static var inNamespace: Self { inNamespace(within: .seconds(60)) }

    public static func inNamespace(within limit: Duration) -> Self { InNamespace(limit: limit) }
}
