// The doctor in the built-in scenarios.

import Foundation
import TestSupport
import Testing

extension Labs {
    @Suite("mppaths check")
    struct Checks {
        /// A scenario, when the check begins, and what it may come to: `fault path status`.
        private struct Case: Sendable {
            var scenario: String
            /// What is special about its Wi-Fi.
            var wifi: String?
            /// The lab's command waits until its shell counts so many seconds, which may be one too many.
            var start = 0
            var before = ""
            var arguments = "server:80"
            var expected: [String]
            var said = ""
        }

        private static let cases = [
            Case(scenario: "healthy", expected: ["none - 0"], said: "All is well: wlan0 and wwan0"),
            Case(scenario: "wifi-blackhole", start: 5, expected: ["path_silent wlan0 1"]),
            // It is gone for a second in every four.
            Case(scenario: "wifi-flapping", expected: ["flapping wlan0 1"]),
            Case(
                scenario: "wifi-walkout", start: 8,
                expected: ["lossy wlan0 1", "flapping wlan0 1", "slow wlan0 1"]),
            Case(
                scenario: "bufferbloat", start: 4,
                before: "curl -s -o /dev/null http://203.0.113.10/40000000 &",
                expected: ["queue_full wlan0 1"]),
            // The first SYN's answer comes after the second was sent: late, not lost.
            Case(
                scenario: "healthy", wifi: "rtt=1200ms", expected: ["slow wlan0 1"],
                said: "wlan0 is slow: answers take 1"),
            Case(scenario: "one-way-loss", expected: ["lossy wlan0 1"]),
            Case(scenario: "healthy", wifi: "down.loss=25%", expected: ["lossy wlan0 1"]),
            Case(scenario: "elevator", start: 5, expected: ["path_silent - 1"]),
            // Wi-Fi is silent from the eighth second to the tenth.
            Case(scenario: "train", start: 7, expected: ["lossy wlan0 1", "flapping wlan0 1"]),
            Case(scenario: "middlebox-strip", expected: ["mptcp_stripped wlan0 1"]),
            Case(scenario: "middlebox-drop", expected: ["mptcp_dropped wlan0 1"]),
            Case(scenario: "tcp-only-server", expected: ["none - 0"], said: "does not speak MPTCP"),
            Case(scenario: "metered-hotspot", expected: ["none - 0"], said: "Data is to be saved on wlan0"),
            Case(scenario: "ipv6-only", expected: ["none - 0"], said: "by MPTCP"),
            Case(
                scenario: "nat-timeout", arguments: "--idle 7s 203.0.113.10:80",
                expected: ["idle_forgotten wlan0 1"], said: "idle for 7 s"),
        ]

        /// Runs the check in a lab of its own.
        private static func check(_ one: Case) async throws -> (words: String, text: String) {
            let script = """
                \(one.before)
                while ((SECONDS < \(one.start))); do read -t 0.05 <> <(:); done
                '\(LabCommand.program("mppaths"))' check --json \(one.arguments); echo "status $?"
                """
            let result = try await Program.run(
                [LabCommand.program("mplab"), "run", "--quiet", "--scenario", one.scenario]
                    + (one.wifi.map { ["--wifi", $0] } ?? []) + ["--", "bash", "-c", script],
                within: .seconds(60))
            let lines = result.outputText.split(separator: "\n")
            let object = try #require(
                try JSONSerialization.jsonObject(with: Data((lines.first ?? "").utf8)) as? [String: Any],
                "\(result)")
            let verdict = try #require(object["verdict"] as? [String: Any])
            let (sentence, advice) = ("\(verdict["sentence"] ?? "")", "\(verdict["advice"] ?? "")")
            let status = lines.last?.split(separator: " ").last ?? ""
            return (
                "\(verdict["fault"] ?? "") \(verdict["path"] as? String ?? "-") \(status)",
                "\(sentence) \(advice)"
            )
        }

        /// A few at a time: each mostly waits.
        @Test("comes to the right verdict in each built-in scenario")
        func scenarios() async throws {
            try await withThrowingTaskGroup(of: Void.self) { group in
                for (number, one) in Self.cases.enumerated() {
                    if number >= 4 { try await group.next() }
                    group.addTask {
                        let (words, text) = try await Self.check(one)
                        print("measured: \(one.scenario): \(text)")
                        #expect(one.expected.contains(words), "\(one.scenario): \(text)")
                        #expect(one.said.isEmpty || text.contains(one.said), "\(one.scenario): \(text)")
                    }
                }
                try await group.waitForAll()
            }
        }
    }
}
