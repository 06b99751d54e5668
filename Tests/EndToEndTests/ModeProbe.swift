import Foundation
import TestSupport
import Testing

/// Runs a modeprobe, the client of these tests, in a lab of its own.
enum ModeProbe {
    /// What it saw of one connection.
    struct Seen: CustomStringConvertible {
        var description: String
        private var facts: [String: String] = [:]
        private var receivedByPath: [String: Int] = [:]
        private var moves: [(time: Int, to: String)] = []

        init(_ lines: [Substring]) {
            description = lines.joined(separator: "\n")
            for line in lines {
                let words = line.split(separator: " ").map(String.init)
                switch words.first {
                case "path" where words.count == 4: receivedByPath[words[1]] = Int(words[3])
                case "event" where words.count > 6 && words[2] == "moved":
                    moves.append((Int(words[1]) ?? 0, words[6].filter { $0 != ":" }))
                case let name? where words.count == 2: facts[name] = words[1]
                default: break
                }
            }
        }

        var isIntact: Bool { facts["intact"] == "true" && facts["control"] == "per_connection" }
        /// What it was told of its steering from then on, in milliseconds: a text for each event.
        func events(from time: Int) -> [String] {
            description.split(separator: "\n").compactMap { line in
                let words = line.split(separator: " ", maxSplits: 2)
                guard words.count == 3, words[0] == "event", let moment = Int(words[1]), moment >= time else {
                    return nil
                }
                return String(words[2])
            }
        }

        var stall: Int { number("stall") }
        func number(_ name: String) -> Int { facts[name].flatMap { Int($0) } ?? .max }
        func received(_ path: String) -> Int { receivedByPath[path] ?? 0 }

        /// When the data went to a path, for the first time from then on, in milliseconds.
        func moved(to path: String, after time: Int = 0) -> Int? {
            moves.first { $0.time >= time && $0.to == path }?.time
        }
    }

    /// - Parameters:
    ///   - cellular: its tags.
    ///   - meanwhile: a script that runs beside it; the probe is `$probe`.
    static func run(
        _ words: String, cellular: String = "not-expensive", rate: String = "50mbit",
        meanwhile script: String = ":"
    ) throws -> Seen {
        try #require(runAll(words, cellular: cellular, rate: rate, meanwhile: script).last)
    }

    static func runAll(
        _ words: String, cellular: String = "not-expensive", rate: String = "50mbit",
        meanwhile script: String = ":"
    ) throws -> [Seen] {
        let scenario = FileManager.default.temporaryDirectory.appendingPathComponent("\(UUID()).lab")
        defer { try? FileManager.default.removeItem(at: scenario) }
        let text = """
            link wlan0 wifi rtt=20ms,rate=\(rate),queue=40ms
            link wwan0 cellular,\(cellular) rtt=40ms,rate=\(rate),queue=40ms

            """
        try text.write(to: scenario, atomically: true, encoding: .utf8)
        let outcome = try LabCommand.lab(
            ["--scenario", scenario.path],
            "'\(LabCommand.program("modeprobe"))' \(words) & probe=$!; \(script); wait $probe")
        try #require(outcome.status == 0, "\(outcome)")
        return outcome.lines.split(separator: "connection").map { Seen(Array($0)) }
    }
}
