#if HTTP
    import Foundation
    import TestSupport
    import Testing

    /// What mpstream writes to, and what reads from it.
    @Suite("mpstream's output", .serialized, .needs("python3", "curl"))
    struct OutputTests {
        private static let live = "made/0.m3u8?live=1&duration=120&segment=0.5"
        private static let short = "made/0.m3u8?duration=4&segment=1"

        private func record(_ server: StreamServer, _ path: String, to file: String) throws -> Running {
            try Running([MPStreamProgram.path, "--record", file, server.url(path)])
        }

        @Test("gets a recording's name at its end: until then an older one stays, and no other writes to it")
        func recording() async throws {
            let server = try await StreamServer()
            let (file, part) = (server.folder.file("film.ts"), server.folder.file("film.ts.part"))
            try server.folder.write("older", to: "film.ts")
            func size(_ path: String) -> Int {
                (try? FileManager.default.attributesOfItem(atPath: path)[.size] as? Int) ?? -1
            }
            // One that is killed leaves the older one.
            let killed = try record(server, Self.live, to: file)
            try await Program.wait("some of it", within: .seconds(60)) { size(part) > 0 }
            #expect(try server.folder.text("film.ts") == "older")
            killed.kill()
            _ = try await killed.result()
            #expect(try server.folder.text("film.ts") == "older" && size(part) > 0)
            try server.folder.remove("film.ts.part")
            let recording = try record(server, Self.live, to: file)
            try await Program.wait("some of it", within: .seconds(60)) { size(part) > 0 }
            let second = try await record(server, Self.short, to: file).result(within: .seconds(60))
            #expect(second.status == 1)
            #expect(second.errors.contains("which another recording has"), "\(second.errors)")
            #expect(try server.folder.text("film.ts") == "older")
            // What the user ends is a recording, too.
            recording.signal(SIGINT)
            #expect(try await recording.result(within: .seconds(60)).status == 130)
            #expect(size(file) > 0 && size(file) % 188 == 0 && size(part) == -1)
            // What can't be had takes no recording's place.
            let before = size(file)
            #expect(try await record(server, "none.m3u8", to: file).result(within: .seconds(60)).status == 1)
            #expect(size(file) == before && size(part) == -1)
        }

        @Test("that is full or closed ends the stream, and says so")
        func full() async throws {
            let server = try await StreamServer()
            let full = try await Program.run(
                [
                    "bash", "-c", "exec \"$0\" --json \"$1\" > /dev/full", MPStreamProgram.path,
                    server.url(Self.short),
                ])
            #expect(full.status == 1)
            let report = try MPStreamProgram.report(full)
            #expect(report.outcome == "failed")
            #expect(report.error?.contains("No space left on device") == true, "\(full.errors)")
            // A live stream, whose reader goes soon.
            let closed = try await Program.run([
                "bash", "-c", "set -o pipefail; \"$0\" \"$1\" | head -c 1000 > /dev/null",
                MPStreamProgram.path,
                server.url(Self.live),
            ])
            #expect(closed.status == 1 && closed.errors.isEmpty, "\(closed.errors)")
        }

        @Test("keeps what was recorded on a disk that is full", .needsNamespaces)
        func fullDisk() async throws {
            let server = try await StreamServer()
            try server.folder.makeFolder("disk")
            let result = try await Program.run([
                "unshare", "--map-root-user", "--mount", "bash", "-c",
                """
                mount -t tmpfs -o size=120k tmpfs "$1" && "$0" --record "$1/film.ts" "$2"
                status=$?; ls "$1"; exit $status
                """, MPStreamProgram.path, server.folder.file("disk"), server.url(Self.short),
            ])
            #expect(result.status == 1)
            #expect(result.outputText == "film.ts.part\n")
            #expect(result.errors.contains("No space left on device"), "\(result.errors)")
        }

        @Test("at a local address gives nothing to a page in a browser, and plays on whatever comes")
        func badClients() async throws {
            let server = try await StreamServer()
            let serving = try Running([
                MPStreamProgram.path, "--serve", "--json", server.url("made/0.m3u8?duration=10&segment=1"),
            ])
            try await Program.wait("the address", within: .seconds(60)) {
                serving.errorText.contains("stream.m3u8")
            }
            let address = try #require(
                serving.errorText.split(separator: "\"").first { $0.hasSuffix("/stream.m3u8") }.map(
                    String.init))
            let base = String(address.dropLast("stream.m3u8".count))
            let origin = base.split(separator: "/").prefix(2).joined(separator: "//")
            let port = try #require(origin.split(separator: ":").last.map(String.init))
            func status(_ words: String...) async throws -> String {
                try await Program.run(
                    ["curl", "-s", "-m", "10", "-o", "/dev/null", "-w", "%{http_code}", "--path-as-is"]
                        + words
                ).outputText
            }
            #expect(try await status("\(origin)/stream.m3u8") == "404")
            #expect(try await status("\(origin)/0/stream.m3u8") == "404")
            #expect(try await status("\(base)../../etc/passwd") == "404")
            #expect(try await status("\(base)segment-99999999999999999999.ts") == "404")
            #expect(try await status("\(base)segment--1.ts") == "404")
            #expect(try await status("\(base)init-1.mp4") == "404")
            #expect(try await status("-X", "POST", "-d", "x=1", address) == "405")
            #expect(try await status("-H", "Host: pages.example", address) == "404")
            // What is no request, or none that ends.
            let odd = try await Program.run(
                [
                    "bash", "-c",
                    """
                    for each in {1..20}; do exec {silent}<>"/dev/tcp/127.0.0.1/$0"; done
                    for text in 'garbage\\r\\n\\r\\n' 'GET / HTTP/9.9\\r\\n\\r\\n' '\\x00\\x01\\x02\\xff' 'POST / HTTP/1.1\\r\\nContent-Length: -1\\r\\n\\r\\n'; do
                        exec 3<>"/dev/tcp/127.0.0.1/$0"; printf "$text" >&3; timeout 1 cat <&3 > /dev/null; exec 3>&-
                    done
                    exec 3<>"/dev/tcp/127.0.0.1/$0"; (printf 'GET / HTTP/1.1\\r\\n'; head -c 3000000 /dev/zero | tr '\\0' a) >&3 2> /dev/null
                    exit 0
                    """, port,
                ])
            #expect(odd.status == 0, "\(odd.errors)")
            // A player that behaves gets everything.
            var (played, next, isEnded) = (Data(), 0, false)
            try await Program.wait("the stream's end", within: .seconds(60)) {
                let playlist = try await Program.run(["curl", "-s", "-m", "10", address]).outputText
                isEnded = playlist.contains("#EXT-X-ENDLIST")
                while playlist.contains("\nsegment-\(next).ts\n") {
                    played += try await Program.run(["curl", "-s", "-m", "10", "\(base)segment-\(next).ts"])
                        .output
                    next += 1
                }
                return isEnded
            }
            #expect(next == 10)
            let whole = try await MPStreamProgram.run(server.url("made/0.m3u8?duration=10&segment=1"))
            #expect(played == whole.output)
            #expect(try await serving.result(within: .seconds(60)).status == 0, "\(serving.errorText)")
        }
    }
#endif
