// The doctor in the built-in scenarios.

import Foundation
import TestSupport
import Testing

extension Labs {
    @Suite("mppaths check in the scenario")
    struct Checks {
        /// The fault and the path of the verdict, and the exit status, as in `lossy wlan0 1`.
        private func check(
            _ scenario: String, before: String = "", _ arguments: String = "server:80"
        ) throws -> (words: String, outcome: Outcome) {
            let outcome = try LabCommand.lab(
                ["--scenario", scenario],
                """
                \(before)
                '\(LabCommand.program("mppaths"))' check --json \(arguments); echo "status $?"
                """)
            let line = outcome.lines.first { $0.hasPrefix("{") } ?? ""
            let object = try #require(
                try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any], "\(outcome)")
            let verdict = try #require(object["verdict"] as? [String: Any])
            let status = outcome.lines.last?.split(separator: " ").last ?? ""
            print("measured: \(scenario): \(verdict["sentence"] ?? "") \(verdict["advice"] ?? "")")
            return ("\(verdict["fault"] ?? "") \(verdict["path"] as? String ?? "-") \(status)", outcome)
        }

        /// Waits until so many seconds after the lab's command began.
        private func at(_ seconds: Int) -> String {
            "while ((SECONDS < \(seconds))); do read -t 0.05 <> <(:); done"
        }

        @Test("healthy finds nothing wrong")
        func healthy() throws {
            let (words, outcome) = try check("healthy")
            #expect(words == "none - 0", "\(outcome)")
        }

        @Test(
            "names the fault",
            arguments: [
                ("wifi-blackhole", 4, "path_silent wlan0 1"), ("one-way-loss", 0, "lossy wlan0 1"),
                ("elevator", 4, "path_silent - 1"), ("middlebox-strip", 0, "mptcp_stripped wlan0 1"),
                ("middlebox-drop", 0, "mptcp_dropped wlan0 1"), ("wifi-flapping", 0, "flapping wlan0 1"),
                // Silent from the eighth second to the tenth.
                ("train", 8, "flapping wlan0 1"),
            ])
        func faults(scenario: String, start: Int, expected: String) throws {
            let (words, outcome) = try check(scenario, before: at(start))
            #expect(words == expected, "\(outcome)")
        }

        @Test(
            "names none where none is",
            arguments: [
                ("tcp-only-server", "does not speak MPTCP"),
                ("metered-hotspot", "Data is to be saved on wlan0"),
                ("ipv6-only", "by MPTCP"),
            ])
        func noFaults(scenario: String, said: String) throws {
            let (words, outcome) = try check(scenario)
            #expect(words == "none - 0", "\(outcome)")
            #expect(outcome.output.contains(said), "\(outcome)")
        }

        @Test("wifi-walkout sees Wi-Fi get worse, and then that it is gone")
        func walkout() throws {
            let (words, outcome) = try check("wifi-walkout", before: at(8))
            #expect(["lossy wlan0 1", "flapping wlan0 1", "slow wlan0 1"].contains(words), "\(outcome)")
        }

        @Test("bufferbloat names the queue, while a transfer fills it")
        func bufferbloat() throws {
            let (words, outcome) = try check(
                "bufferbloat",
                before: "curl -s -o /dev/null http://203.0.113.10/40000000 & \(at(3))")
            #expect(words == "queue_full wlan0 1", "\(outcome)")
        }

        @Test("nat-timeout names the NAT, where it is asked about idle connections")
        func natTimeout() throws {
            let (words, outcome) = try check("nat-timeout", before: "", "--idle 7s 203.0.113.10:80")
            #expect(words == "idle_forgotten wlan0 1", "\(outcome)")
        }
    }
}
