// Connections whose sockets another library made, steered by the kernel's list of endpoints, which goes for all of them.

import Foundation
import TestSupport
import Testing

extension Labs {
    @Suite("Connections steered by the kernel's endpoints")
    struct SystemWide {
        private func probe(_ words: String, after preparation: String = "true") throws -> Outcome {
            try LabCommand.lab(
                [
                    "--wifi", "rtt=20ms,rate=50mbit,queue=40ms", "--cellular",
                    "rtt=40ms,rate=50mbit,queue=40ms",
                ],
                """
                export MULTIPATH_INTERFACES='wlan0=wifi wwan0=cellular,not-expensive'
                \(preparation)
                ip mptcp endpoint | sed 's/^/before /'
                '\(LabCommand.program("modeprobe"))' \(words) --foreign yes
                ip mptcp endpoint | sed 's/^/after /'
                """)
        }

        private func count(_ words: String, in outcome: Outcome) -> Int {
            outcome.lines.count { $0.contains(words) }
        }

        /// Those that ask for an endpoint that is there already may get nothing from it: eight at once make that sure.
        @Test("all leave a path that goes", arguments: ["blackhole", "down", "'address off'", "'route off'"])
        func leave(fault: String) throws {
            let outcome = try probe("handover echo --ms 7000 --connections 8 --at 2500 wlan0 \(fault)")
            #expect(outcome.status == 0, "\(outcome)")
            #expect(count("control system_wide", in: outcome) == 8, "\(outcome)")
            #expect(count("intact true", in: outcome) == 8, "\(outcome)")
            #expect(count("moved from wlan0 to wwan0", in: outcome) >= 8, "\(outcome)")
            let stalls = outcome.lines.compactMap { $0.hasPrefix("stall ") ? Int($0.dropFirst(6)) : nil }
            #expect(stalls.count == 8 && stalls.allSatisfy { $0 < 3000 }, "\(outcome)")
            #expect(count("after ", in: outcome) == 0, "no endpoint is left behind: \(outcome)")
        }

        @Test("go on with a download where Wi-Fi falls silent, though they send nothing")
        func download() throws {
            let outcome = try probe("handover download --ms 6000 --at 2500 wlan0 blackhole")
            #expect(outcome.status == 0, "\(outcome)")
            #expect(count("control system_wide", in: outcome) == 1, "\(outcome)")
            #expect(count("intact true", in: outcome) == 1, "\(outcome)")
            // A machine that is too busy for the emulator may add a move and one back before.
            #expect(
                outcome.lines.last { $0.contains(" moved from ") }?.contains("from wlan0 to wwan0") == true,
                "\(outcome)")
            let stalls = outcome.lines.compactMap { $0.hasPrefix("stall ") ? Int($0.dropFirst(6)) : nil }
            #expect(stalls.count == 1 && stalls.allSatisfy { $0 < 2000 }, "\(outcome)")
        }

        @Test("go back to a path that returns")
        func goBack() throws {
            let outcome = try probe(
                "handover echo --ms 9000 --at 1000 wlan0 blackhole --at 2500 wlan0 blackhole=none")
            #expect(count("intact true", in: outcome) == 1, "\(outcome)")
            // A machine that is too busy for the emulator may add a move and one back.
            let moves = outcome.lines.filter { $0.contains(" moved from ") }
            #expect(moves.first?.contains("moved from wlan0 to wwan0") == true, "\(outcome)")
            #expect(moves.last?.contains("moved from wwan0 to wlan0") == true, "\(outcome)")
            #expect(moves.count <= 6, "\(outcome)")
        }

        @Test("leave the administrator's endpoints as they were")
        func endpoints() throws {
            let outcome = try probe(
                "handover echo --ms 3000 --at 1000 wlan0 down",
                after: "ip mptcp endpoint add 192.0.2.18 dev wwan0 id 7 subflow backup")
            #expect(count("intact true", in: outcome) == 1, "\(outcome)")
            let (before, after) = ("before ", "after ")
            let kept = outcome.lines.filter { $0.hasPrefix(before) }.map { $0.dropFirst(before.count) }
            #expect(kept.count == 1 && kept[0].contains("id 7 subflow backup"), "\(outcome)")
            #expect(
                outcome.lines.filter { $0.hasPrefix(after) }.map { $0.dropFirst(after.count) } == kept,
                "\(outcome)")
        }
    }
}
