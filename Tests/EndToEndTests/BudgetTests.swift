// Budgets that processes share, over a lab's cellular link.

import Foundation
import TestSupport
import Testing

extension Labs {
    @Suite("A budget for expensive paths")
    struct Budgets {
        private static let limit = 6_000_000
        /// What may come in on the way when a budget is found spent.
        private static let overshoot = 256 * 1_024

        private static let link = ["--cellular", "rtt=40ms,rate=20mbit,queue=40ms"]
        /// Downloads until its budget is spent, which ends the connection.
        private static let download = """
            download() { '\(LabCommand.program("modeprobe"))' handover download --tcp yes --prohibit wlan0 \
              --when-refused close --budget \(limit) --ms "$1"; }
            paths() { '\(LabCommand.program("mppaths"))' "$@"; }
            used() { paths budget --json | grep -o '"used":[0-9]*' | grep -o '[0-9]*$' || echo 0; }

            """

        private func run(_ script: String) throws -> Outcome {
            let outcome = try LabCommand.lab(Self.link, "cd \"$(mktemp -d)\"\n" + Self.download + script)
            try #require(outcome.status == 0, "\(outcome)")
            return outcome
        }

        /// Bytes over cellular, of each report.
        private func carried(_ outcome: Outcome) -> [Int] {
            outcome.lines.filter { $0.hasPrefix("path wwan0 ") }.map {
                $0.split(separator: " ").suffix(2).compactMap { Int($0) }.reduce(0, +)
            }
        }

        @Test("is kept by two processes together, and ends both")
        func shared() throws {
            let outcome = try run(
                """
                # One may starve beside the other, and goes on after it when its retransmission timer says so.
                download 20000 > one & download 20000 > two & wait
                cat one two; echo "used $(used)"
                """)
            let carried = carried(outcome)
            #expect(carried.count == 2 && carried.allSatisfy { $0 > 50_000 }, "\(outcome)")
            let total = carried.reduce(0, +)
            print("measured: two processes used \(total) of \(Self.limit) bytes: \(carried)")
            #expect(total <= Self.limit + Self.overshoot, "\(outcome)")
            #expect(total >= Self.limit * 8 / 10, "\(outcome)")
            let refusals = outcome.lines.filter { $0.hasPrefix("refused ") }
            #expect(
                refusals
                    == Array(
                        repeating:
                            "refused wwan0 is not allowed any more: its budget is spent; no other path is",
                        count: 2), "\(outcome)")
            #expect(outcome.lines.count { $0 == "ended true" } == 2, "\(outcome)")
        }

        @Test("that is spent is left by MPTCP, and the download goes on over what costs nothing")
        func leaves() throws {
            let limit = 1_500_000
            let outcome = try LabCommand.lab(
                [
                    "--wifi", "rtt=20ms,rate=10mbit,queue=40ms", "--cellular",
                    "rtt=40ms,rate=10mbit,queue=40ms",
                ],
                """
                '\(LabCommand.program("mplab"))' set wwan0 expensive no
                '\(LabCommand.program("modeprobe"))' handover download --budget \(limit) --budget-on wlan0 \
                  --capture wlan0 --ms 4000
                """)
            try #require(outcome.status == 0, "\(outcome)")
            func facts(_ name: String) -> [Substring] {
                outcome.lines.filter { $0.hasPrefix(name + " ") }.map { $0.dropFirst(name.count + 1)[...] }
            }
            let carried = facts("path wlan0").first.map {
                $0.split(separator: " ").suffix(2).compactMap { Int($0) }.reduce(0, +)
            }
            print("measured: MPTCP used \(carried ?? 0) of \(limit) bytes on wlan0")
            #expect(facts("transport") == ["mptcp"] && facts("intact") == ["true"], "\(outcome)")
            #expect(facts("refused").isEmpty && facts("ended") == ["false"], "\(outcome)")
            #expect(facts("current") == ["wwan0 (cellular)"], "\(outcome)")
            #expect(carried.map { $0 > limit / 2 && $0 <= limit + Self.overshoot } == true, "\(outcome)")
            // What the server had sent already is not counted, and comes all the same. To leave a path takes a busy machine some
            // hundred milliseconds.
            let arrived = facts("captured").first.flatMap { Int($0) } ?? .max
            #expect(arrived <= limit + Self.overshoot * 2, "\(outcome)")
        }

        @Test(
            "counts what a killed process has used, refuses a spent path before its first byte, and can be reset"
        )
        func killed() throws {
            let outcome = try run(
                """
                download 20000 > one & job=$!
                for ((i = 0; i < 500; i++)); do [ "$(used)" -gt 2000000 ] && break; read -t 0.02 <> <(:); done
                pkill -9 -P $job; kill -9 $job; wait $job 2>/dev/null
                echo "killed_at $(used)"
                download 5000 > two; cat two
                echo "bytes $(cat /sys/class/net/wwan0/statistics/rx_bytes)"
                connect() { '\(LabCommand.program("mpconnect"))' --no-mptcp --require wwan0 "$@" server:7; }
                # A busy machine looks late, and so ends a download early: what that leaves is used first.
                for ((i = 0; i < 10; i++)); do
                    connect --budget 6MB/day < /dev/null > last 2>&1; status=$?
                    [ $status = 3 ] && break
                    download 5000 > more
                done
                cat last; echo "status $status"
                echo hello | connect --budget 6MB/day:constrained; echo "status $?"
                paths budget reset default; echo hello | connect --budget 6MB/day; echo "status $?"
                """)
            let numbers = outcome.lines.compactMap { line in
                line.hasPrefix("bytes ") ? Int(line.dropFirst(6)) : nil
            }
            // The link's own counter has headers in it, and what the probe itself has read.
            let onTheWire = numbers.max() ?? .max
            print("measured: \(onTheWire) bytes on the wire for \(Self.limit), one process killed")
            #expect(Double(onTheWire) <= Double(Self.limit + Self.overshoot) * 1.06, "\(outcome)")
            #expect(outcome.output.contains("wwan0: its budget is spent"), "\(outcome)")
            let statuses = outcome.lines.filter { $0.hasPrefix("status ") }
            #expect(statuses == ["status 3", "status 0", "status 0"], "\(outcome)")
            #expect(outcome.output.contains("running programs take it over at once"), "\(outcome)")
        }
    }
}
