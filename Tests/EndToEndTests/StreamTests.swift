#if HTTP
    import Foundation
    import TestSupport
    import Testing

    extension Labs {
        @Suite("A stream in the lab", .needs("python3"))
        struct Streams {
            private static let script = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
                .deletingLastPathComponent().deletingLastPathComponent()
                .appendingPathComponent("scripts/hls-server.py").path
            /// Bytes of a second, and of a segment, of the lowest of the server's variants.
            private static let (second, segment) = (50_000.0, 100_000.0)

            private struct Report: Decodable {
                struct Path: Decodable {
                    var interface: String
                    var expensive: Bool
                    var constrained: Bool
                    var bytes: Double
                }

                var outcome: String
                var stalls: Int
                var segments: Int
                var skipped: Int
                var paths: [Path]
            }

            /// Plays in a lab made of a scenario's lines, or of one that is built in.
            ///
            /// - Parameter beside: a shell's commands, which run beside it.
            /// - Returns: the events, the report among them, and what those commands said.
            private func play(
                _ scenario: String, _ words: String, beside: String = ":", seconds: Int = 40
            ) throws -> (events: [[String: Any]], report: Report, outcome: Outcome) {
                let folder = try TemporaryFolder()
                var name = scenario
                if scenario.contains("\n") {
                    try folder.write(scenario, to: "test.scenario")
                    name = folder.file("test.scenario")
                }
                let place = "http://server:8080/made/master.m3u8"
                let outcome = try LabCommand.run(
                    [
                        LabCommand.program("mplab"), "run", "--quiet", "--scenario", name, "--serve",
                        "python3 '\(Self.script)' > /dev/null", "--", "bash", "-c",
                        """
                        set='\(LabCommand.program("mplab")) set'
                        until curl -s -o /dev/null \(place); do sleep 0.05; done
                        events='\(folder.file("events"))'; : > $events
                        (\(beside)) &
                        '\(LabCommand.program("mpstream"))' --json \(words) '\(place)?duration=\(seconds)' \
                          > /dev/null 2> $events
                        status=$?; wait; cat $events >&2; exit $status
                        """,
                    ], deadline: .seconds(120))
                let lines = outcome.errors.split(separator: "\n").filter { $0.hasPrefix("{") }
                let last = try #require(lines.last { $0.contains("\"report\"") }, "\(outcome)")
                return (
                    try lines.compactMap {
                        try JSONSerialization.jsonObject(with: Data($0.utf8)) as? [String: Any]
                    }, try JSONDecoder().decode(Report.self, from: Data(last.utf8)), outcome
                )
            }

            @Test("plays on without a stall on the way out of Wi-Fi's reach, and comes whole")
            func walkout() throws {
                let (_, report, outcome) = try play("wifi-walkout", "")
                #expect(outcome.status == 0, "\(outcome)")
                #expect(report.outcome == "ended")
                #expect(report.segments == 20 && report.skipped == 0)
                #expect(report.stalls == 0, "\(outcome.errors)")
            }

            @Test("takes the lowest variant and two segments from a path on which data is to be saved")
            func constrained() throws {
                let (events, report, outcome) = try play(
                    """
                    link wlan0 wifi,constrained rtt=30ms,rate=20mbit

                    """, "", seconds: 8)
                #expect(outcome.status == 0 && report.outcome == "ended", "\(outcome)")
                #expect(report.segments == 4 && report.stalls == 0)
                #expect(report.paths.allSatisfy { $0.constrained })
                // Playlists are part of it.
                let most = Self.second * 8 + 2 * Self.segment
                #expect(report.paths.reduce(0) { $0 + $1.bytes } <= most, "\(outcome.errors)")
                let buffers = events.compactMap { $0["buffer_s"] as? Double }
                #expect((buffers.max() ?? 0) <= 4.1, "\(buffers)")
            }

            @Test("takes no more than that when the path becomes one in the middle")
            func becomesConstrained() throws {
                let (events, report, outcome) = try play(
                    """
                    link wlan0 wifi rtt=30ms,rate=20mbit

                    """, "--buffer 6s", beside: "sleep 3; $set wlan0 constrained > /dev/null", seconds: 14)
                #expect(outcome.status == 0 && report.outcome == "ended", "\(outcome)")
                #expect(report.segments == 7)
                let change = try #require(events.first { $0["tag"] as? String == "constrained" })
                let buffer = try #require(change["buffer_s"] as? Double)
                let started = try #require(
                    events.first { $0["event"] as? String == "started" }?["time"] as? Double)
                #expect(buffer > 2, "\(outcome.errors)")
                let saved = report.paths.filter { $0.constrained }.reduce(0) { $0 + $1.bytes }
                // What was ahead of the player, and played before, came at other rates.
                let rest = 14 - buffer - (try #require(change["time"] as? Double) - started)
                #expect(saved > 0 && saved <= Self.second * rest + 2 * Self.segment, "\(outcome.errors)")
            }

            @Test("goes on with the rest of a segment over TCP when its path dies, and fetches nothing twice")
            func range() throws {
                // In the middle of one: a segment takes half a second or longer.
                let segments = #"grep -c '"segment"' $events"#
                let (events, report, outcome) = try play(
                    """
                    link wlan0 wifi rtt=20ms,rate=6mbit
                    link wwan0 cellular,expensive rtt=60ms,rate=20mbit
                    server tcp

                    """, "",
                    beside: """
                        sleep 2.5; n=$(\(segments)); until [ $(\(segments)) -gt $n ]; do sleep 0.02; done
                        sleep 0.1; $set wlan0 blackhole > /dev/null
                        """, seconds: 30)
                #expect(outcome.status == 0 && report.outcome == "ended", "\(outcome)")
                #expect(report.segments == 15 && report.stalls == 0, "\(outcome.errors)")
                #expect(events.contains { $0["event"] as? String == "continued" }, "\(outcome.errors)")
                let media = events.filter { $0["event"] as? String == "segment" }.reduce(0) {
                    $0 + ($1["bytes"] as? Double ?? 0)
                }
                // What a lower variant took the place of comes on top, and the playlists.
                let left = events.reduce(0) { $0 + ($1["received"] as? Double ?? 0) }
                #expect(
                    report.paths.reduce(0) { $0 + $1.bytes } <= media + left + 20_000, "\(outcome.errors)")
            }

            @Test("says that it waits where no path is allowed, and goes on when one is")
            func waits() throws {
                let clock = "python3 -c 'import time; print(time.monotonic())'"
                let (events, report, outcome) = try play(
                    """
                    link wlan0 wifi rtt=20ms,rate=50mbit
                    link wwan0 cellular,expensive rtt=60ms,rate=20mbit

                    """, "--prohibit expensive --buffer 4s",
                    beside:
                        "sleep 2; \(clock); $set wlan0 down > /dev/null; sleep 5; \(clock); $set wlan0 up > /dev/null",
                    seconds: 14)
                #expect(outcome.status == 0 && report.outcome == "ended", "\(outcome)")
                #expect(report.segments == 7 && report.skipped == 0)
                #expect(report.paths.allSatisfy { $0.interface == "wlan0" }, "\(outcome.errors)")
                let times = outcome.output.split(separator: "\n").compactMap { Double($0) }
                try #require(times.count == 2, "\(outcome)")
                func time(
                    _ event: String, after: Double, where condition: ([String: Any]) -> Bool = { _ in true }
                )
                    -> Double?
                {
                    events.first {
                        $0["event"] as? String == event && ($0["time"] as? Double ?? 0) > after
                            && condition($0)
                    }?["time"] as? Double
                }
                let waiting = try #require(time("path_changed", after: times[0]) { !($0["path"] is String) })
                let next = try #require(time("segment", after: times[1]))
                // A second each on a machine with nothing else to do.
                #expect(waiting < times[0] + 4, "\(outcome)")
                #expect(next < times[1] + 6, "\(outcome)")
            }
        }
    }
#endif
