#if HTTP
    import Foundation
    import TestSupport
    import Testing

    @Suite("mpstream in a lab", .serialized, .lab, .needs("python3"))
    struct WalkoutTests {
        private static let script = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
            .deletingLastPathComponent().deletingLastPathComponent().appendingPathComponent(
                "scripts/hls-server.py"
            ).path

        private struct Report: Decodable {
            var outcome: String
            var stalls: Int
            var segments: Int
            var skipped: Int
        }

        @Test(
            "plays on without a stall while the user walks out of Wi-Fi's reach", arguments: ["wifi-walkout"])
        func plays(scenario: String) throws {
            let outcome = try LabCommand.run(
                [
                    LabCommand.program("mplab"), "run", "--quiet", "--scenario", scenario, "--serve",
                    "python3 '\(Self.script)'", "--", "bash", "-c",
                    """
                    until curl -s -o /dev/null http://server:8080/made/master.m3u8; do :; done
                    '\(LabCommand.program("mpstream"))' --json 'http://server:8080/made/master.m3u8?duration=40' > /dev/null
                    """,
                ], deadline: .seconds(90))
            #expect(outcome.status == 0, "\(outcome)")
            let last = try #require(outcome.errors.split(separator: "\n").last { $0.contains("\"report\"") })
            let report = try JSONDecoder().decode(Report.self, from: Data(last.utf8))
            #expect(report.outcome == "ended")
            #expect(report.segments == 20 && report.skipped == 0)
            #expect(report.stalls == 0, "\(outcome.errors)")
        }
    }
#endif
