#if HTTP
    import Foundation
    import TestSupport
    import Testing

    extension Labs {
        @Suite("A stream on the way out of Wi-Fi's reach", .needs("python3"))
        struct Streams {
            private static let script = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
                .deletingLastPathComponent().deletingLastPathComponent()
                .appendingPathComponent("scripts/hls-server.py").path

            private struct Report: Decodable {
                var outcome: String
                var stalls: Int
                var segments: Int
                var skipped: Int
            }

            @Test("plays on without a stall, and comes whole")
            func walkout() throws {
                let outcome = try LabCommand.run(
                    [
                        LabCommand.program("mplab"), "run", "--quiet", "--scenario", "wifi-walkout",
                        "--serve",
                        "python3 '\(Self.script)' > /dev/null", "--", "bash", "-c",
                        """
                        until curl -s -o /dev/null http://server:8080/made/master.m3u8; do sleep 0.05; done
                        '\(LabCommand.program("mpstream"))' --json 'http://server:8080/made/master.m3u8?duration=40' > /dev/null
                        """,
                    ], deadline: .seconds(90))
                #expect(outcome.status == 0, "\(outcome)")
                let last = try #require(
                    outcome.errors.split(separator: "\n").last { $0.contains("\"report\"") })
                let report = try JSONDecoder().decode(Report.self, from: Data(last.utf8))
                #expect(report.outcome == "ended")
                #expect(report.segments == 20 && report.skipped == 0)
                #expect(report.stalls == 0, "\(outcome.errors)")
            }
        }
    }
#endif
