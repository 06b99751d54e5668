// What a machine does to a process that has done nothing wrong: it stands still, and its clock jumps.

import Foundation
import TestSupport
import Testing

extension Labs {
    @Suite("A steered connection whose process stood still for seconds")
    struct StoppedProcess {
        @Test(
            "goes on with the same path, is whole, and is told nothing of its paths that isn't so",
            arguments: ["echo", "download", "upload"])
        func goesOn(load: String) throws {
            // Where this machine keeps the emulator from running, too, a path is not well. What the stop causes comes each time.
            for attempt in 1...4 {
                let seen = try ModeProbe.run(
                    "handover \(load) --ms 10000", rate: "20mbit",
                    meanwhile: "sleep 2.5; kill -STOP $probe; sleep 4; kill -CONT $probe")
                #expect(seen.isIntact, "\(seen)")
                let told = seen.events(from: 2500)
                let isUnwell = told.contains {
                    $0.contains(" failed: ") || $0.contains("no path is left") || $0.hasPrefix("moved from")
                }
                // One question about each path is all right; a burst is not.
                let suspicions = told.count { $0.contains("is suspect") }
                if attempt < 4, isUnwell || suspicions > 2 { continue }
                #expect(!isUnwell && suspicions <= 2, "\(seen)")
                break
            }
        }

        @Test("notices soon after that its path has died meanwhile", arguments: ["echo", "download"])
        func diedMeanwhile(load: String) throws {
            let seen = try ModeProbe.run(
                "handover \(load) --ms 12000", rate: "20mbit",
                meanwhile:
                    "sleep 2.5; kill -STOP $probe; sleep 1; '\(LabCommand.program("mplab"))' set wlan0 blackhole; sleep 3; kill -CONT $probe"
            )
            #expect(seen.isIntact, "\(seen)")
            #expect(seen.moved(to: "wwan0", after: 2500) != nil, "\(seen)")
            #expect(seen.events(from: 2500).count { $0.hasPrefix("moved from") } == 1, "\(seen)")
        }
    }
}
