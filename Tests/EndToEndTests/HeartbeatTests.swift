// Heartbeats behind the lab's translator, whose times are shortened.

import TestSupport
import Testing

extension Labs {
    @Suite("Heartbeats behind a translator")
    struct Heartbeats {
        @Test(
            "find out within seconds how long it remembers, and lose nothing after that",
            arguments: [1_500, 2_000])
        func realNAT(limit: Int) throws {
            let outcome = try LabCommand.lab(
                ["--wifi", "rtt=20ms,nat=\(limit)ms"],
                "'\(LabCommand.program("modeprobe"))' heartbeat 500 4000", deadline: .seconds(250))
            try #require(outcome.status == 0, "\(outcome)")
            var facts: [Substring: Int] = [:]
            for line in outcome.lines {
                let words = line.split(separator: " ")
                if words.count == 2 { facts[words[0]] = Int(words[1]) }
            }
            print("measured: NAT of \(limit) ms: \(facts)")
            // Under load a ping leaves later than planned; what it proves is measured, not planned. The translator counts from the
            // answer, a round trip after the ping.
            #expect(facts["interval"].map { $0 >= limit * 6 / 10 && $0 <= limit + 50 } == true, "\(outcome)")
            #expect(facts["deaths"].map { $0 <= 5 } == true, "\(outcome)")
            // One, where the machine stood still for longer than the margin.
            #expect(facts["deaths_after_settling"].map { $0 <= 1 } == true, "\(outcome)")
        }
    }
}
