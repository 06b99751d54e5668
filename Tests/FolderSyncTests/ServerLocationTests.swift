import Testing

@testable import FolderSync

@Suite("The URL of a server's folder") struct ServerLocationTests {
    private let location: ServerLocation

    init() throws { location = try ServerLocation("https://Cloud.example/dav/a%20b/") }

    @Test("a path goes out in percent signs, and comes back as it was")
    func roundTrip() throws {
        for name in [
            "a b", "100%41", "ä", "a\u{308}", "new\nline", "#?;&+", "\u{301}b",
            String(repeating: "x", count: 255),
        ] {
            let path = try SyncPath("d/\(name)")
            #expect(location.reference(location.encoded(path, isFolder: false)) == .path(path))
            #expect(location.reference(location.url(path, isFolder: true)) == .path(path))
        }
        #expect(location.reference("/dav/a%20b") == .root)
        #expect(location.reference("https://cloud.example:443/dav/a%20b/x/") == .path(try SyncPath("x")))
    }

    @Test(
        "what leads elsewhere or is no name is not usable",
        arguments: [
            "/dav/a%20b/../secret", "/dav/a%20b/%2e%2e/secret", "/dav/a%20b/.", "/dav/a%20b/x%2Fy",
            "/etc/passwd",
            "/dav/a%20b/x%00", "/dav/a%20b//x", "http://cloud.example/dav/a%20b/x",
            "https://evil.example/dav/a%20b/x", "https://cloud.example:8443/dav/a%20b/x", "x",
            "/dav/a%20b/%ff",
            "/dav/a%20b/%zz", "/dav/a%20b/" + String(repeating: "x", count: 256), "/dav/a%20bc/x",
            "/dav/a%20b/" + String(repeating: "x/", count: 2_000) + "y",
        ])
    func lies(_ href: String) {
        switch location.reference(href) {
        case .unusable, .elsewhere: break
        default: Issue.record("\(href) was taken as \(location.reference(href))")
        }
    }

    @Test(
        "what is no server's URL says so",
        arguments: ["cloud.example", "ftp://x/", "https:///x", "https://a@b/", "https://b/?x"])
    func urls(_ url: String) { #expect(throws: FolderSyncError.self) { try ServerLocation(url) } }

    @Test("only 127.0.0.0/8 and its names are this machine")
    func loopback() throws {
        #expect(try ServerLocation("http://127.0.0.1:80/").isLoopback)
        #expect(try !ServerLocation("http://127.evil.example/").isLoopback)
    }

    @Test("Unicode's two forms of a letter are two files")
    func forms() throws {
        #expect(try SyncPath("\u{E9}") != SyncPath("e\u{301}"))
        #expect(try Set([SyncPath("\u{E9}"), SyncPath("e\u{301}")]).count == 2)
    }

    @Test("a loser's name keeps its ending, is new, and has no more than 255 bytes")
    func conflictNames() throws {
        let path = try SyncPath("d/photo.jpg")
        #expect(path.conflictName("me") { _ in false }.text == "d/photo (conflict of me).jpg")
        #expect(path.conflictName("me") { !$0.text.contains(" 2)") }.text == "d/photo (conflict of me 2).jpg")
        let long = try SyncPath(String(repeating: "ä", count: 127))
        #expect(long.conflictName("me") { _ in false }.text.utf8.count <= 255)
    }

    @Test("HTTP's dates are read, and what is none is not")
    func dates() {
        #expect(HTTPTime.seconds("Sun, 06 Nov 1994 08:49:37 GMT") == 784_111_777)
        #expect(HTTPTime.seconds("Thu, 29 Feb 2024 00:00:00 GMT") == 1_709_164_800)
        #expect(HTTPTime.text(784_111_777) == "Sun, 06 Nov 1994 08:49:37 GMT")
        #expect(HTTPTime.text(1_709_164_800) == "Thu, 29 Feb 2024 00:00:00 GMT")
        for text in ["", "now", "Sun, 99 Nov 1994 08:49:37 GMT", "Sun, 06 Nov 99999 08:49:37 GMT"] {
            #expect(HTTPTime.seconds(text) == nil)
        }
    }
}
