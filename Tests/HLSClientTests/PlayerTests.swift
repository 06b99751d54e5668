#if HTTP
    import Foundation
    import TestSupport
    import Testing

    /// The built program against a server, as a user runs it.
    @Suite("mpstream", .needs("python3", "curl"))
    struct PlayerTests {
        private static let script = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
            .deletingLastPathComponent().deletingLastPathComponent().appendingPathComponent(
                "scripts/hls-server.py"
            ).path

        /// A server with a folder of its own, for as long as this lives.
        private final class Server: Sendable {
            let folder: TemporaryFolder
            let port: Int
            private let running: Running

            init() async throws {
                folder = try TemporaryFolder()
                running = try Running(["python3", PlayerTests.script, "--port", "0", "--folder", folder.path])
                let running = running
                try await Program.wait("the server") { running.outputText.contains("\n") }
                port = Int(running.outputText.split(separator: " ").last?.dropLast() ?? "") ?? 0
            }

            deinit { running.kill() }

            func url(_ path: String) -> String { "http://127.0.0.1:\(port)/\(path)" }

            func make(_ words: [String]) async throws {
                let made = try await Program.run(
                    ["ffmpeg", "-v", "error", "-y"]
                        + words.map { $0.replacingOccurrences(of: "DIR", with: folder.path) },
                    within: .seconds(60))
                try #require(made.status == 0, "\(made.errors)")
            }

            /// What decodes from a file or URL: each frame's SHA or MD5, by stream.
            func frames(_ input: String) async throws -> [Substring] {
                let decoded = try await Program.run(
                    [
                        "ffmpeg", "-v", "error",
                    ] + (input.hasSuffix(".m3u8") ? ["-allowed_extensions", "ALL"] : []) + [
                        "-i", input, "-map", "0", "-f",
                        "framemd5", "-",
                    ], within: .seconds(60))
                try #require(decoded.status == 0, "\(decoded.errors)")
                return decoded.outputText.split(separator: "\n").filter { !$0.hasPrefix("#") }.map { line in
                    let fields = line.split(separator: ",")
                    return "\(fields[0])\(fields[fields.count - 1])"[...]
                }
            }
        }

        private func stream(
            _ words: String..., within limit: Duration = .seconds(60)
        ) async throws -> Program.Result {
            try await Program.run([Program.product("mpstream")] + words, within: limit)
        }

        @Test(
            "plays what ffmpeg made: its frames are those of a local decode",
            .needs("ffmpeg"),
            arguments: [
                "", "-hls_segment_type fmp4", "-hls_key_info_file DIR/info", "-hls_flags single_file",
                "-hls_segment_type fmp4 -hls_flags single_file",
            ])
        func frames(options: String) async throws {
            let server = try await Server()
            try await server.make([
                "-f", "lavfi", "-i", "testsrc2=s=160x90:r=25:d=6", "-f", "lavfi", "-i", "sine=440:d=6",
                "-c:v",
                "libx264", "-preset", "ultrafast", "-g", "25", "-c:a", "aac", "DIR/source.mp4",
            ])
            try Data((0..<16).map { _ in UInt8.random(in: 0...255) }).write(
                to: URL(fileURLWithPath: server.folder.file("k.key")))
            try server.folder.write("k.key\n\(server.folder.file("k.key"))\n", to: "info")
            try await server.make(
                ["-i", "DIR/source.mp4", "-c", "copy", "-f", "hls", "-hls_time", "1", "-hls_list_size", "0"]
                    + options.split(separator: " ").map(String.init) + [
                        "-hls_playlist_type", "vod", "DIR/index.m3u8",
                    ])
            let result = try await stream("--json", server.url("index.m3u8"))
            #expect(result.status == 0, "\(result.errors)")
            try result.output.write(to: URL(fileURLWithPath: server.folder.file("played")))
            let (ours, theirs) = (
                try await server.frames(server.folder.file("played")),
                try await server.frames(server.folder.file("index.m3u8"))
            )
            #expect(ours.count > 100)
            #expect(ours == theirs)
        }

        @Test("serves a stream to a player of this machine, as HLS", .needs("ffmpeg"))
        func serves() async throws {
            let server = try await Server()
            try await server.make([
                "-f", "lavfi", "-i", "testsrc2=s=160x90:r=25:d=6", "-c:v", "libx264", "-preset", "ultrafast",
                "-g",
                "25", "-f", "hls", "-hls_time", "1", "-hls_list_size", "0", "-hls_segment_type", "fmp4",
                "-hls_playlist_type", "vod", "DIR/index.m3u8",
            ])
            let serving = try Running([
                Program.product("mpstream"), "--serve", "--json", server.url("index.m3u8"),
            ])
            try await Program.wait("the address") { serving.errorText.contains("stream.m3u8") }
            let address = try #require(
                serving.errorText.split(separator: "\"").first { $0.hasSuffix("/stream.m3u8") }.map(
                    String.init))
            let played = try await server.frames(address)
            #expect(played == (try await server.frames(server.folder.file("index.m3u8"))))
            #expect(try await serving.result().status == 0)
        }

        @Test("follows a live stream while its window slides, and ends with it")
        func live() async throws {
            let server = try await Server()
            let result = try await stream(
                "--json", server.url("made/master.m3u8?live=1&duration=16&segment=1"), within: .seconds(90))
            #expect(result.status == 0, "\(result.errors)")
            let last = try #require(result.errors.split(separator: "\n").last)
            let report = try JSONDecoder().decode(Report.self, from: Data(last.utf8))
            #expect(report.outcome == "ended")
            // It began three segments before the end of the first window of six.
            #expect(report.segments == 13)
            #expect(report.skipped == 0)
            #expect(result.output.count % 188 == 0 && result.output.first == 0x47)
        }

        private struct Report: Decodable {
            var outcome: String
            var segments: Int
            var skipped: Int
        }

        @Test("says what is wrong, and ends with the status for it")
        func errors() async throws {
            let server = try await Server()
            try server.folder.write("<html>no</html>", to: "page.m3u8")
            try server.folder.write(
                "#EXTM3U\n#EXT-X-TARGETDURATION:2\n#EXTINF:2,\nfile:///etc/passwd\n", to: "file.m3u8")
            try server.folder.write(
                "#EXTM3U\n#EXT-X-TARGETDURATION:2\n#EXTINF:2,\npage.m3u8\n#EXT-X-ENDLIST\n", to: "html.m3u8")
            try server.folder.write("#EXTM3U\n#EXT-X-STREAM-INF:BANDWIDTH=1\nself.m3u8\n", to: "self.m3u8")
            for (path, words) in [
                ("none.m3u8", "the server answered 404"), ("page.m3u8", "is no playlist but a page of HTML"),
                ("file.m3u8", "only http and https are places for media"),
                ("self.m3u8", "the variant's playlist names variants itself"),
            ] {
                let result = try await stream(server.url(path))
                #expect(result.status == 1, "\(path): \(result.errors)")
                #expect(result.errors.contains(words), "\(path): \(result.errors)")
                #expect(result.output.isEmpty)
            }
            // A page in a segment's place is left out, and said so.
            let result = try await stream(server.url("html.m3u8"))
            #expect(result.errors.contains("is no media but a page of HTML"), "\(result.errors)")
            #expect(result.output.isEmpty)
            #expect(try await stream("file:///etc/passwd").status == 2)
            #expect(try await stream("--record", "x", "--serve", "http://127.0.0.1/").status == 2)
            #expect(try await stream("--max-rate", "fast", "http://127.0.0.1/").status == 2)
        }
    }
#endif
