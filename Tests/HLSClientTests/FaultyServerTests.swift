#if HTTP
    import Foundation
    import TestSupport
    import Testing

    /// The built program against a server that does what servers should not (`scripts/hls-server.py`, FAULTS). A stream has six
    /// segments of 94,000 bytes, of which the third meets the fault.
    @Suite("mpstream, where the server does what it should not", .serialized, .needs("python3", "curl"))
    struct FaultyServerTests {
        private static let length = 94_000

        /// What becomes of the third segment.
        enum Outcome: Sendable {
            /// It comes whole; so often it goes on by a range.
            case whole(continued: Int)
            /// It is left out, and so much is said of it.
            case leftOut(String)
        }

        private func play(
            _ fault: String, on server: StreamServer, _ words: String = ""
        ) async throws -> Program.Result {
            try await MPStreamProgram.run("--json", server.url("faulty/\(fault)/index.m3u8\(words)"))
        }

        private func segment(_ number: Int, of output: Data) -> Data {
            output.dropFirst(number * Self.length).prefix(Self.length)
        }

        private static let outcomes: [(fault: String, outcome: Outcome)] = [
            ("none", .whole(continued: 0)), ("cut", .whole(continued: 4)),
            ("cut-anew", .whole(continued: 1)), ("silent", .whole(continued: 1)),
            ("refused-range", .whole(continued: 1)), ("busy", .whole(continued: 0)),
            ("redirect", .whole(continued: 0)), ("wrong-types", .whole(continued: 0)),
            ("ranges", .whole(continued: 0)), ("ranges-ignored", .whole(continued: 0)),
            ("cut-elsewhere", .leftOut("206 for a request without a range")),
            ("cut-always", .leftOut("it never comes whole")),
            ("error", .leftOut("the server answered 500")),
            ("missing", .leftOut("the server answered 404")),
            ("page", .leftOut("is no media but a page of HTML")),
            ("empty", .leftOut("the server sent nothing")),
            ("endless", .leftOut("it is longer than the limit of 134217728 bytes")),
            ("too-long", .leftOut("it has 1099511627776 bytes, more than the limit of 134217728")),
            ("redirect-file", .leftOut("'file:///etc/passwd' is no place to go to")),
            ("redirect-ring", .leftOut("redirects lead back to 2.ts")),
            ("key-missing", .leftOut("the server answered 404")),
            ("key-short", .leftOut("a key has 15 bytes instead of 16")),
            ("key-page", .leftOut("a key has 28 bytes instead of 16")),
            ("key-wrong", .leftOut("a segment can't be decrypted")),
        ]

        @Test("has the rest of a segment, or leaves it out and says why; all others come whole")
        func segments() async throws {
            let server = try await StreamServer()
            let sound = try await play("none", on: server).output
            try #require(sound.count == 6 * Self.length)
            for (fault, outcome) in Self.outcomes {
                let result = try await play(fault, on: server)
                let report = try MPStreamProgram.report(result)
                #expect(result.status == 0 && report.outcome == "ended", "\(fault): \(result.errors)")
                switch outcome {
                case .whole(let continued):
                    #expect(result.output == sound, "\(fault)")
                    #expect(report.segments == 6 && report.skipped == 0, "\(fault)")
                    #expect(report.continued == continued, "\(fault): \(result.errors)")
                case .leftOut(let reason):
                    #expect(
                        result.output == sound.prefix(2 * Self.length) + sound.dropFirst(3 * Self.length),
                        "\(fault)")
                    #expect(report.segments == 5 && report.skipped == 1, "\(fault)")
                    let reasons = try MPStreamProgram.events(result.errors).filter {
                        $0["event"] as? String == "skipped"
                    }.compactMap { $0["reason"] as? String }
                    #expect(reasons.count == 1 && reasons[0].contains(reason), "\(fault): \(reasons)")
                }
            }
        }

        @Test(
            "takes a segment that changed in the middle as it is now, and mixes no two; and one that is another film's",
            arguments: ["cut-changed", "jump"])
        func changed(fault: String) async throws {
            let server = try await StreamServer()
            let result = try await play(fault, on: server)
            let sound = try await play("none", on: server).output
            #expect(result.status == 0 && result.output.count == sound.count, "\(result.errors)")
            let third = segment(2, of: result.output)
            #expect(third != segment(2, of: sound))
            // Each of its packets is the same.
            #expect(third.prefix(188) == third.suffix(188))
            #expect(segment(3, of: result.output) == segment(3, of: sound))
        }

        @Test("decrypts what has a key that comes late", .needs("openssl"))
        func lateKey() async throws {
            let server = try await StreamServer()
            let result = try await play("key-busy", on: server)
            #expect(result.status == 0, "\(result.errors)")
            #expect(result.output == (try await play("none", on: server).output))
        }

        @Test("leaves out a range of bytes that the file has not got, once for all")
        func beyond() async throws {
            let server = try await StreamServer()
            let result = try await play("ranges-beyond", on: server)
            #expect(result.status == 0 && result.output.count == 5 * Self.length, "\(result.errors)")
            #expect(
                result.errors.contains("the server has 564000 bytes, the playlist wants those up to 611000"),
                "\(result.errors)")
            #expect(try await server.requests().filter { $0.path.hasSuffix("all.ts") }.count == 6)
        }

        @Test("ends with the reason where nothing can be played")
        func unplayable() async throws {
            let server = try await StreamServer()
            for (fault, reason) in [
                ("map-missing", "no segment can be had; the last: the server answered 404"),
                ("playlist-endless", "the playlist is longer than 16777216 bytes"),
                ("playlist-zip", "the body can't be decompressed"),
                ("playlist-ring", "redirects lead back to index.m3u8"),
            ] {
                let result = try await play(fault, on: server)
                let report = try MPStreamProgram.report(result)
                #expect(result.status == 1 && result.output.isEmpty, "\(fault)")
                #expect(report.outcome == "failed", "\(fault)")
                #expect(report.error?.contains(reason) == true, "\(fault): \(result.errors)")
            }
        }

        @Test("tries again where the playlist can't be had at once")
        func latePlaylist() async throws {
            let server = try await StreamServer()
            let result = try await play("playlist-busy", on: server)
            #expect(result.status == 0 && result.output.count == 6 * Self.length, "\(result.errors)")
        }

        @Test("goes on at a live window that has moved, and says how much is missing")
        func window() async throws {
            let server = try await StreamServer()
            let result = try await play("window", on: server)
            let report = try MPStreamProgram.report(result)
            #expect(result.status == 0, "\(result.errors)")
            // Three of the first window, all of the last.
            #expect(report.segments == 9 && report.skipped == 14, "\(result.errors)")
            #expect(result.errors.contains("14 segments are gone from the playlist"))
        }

        @Test("sends credentials to the stream's own server alone: not where a URI leads, nor a redirect")
        func credentials() async throws {
            let (server, other) = (try await StreamServer(), try await StreamServer())
            for fault in ["away", "redirect-away"] {
                let result = try await MPStreamProgram.run(
                    "-H", "Authorization: Bearer secret", "-H", "Cookie: a=b", "-H", "User-Agent: picky",
                    server.url("faulty/\(fault)/index.m3u8?other=\(other.port)"))
                #expect(result.status == 0 && result.output.count == 6 * Self.length, "\(result.errors)")
            }
            let (ours, theirs) = (try await server.requests(), try await other.requests())
            #expect(ours.count == 13 && ours.allSatisfy(\.credentials))
            #expect(theirs.count == 2 && theirs.allSatisfy { !$0.credentials })
            // Other fields go everywhere.
            #expect((ours + theirs).allSatisfy { $0.agent == "picky" })
        }
    }
#endif
