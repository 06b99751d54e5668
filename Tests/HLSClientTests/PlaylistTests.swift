import Foundation
import TestSupport
import Testing

@testable import HLSClient

private let base = URL(string: "https://media.example/films/one/index.m3u8?token=a%20b")!

private func parse(
    _ text: String, from url: URL = base, limits: PlaylistParser.Limits = .init()
) throws -> Playlist {
    try PlaylistParser.parse(Array(text.utf8), from: url, limits: limits)
}

private func media(_ lines: String) throws -> MediaPlaylist {
    guard case .media(let playlist) = try parse("#EXTM3U\n#EXT-X-TARGETDURATION:6\n" + lines) else {
        throw PlaylistError(line: 0, reason: "this is no media playlist")
    }
    return playlist
}

/// What the parser says against a text; nil where it takes it.
private func objection(
    _ text: String, from url: URL = base, limits: PlaylistParser.Limits = .init()
) -> String? {
    do {
        _ = try parse(text, from: url, limits: limits)
        return nil
    } catch {
        return "\(error)"
    }
}

@Suite("A playlist")
struct PlaylistTests {
    @Test("names segments with their numbers, durations and places")
    func segments() throws {
        let playlist = try media(
            """
            #EXT-X-VERSION:3\r
            #EXT-X-MEDIA-SEQUENCE:7\r
            #EXTINF:5.005,A title, with a comma\r
            a.ts\r

            # a comment
            #EXT-X-SOMETHING-NEW:YES
            #EXTINF:3
            /b.ts?x=1
            #EXT-X-ENDLIST
            """)
        #expect(playlist.segments.map(\.number) == [7, 8])
        #expect(playlist.segments.map(\.duration) == [5.005, 3])
        #expect(
            playlist.segments.map(\.resource.url.absoluteString)
                == ["https://media.example/films/one/a.ts", "https://media.example/b.ts?x=1"])
        #expect(playlist.isEnded)
        #expect(playlist.targetDuration == 6)
        #expect(playlist.endSequence == 9)
    }

    @Test("has ranges of bytes, the next of which begins where the one before ends")
    func byteRanges() throws {
        let playlist = try media(
            """
            #EXTINF:2,
            #EXT-X-BYTERANGE:100@50
            a.ts
            #EXTINF:2,
            #EXT-X-BYTERANGE:30
            a.ts
            """)
        #expect(playlist.segments.map(\.resource.range?.start) == [50, 150])
        #expect(playlist.segments.map(\.resource.range?.end) == [150, 180])
    }

    @Test("has an initialization section until it names another")
    func initialization() throws {
        let playlist = try media(
            """
            #EXT-X-MAP:URI="init.mp4",BYTERANGE="720@0"
            #EXTINF:2,
            a.m4s
            #EXTINF:2,
            b.m4s
            #EXT-X-DISCONTINUITY
            #EXT-X-MAP:URI="init2.mp4"
            #EXTINF:2,
            c.m4s
            """)
        #expect(
            playlist.segments.map { $0.initialization?.url.lastPathComponent } == [
                "init.mp4", "init.mp4", "init2.mp4",
            ])
        #expect(playlist.segments[0].initialization?.range == MediaPlaylist.ByteRange(start: 0, length: 720))
        #expect(playlist.segments.map(\.isDiscontinuous) == [false, false, true])
    }

    @Test("has keys whose vectors are the segments' numbers where it names none")
    func keys() throws {
        let playlist = try media(
            """
            #EXT-X-MEDIA-SEQUENCE:258
            #EXT-X-KEY:METHOD=AES-128,URI="k1"
            #EXTINF:2,
            a.ts
            #EXT-X-KEY:METHOD=AES-128,URI="k2",IV=0x000102030405060708090A0b0c0d0e0f
            #EXTINF:2,
            b.ts
            #EXT-X-KEY:METHOD=NONE
            #EXTINF:2,
            c.ts
            """)
        let encryptions = playlist.segments.map(\.resource.encryption)
        #expect(encryptions[0]?.initializationVector == Array(repeating: 0, count: 14) + [1, 2])
        #expect(encryptions[1]?.initializationVector == Array(0...15))
        #expect(encryptions[1]?.keyURL.lastPathComponent == "k2")
        #expect(encryptions[2] == nil)
    }

    @Test("dates its segments from the last date on")
    func dates() throws {
        let playlist = try media(
            """
            #EXT-X-PROGRAM-DATE-TIME:2026-02-19T14:54:23.500+01:00
            #EXTINF:2.5,
            a.ts
            #EXTINF:2,
            b.ts
            """)
        #expect(playlist.segments.map(\.date) == [1_771_509_263.5, 1_771_509_266])
    }

    @Test("names variants, with their rates and the groups of their sound")
    func variants() throws {
        let playlist = try parse(
            """
            #EXTM3U
            #EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID="aac",NAME="English",DEFAULT=YES,URI="en/index.m3u8"
            #EXT-X-STREAM-INF:BANDWIDTH=2000000,AVERAGE-BANDWIDTH=1500000,CODECS="avc1.4d401f,mp4a.40.2",RESOLUTION=1280x720,AUDIO="aac"
            high.m3u8
            #EXT-X-I-FRAME-STREAM-INF:BANDWIDTH=1,URI="i.m3u8"
            #EXT-X-STREAM-INF:BANDWIDTH=500000
            low.m3u8
            """)
        guard case .multivariant(let streams) = playlist else {
            Issue.record("this is no playlist of variants")
            return
        }
        #expect(streams.variants.map(\.rate) == [1_500_000, 500_000])
        #expect(streams.variants.map(\.resolution) == ["1280x720", nil])
        #expect(streams.variants.map(\.audioGroup) == ["aac", nil])
        #expect(streams.renditions.first?.url?.lastPathComponent == "index.m3u8")
    }

    @Test("may use variables that it defines, also from its own URL")
    func variables() throws {
        let text = """
            #EXTM3U
            #EXT-X-TARGETDURATION:2
            #EXT-X-DEFINE:NAME="host",VALUE="cdn.example"
            #EXT-X-DEFINE:QUERYPARAM="token"
            #EXTINF:2,
            https://{$host}/a.ts?t={$token}
            """
        let place = try #require(URL(string: "https://media.example/index.m3u8?token=abc"))
        guard case .media(let playlist) = try parse(text, from: place) else { return }
        #expect(playlist.segments.first?.resource.url.absoluteString == "https://cdn.example/a.ts?t=abc")
    }

    @Test(
        "that is none says where and why",
        arguments: [
            ("", "line 1: this is no playlist: it does not begin with #EXTM3U"),
            ("<html><body>404</body></html>", "line 1: this is no playlist: it does not begin with #EXTM3U"),
            ("\u{FEFF}#EXTM3U\n", "line 1: this is no playlist: it does not begin with #EXTM3U"),
            ("#EXTM3U\n", "the playlist names nothing to play"),
            ("#EXTM3U\n#EXTINF:2,\na.ts\n", "the playlist has no EXT-X-TARGETDURATION"),
            ("#EXTM3U\na.ts\n", "line 2: a URI has neither EXTINF nor EXT-X-STREAM-INF"),
            (
                "#EXTM3U\n#EXT-X-TARGETDURATION:2\n#EXTINF:2,",
                "line 3: the playlist is cut: behind its last tag a URI is missing"
            ),
            ("#EXTM3U\n#EXT-X-TARGETDURATION:-2\n", "line 2: EXT-X-TARGETDURATION is no number of seconds"),
            ("#EXTM3U\n#EXTINF:nan,\na.ts", "line 2: EXTINF is no duration: 'nan,'"),
            ("#EXTM3U\n#EXTINF:-1,\na.ts", "line 2: EXTINF is no duration: '-1,'"),
            ("#EXTM3U\n#EXTINF:1e300,\na.ts", "line 2: EXTINF is no duration: '1e300,'"),
            (
                "#EXTM3U\n#EXT-X-MEDIA-SEQUENCE:99999999999999999999\n",
                "line 2: EXT-X-MEDIA-SEQUENCE is no number"
            ),
            (
                "#EXTM3U\n#EXTINF:1,\n#EXT-X-BYTERANGE:9007199254740992@0\na\n#EXTINF:1,\n#EXT-X-BYTERANGE:9007199254740992\na",
                "line 7: EXT-X-BYTERANGE ends beyond any file"
            ),
            ("#EXTM3U\n#EXTINF:1,\n#EXT-X-BYTERANGE:0@0\na.ts", "line 3: EXT-X-BYTERANGE is no range"),
            (
                "#EXTM3U\n#EXTINF:1,\n#EXT-X-BYTERANGE:5\na.ts",
                "line 4: EXT-X-BYTERANGE does not say where it begins"
            ),
            (
                "#EXTM3U\n#EXTINF:1,\nfile:///etc/passwd",
                "line 3: 'file:///etc/passwd': only http and https are places for media"
            ),
            (
                "#EXTM3U\n#EXTINF:1,\ndata:text/plain,x",
                "line 3: 'data:text/plain,x': only http and https are places for media"
            ),
            (
                "#EXTM3U\n#EXTINF:1,\nhttp://media.example/a.ts",
                "line 3: 'http://media.example/a.ts' leads from https to http"
            ),
            (
                "#EXTM3U\n#EXTINF:1,\nhttps://me:secret@media.example/a.ts",
                "line 3: 'https://me:secret@media.example/a.ts' names no host, or a user with it"
            ),
            (
                "#EXTM3U\n#EXT-X-KEY:METHOD=AES-128,URI=\"file:///etc/shadow\"\n",
                "line 2: 'file:///etc/shadow': only http and https are places for media"
            ),
            ("#EXTM3U\n#EXT-X-KEY:METHOD=AES-128,URI=\"k\",IV=0x12zz\n", "line 2: IV is no 128 bits"),
            (
                "#EXTM3U\n#EXT-X-KEY:METHOD=SAMPLE-AES,URI=\"k\"\n#EXTINF:1,\na.ts",
                "line 4: the encryption SAMPLE-AES is not supported, only AES-128 is"
            ),
            (
                "#EXTM3U\n#EXT-X-STREAM-INF:RESOLUTION=1x1\na.m3u8",
                "line 2: EXT-X-STREAM-INF has no BANDWIDTH"
            ),
            (
                "#EXTM3U\n#EXT-X-STREAM-INF:BANDWIDTH=1,BANDWIDTH=2\na",
                "line 2: the attribute BANDWIDTH stands there twice"
            ),
            (
                "#EXTM3U\n#EXT-X-STREAM-INF:BANDWIDTH=1,CODECS=\"a\n",
                "line 2: the quotes of CODECS are not closed"
            ),
            (
                "#EXTM3U\n#EXT-X-STREAM-INF:BANDWIDTH=1\na.m3u8\n#EXTINF:1,\nb.ts",
                "the playlist names both variants and segments"
            ),
            (
                "#EXTM3U\n#EXT-X-DEFINE:NAME=\"a\",VALUE=\"b\"\n#EXTINF:1,\n{$c}.ts",
                "line 4: the variable c is not defined"
            ),
            (
                "#EXTM3U\n#EXT-X-SKIP:SKIPPED-SEGMENTS=3\n",
                "line 2: the server sent a part of the playlist (EXT-X-SKIP) unasked"
            ),
        ])
    func objections(text: String, words: String) {
        #expect(objection(text) == words)
    }

    @Test("has limits: of bytes, segments, variants and of a URI's length")
    func limits() {
        var limits = PlaylistParser.Limits()
        (limits.bytes, limits.segments, limits.variants) = (300, 3, 2)
        let segments =
            "#EXTM3U\n#EXT-X-TARGETDURATION:1\n" + String(repeating: "#EXTINF:1,\na.ts\n", count: 4)
        #expect(objection(segments, limits: limits) == "line 10: there are more than 3 segments")
        let variants = "#EXTM3U\n" + String(repeating: "#EXT-X-STREAM-INF:BANDWIDTH=1\na\n", count: 3)
        #expect(objection(variants, limits: limits) == "line 7: there are more than 2 variants")
        #expect(
            objection("#EXTM3U\n" + String(repeating: "#", count: 400), limits: limits)
                == "the playlist is longer than 300 bytes")
        #expect(
            objection("#EXTM3U\n#EXTINF:1,\n" + String(repeating: "a", count: 9_000))
                == "line 3: a URI is longer than 8,192 bytes")
    }

    @Test(
        "of millions of empty lines takes no more memory than its bytes",
        .enabled(if: !Requirement.isSanitized, "sanitizers take memory of their own"))
    func emptyLines() throws {
        func peak() throws -> Int {
            let status = try String(contentsOfFile: "/proc/self/status", encoding: .utf8)
            let line = status.split(separator: "\n").first { $0.hasPrefix("VmHWM:") }
            return line.flatMap { Int($0.filter(\.isNumber)) }.map { $0 << 10 } ?? 0
        }
        let bytes = Array("#EXTM3U\n".utf8) + Array(repeating: UInt8(ascii: "\n"), count: 4 << 20)
        let before = try peak()
        #expect(throws: PlaylistError.self) { try PlaylistParser.parse(bytes, from: base) }
        #expect(try peak() - before < 64 << 20)
    }

    @Test("that is cut anywhere, or has any byte changed, is an error or a playlist, and nothing worse")
    func damaged() {
        let text = """
            #EXTM3U
            #EXT-X-TARGETDURATION:6
            #EXT-X-DEFINE:NAME="a",VALUE="b"
            #EXT-X-KEY:METHOD=AES-128,URI="k",IV=0x01
            #EXT-X-MAP:URI="init.mp4",BYTERANGE="720@0"
            #EXT-X-PROGRAM-DATE-TIME:2026-02-19T14:54:23.500Z
            #EXTINF:5.0,
            #EXT-X-BYTERANGE:30@4
            {$a}.ts
            #EXT-X-STREAM-INF:BANDWIDTH=1,CODECS="x"
            v.m3u8
            """
        let bytes = Array(text.utf8)
        for length in 0..<bytes.count { _ = try? PlaylistParser.parse(bytes[..<length], from: base) }
        var random = SplitMix64(seed: 20)
        for _ in 0..<3_000 {
            var copy = bytes
            for _ in 0..<Int.random(in: 1...4, using: &random) {
                copy[Int.random(in: 0..<copy.count, using: &random)] = UInt8.random(
                    in: 0...255, using: &random)
            }
            _ = try? PlaylistParser.parse(copy, from: base)
        }
    }
}

@Suite("A segment's first bytes")
struct MediaFormatTests {
    @Test("show what it is")
    func formats() {
        #expect(MediaFormat(prefix: [0x47, 0x40, 0x11, 0x10]) == .mpegTS)
        #expect(MediaFormat(prefix: [0, 0, 0, 24] + Array("stypmsdh".utf8)) == .fragmentedMP4)
        #expect(MediaFormat(prefix: Array("ID3".utf8) + [4, 0]) == .packedAudio)
        #expect(MediaFormat(prefix: [0xFF, 0xF1, 0x50, 0x80]) == .packedAudio)
        #expect(MediaFormat(prefix: Array("WEBVTT\n".utf8)) == .webVTT)
    }

    @Test("show that it is a page of HTML, a playlist, or nothing")
    func others() {
        for (text, words) in [
            ("<!DOCTYPE html><p>", "a page of HTML"), ("\n <html>", "a page of HTML"),
            ("#EXTM3U\n", "a playlist"),
            ("", "nothing"), ("not found", "bytes of no known format"),
        ] {
            #expect(MediaFormat(prefix: Array(text.utf8)) == nil)
            #expect(MediaFormat.words(Array(text.utf8)) == words)
        }
    }
}
