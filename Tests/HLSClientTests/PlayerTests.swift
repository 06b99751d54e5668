#if HTTP
    import Foundation
    import TestSupport
    import Testing

    /// The built program against a server, as a user runs it.
    @Suite("mpstream", .needs("python3", "curl"))
    struct PlayerTests {
        @Test(
            "plays what ffmpeg made: its frames are those of a local decode",
            .needs("ffmpeg"),
            arguments: [
                "", "-hls_segment_type fmp4", "-hls_key_info_file DIR/info", "-hls_flags single_file",
                "-hls_segment_type fmp4 -hls_flags single_file",
            ])
        func frames(options: String) async throws {
            let server = try await StreamServer()
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
            let result = try await MPStreamProgram.run("--json", server.url("index.m3u8"))
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
            let server = try await StreamServer()
            try await server.make([
                "-f", "lavfi", "-i", "testsrc2=s=160x90:r=25:d=6", "-c:v", "libx264", "-preset", "ultrafast",
                "-g",
                "25", "-f", "hls", "-hls_time", "1", "-hls_list_size", "0", "-hls_segment_type", "fmp4",
                "-hls_playlist_type", "vod", "DIR/index.m3u8",
            ])
            let serving = try Running([
                Program.product("mpstream"), "--serve", "--json", server.url("index.m3u8"),
            ])
            try await Program.wait("the address", within: .seconds(60)) {
                serving.errorText.contains("stream.m3u8")
            }
            let address = try #require(
                serving.errorText.split(separator: "\"").first { $0.hasSuffix("/stream.m3u8") }.map(
                    String.init))
            let played = try await server.frames(address)
            #expect(played == (try await server.frames(server.folder.file("index.m3u8"))))
            #expect(try await serving.result().status == 0)
        }

        @Test("follows a live stream while its window slides, and ends with it")
        func live() async throws {
            let server = try await StreamServer()
            let result = try await MPStreamProgram.run(
                "--json", server.url("made/master.m3u8?live=1&duration=16&segment=1"), within: .seconds(90))
            #expect(result.status == 0, "\(result.errors)")
            let report = try MPStreamProgram.report(result)
            #expect(report.outcome == "ended")
            // It began three segments before the end of the first window of six.
            #expect(report.segments == 13)
            #expect(report.skipped == 0)
            #expect(result.output.count % 188 == 0 && result.output.first == 0x47)
        }

        @Test("plays the same frames where the variant changes", .needs("ffmpeg"))
        func switchedFrames() async throws {
            let server = try await StreamServer()
            for (name, rate) in [("low", 200), ("high", 2_000)] {
                try server.folder.makeFolder(name)
                try await server.make([
                    "-f", "lavfi", "-i", "testsrc2=s=160x90:r=25:d=8,noise=alls=40:allf=t", "-c:v", "libx264",
                    "-preset", "ultrafast", "-g", "25", "-sc_threshold", "0", "-b:v", "\(rate)k", "-f", "hls",
                    "-hls_time", "1", "-hls_list_size", "0", "-hls_playlist_type", "vod",
                    "DIR/\(name)/index.m3u8",
                ])
            }
            try server.folder.write(
                """
                #EXTM3U
                #EXT-X-STREAM-INF:BANDWIDTH=200000
                low/index.m3u8
                #EXT-X-STREAM-INF:BANDWIDTH=2000000
                high/index.m3u8

                """, to: "master.m3u8")
            // What the low one has not got is the high one's, however slow this machine is.
            try server.folder.makeFolder("kept")
            try server.folder.move("low/index7.ts", to: "kept/index7.ts")
            let result = try await MPStreamProgram.run("--json", server.url("master.m3u8"))
            #expect(result.status == 0, "\(result.errors)")
            try server.folder.move("kept/index7.ts", to: "low/index7.ts")
            let variants = try MPStreamProgram.events(result.errors).filter {
                $0["event"] as? String == "segment"
            }.compactMap { $0["variant"] as? Int }
            // Nothing is known of the path at first.
            #expect(variants.count == 8 && variants.first == 0 && variants.last == 1, "\(variants)")
            let local = [
                try await server.frames(server.folder.file("low/index.m3u8")),
                try await server.frames(server.folder.file("high/index.m3u8")),
            ]
            try result.output.write(to: URL(fileURLWithPath: server.folder.file("played")))
            let expected = variants.enumerated().flatMap { local[$1][($0 * 25)..<(($0 + 1) * 25)] }
            #expect(try await server.frames(server.folder.file("played")) == expected)
        }

        /// What ffmpeg makes as time goes by, in segments of half a second of which the playlist names the newest ten.
        @Test(
            "follows what ffmpeg makes live: its frames are those of a local decode of the same segments",
            .needs("ffmpeg"), arguments: ["mpegts", "fmp4"])
        func liveFrames(type: String) async throws {
            let server = try await StreamServer()
            let maker = try server.begin(
                [
                    "-re", "-f", "lavfi", "-i", "testsrc2=s=160x90:r=25:d=12", "-re", "-f", "lavfi", "-i",
                    "sine=440:d=12", "-c:v", "libx264", "-preset", "ultrafast", "-g", "12", "-sc_threshold",
                    "0",
                    "-c:a", "aac", "-f", "hls", "-hls_time", "0.48", "-hls_list_size", "10",
                    "-hls_segment_type", type, "-hls_fmp4_init_filename", "init.mp4",
                    "-hls_segment_filename", type == "fmp4" ? "DIR/%d.m4s" : "DIR/%d.ts",
                    "-hls_flags", "program_date_time", "DIR/live.m3u8",
                ])
            defer { maker.kill() }
            try await Program.wait("a window", within: .seconds(60)) {
                (try? server.folder.text("live.m3u8"))?.contains("#EXT-X-MEDIA-SEQUENCE:1\n") == true
            }
            let result = try await MPStreamProgram.run("--json", server.url("live.m3u8"))
            #expect(result.status == 0, "\(result.errors)")
            #expect(try await maker.result(within: .seconds(60)).status == 0)
            let played = try MPStreamProgram.events(result.errors).filter {
                $0["event"] as? String == "segment"
            }
            .compactMap { $0["number"] as? Int }
            // It began in the window, and the window slid while it played: the first segments are gone from the playlist.
            let playlist = try server.folder.text("live.m3u8")
            let first = try #require(playlist.firstMatch(of: #/MEDIA-SEQUENCE:(\d+)/#).flatMap { Int($0.1) })
            #expect(try #require(played.first) < first, "\(played), \(playlist)")
            #expect(played == Array(played[0]...(played[0] + played.count - 1)))
            #expect(playlist.contains("\(try #require(played.last))."))
            var expected = Data()
            if type == "fmp4" {
                expected = try Data(contentsOf: URL(fileURLWithPath: server.folder.file("init.mp4")))
            }
            for number in played {
                let name = type == "fmp4" ? "\(number).m4s" : "\(number).ts"
                expected += try Data(contentsOf: URL(fileURLWithPath: server.folder.file(name)))
            }
            #expect(result.output == expected)
            try result.output.write(to: URL(fileURLWithPath: server.folder.file("played")))
            try expected.write(to: URL(fileURLWithPath: server.folder.file("expected")))
            let ours = try await server.frames(server.folder.file("played"))
            #expect(ours.count > 100)
            #expect(try await server.frames(server.folder.file("expected")) == ours)
        }

        @Test("says what is wrong, and ends with the status for it")
        func errors() async throws {
            let server = try await StreamServer()
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
                let result = try await MPStreamProgram.run(server.url(path))
                #expect(result.status == 1, "\(path): \(result.errors)")
                #expect(result.errors.contains(words), "\(path): \(result.errors)")
                #expect(result.output.isEmpty)
            }
            // A page in a segment's place is left out, and said so.
            let result = try await MPStreamProgram.run(server.url("html.m3u8"))
            #expect(result.errors.contains("is no media but a page of HTML"), "\(result.errors)")
            #expect(result.output.isEmpty)
            #expect(result.status == 1 && result.errors.contains("no segment can be had"), "\(result.errors)")
            #expect(try await MPStreamProgram.run("file:///etc/passwd").status == 2)
            #expect(
                try await MPStreamProgram.run("--record", "x", "--serve", "http://127.0.0.1/").status == 2)
            #expect(try await MPStreamProgram.run("--max-rate", "fast", "http://127.0.0.1/").status == 2)
        }
    }
#endif
