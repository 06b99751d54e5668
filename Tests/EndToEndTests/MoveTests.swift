// Connections that move for as long as they live: nothing may wear out. Ten thousand moves are made by hand:
//
//     mplab run … -- modeprobe handover echo --ms 1050000 --moves 10000 constrained

import Foundation
import TestSupport
import Testing

extension Labs {
    @Suite("A connection that moves again and again")
    struct Moves {
        /// Paths that become expensive, that are allowed no more, and 50 addresses of Wi-Fi.
        @Test(
            "follows each move, and grows by nothing",
            arguments: [("expensive", 100), ("constrained", 100), ("address", 50)])
        func manyMoves(cause: String, count: Int) throws {
            let outcome = try LabCommand.lab(
                ["--wifi", "rtt=4ms,rate=50mbit", "--cellular", "rtt=8ms,rate=50mbit", "--families", "ipv6"],
                """
                '\(LabCommand.program("modeprobe"))' handover echo --ms 50000 --moves \(count) \(cause)
                """)
            try #require(outcome.status == 0, "\(outcome)")
            let facts = Dictionary(
                outcome.lines.compactMap { line in
                    line.firstIndex(of: " ").map { (line[..<$0], line[$0...].split(separator: " ")) }
                }, uniquingKeysWith: { $1 })
            #expect(facts["control"] == ["per_connection"] && facts["intact"] == ["true"], "\(outcome)")
            #expect(facts["late"] == ["0"], "each was followed: \(outcome)")
            let paths = outcome.lines.filter { $0.hasPrefix("path ") }.map { $0.split(separator: " ")[1] }
            #expect(paths == ["wlan0", "wwan0"], "its report grows by no address: \(outcome)")
            let descriptors = try #require(facts["descriptors"], "\(outcome)").compactMap { Int($0) }
            // One more was open at the first look, now and then: of the library's own work at the beginning.
            #expect(descriptors.count == 2 && descriptors[1] <= descriptors[0], "\(outcome)")
            let resident = try #require(facts["resident"], "\(outcome)").compactMap { Int($0) }
            // In KiB; what was sent and when takes some, too.
            #expect(resident.count == 2 && resident[1] - resident[0] < 2048, "\(outcome)")
        }
    }
}
