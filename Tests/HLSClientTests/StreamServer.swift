#if HTTP
    import Foundation
    import TestSupport
    import Testing

    /// `scripts/hls-server.py` with a folder of its own, for as long as this lives.
    final class StreamServer: Sendable {
        private static let script = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
            .deletingLastPathComponent().deletingLastPathComponent()
            .appendingPathComponent("scripts/hls-server.py").path

        let folder: TemporaryFolder
        let port: Int
        private let running: Running

        init() async throws {
            folder = try TemporaryFolder()
            running = try Running(["python3", Self.script, "--port", "0", "--folder", folder.path])
            let running = running
            try await Program.wait("the server", within: .seconds(60)) { running.outputText.contains("\n") }
            port = Int(running.outputText.split(separator: " ").last?.dropLast() ?? "") ?? 0
        }

        deinit { running.kill() }

        func url(_ path: String) -> String { "http://127.0.0.1:\(port)/\(path)" }

        /// Runs ffmpeg; `DIR` stands for the folder.
        func make(_ words: [String]) async throws {
            let made = try await Program.run(Self.command(words, in: folder), within: .seconds(60))
            try #require(made.status == 0, "\(made.errors)")
        }

        /// The same, as it goes on.
        func begin(_ words: [String]) throws -> Running { try Running(Self.command(words, in: folder)) }

        private static func command(_ words: [String], in folder: TemporaryFolder) -> [String] {
            ["ffmpeg", "-v", "error", "-y"]
                + words.map { $0.replacingOccurrences(of: "DIR", with: folder.path) }
        }

        /// What decodes from a file or URL: each frame's MD5, by stream.
        func frames(_ input: String) async throws -> [Substring] {
            let decoded = try await Program.run(
                ["ffmpeg", "-v", "error"]
                    + (input.hasSuffix(".m3u8") ? ["-allowed_extensions", "ALL"] : [])
                    + ["-i", input, "-map", "0", "-f", "framemd5", "-"], within: .seconds(60))
            try #require(decoded.status == 0, "\(decoded.errors)")
            return decoded.outputText.split(separator: "\n").filter { !$0.hasPrefix("#") }.map { line in
                let fields = line.split(separator: ",")
                return "\(fields[0])\(fields[fields.count - 1])"[...]
            }
        }

        /// A request that came.
        struct Request: Decodable {
            var path: String
            var credentials: Bool
            var agent: String?
            var range: String?
        }

        /// All that came so far.
        func requests() async throws -> [Request] {
            let answer = try await Program.run(["curl", "-s", url("seen")])
            return try JSONDecoder().decode([Request].self, from: answer.output)
        }
    }

    /// The built program.
    enum MPStreamProgram {
        static let path = Program.product("mpstream")

        static func run(
            _ words: String..., within limit: Duration = .seconds(60)
        ) async throws -> Program.Result {
            try await Program.run([path] + words, within: limit)
        }

        /// The last word of one that was run with `--json`.
        struct Report: Decodable {
            var outcome: String
            var error: String?
            var segments: Int
            var skipped: Int
            var continued: Int
        }

        static func report(_ result: Program.Result) throws -> Report {
            let last = try #require(result.errors.split(separator: "\n").last)
            return try JSONDecoder().decode(Report.self, from: Data(last.utf8))
        }

        /// The events of one that was run with `--json`.
        static func events(_ errors: String) throws -> [[String: Any]] {
            try errors.split(separator: "\n").compactMap {
                try JSONSerialization.jsonObject(with: Data($0.utf8)) as? [String: Any]
            }
        }
    }
#endif
