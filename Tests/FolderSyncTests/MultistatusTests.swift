#if HTTP && Outbox
    import Foundation
    import Testing

    @testable import FolderSync

    @Suite("A WebDAV server's listing") struct MultistatusTests {
        private func read(_ text: String) throws -> [Multistatus.Response] {
            try Multistatus(Data(text.utf8)).responses
        }

        @Test("a listing is read, whatever prefix its names have, with the properties that are there")
        func listing() throws {
            let responses = try read(
                """
                <?xml version="1.0"?><x:multistatus xmlns:x="DAV:"><x:response><x:href>/a%20b/</x:href><x:propstat>
                <x:prop><x:resourcetype><x:collection/></x:resourcetype></x:prop><x:status>HTTP/1.1 200 OK</x:status>
                </x:propstat><x:propstat><x:prop><x:getetag/></x:prop><x:status>HTTP/1.1 404 Not Found</x:status>
                </x:propstat></x:response><x:response><x:href> /a&amp;c </x:href><x:propstat><x:prop>
                <x:getetag>"1"</x:getetag><x:getcontentlength>7</x:getcontentlength><x:resourcetype/></x:prop>
                <x:status>HTTP/1.1 200 OK</x:status></x:propstat></x:response></x:multistatus>
                """)
            #expect(responses.map(\.href) == ["/a%20b/", "/a&c"])
            #expect(responses.map(\.isFolder) == [true, false])
            #expect(responses[1].tag == "\"1\"" && responses[1].size == 7)
        }

        @Test(
            "a length that no file has is none",
            arguments: ["-1", "9223372036854775807", "18014398509481984", "x"])
        func length(_ text: String) throws {
            let responses = try read(
                """
                <D:multistatus xmlns:D="DAV:"><D:response><D:href>/a</D:href><D:propstat><D:prop>
                <D:getcontentlength>\(text)</D:getcontentlength></D:prop><D:status>HTTP/1.1 200 OK</D:status></D:propstat>
                </D:response></D:multistatus>
                """)
            #expect(responses.map(\.size) == [nil])
        }

        private func listing(_ responses: String) throws -> WebDAVClient.Listing {
            try WebDAVClient.listing(
                read("<D:multistatus xmlns:D=\"DAV:\">\(responses)</D:multistatus>"), of: SyncPath("d"),
                at: ServerLocation("http://localhost/dav/"))
        }

        private func response(_ href: String, isFolder: Bool = false, status: Int = 200) -> String {
            """
            <D:response><D:href>\(href)</D:href><D:propstat><D:prop><D:resourcetype>\(isFolder ? "<D:collection/>" : "")\
            </D:resourcetype></D:prop><D:status>HTTP/1.1 \(status) x</D:status></D:propstat></D:response>
            """
        }

        @Test("what a listing does not tell of is unknown, not gone")
        func unknown() throws {
            let own = response("/dav/d/", isFolder: true)
            #expect(try listing(own).isEmptyFolder)
            for missing in ["", response("/dav/d/a"), response("http://other/dav/d/", isFolder: true)] {
                #expect(throws: Multistatus.Malformed.self) { try listing(missing) }
            }
            let refused =
                "<D:response><D:href>/dav/d/a</D:href><D:status>HTTP/1.1 403 x</D:status></D:response>"
            for child in [refused, response("/dav/d/a", isFolder: true, status: 403)] {
                let found = try listing(own + child)
                #expect(try !found.isEmptyFolder && found.children.map(\.path) == [SyncPath("d/a")])
                #expect(found.children.allSatisfy { $0.item == nil })
            }
            for stray in ["/dav/e/a", "/elsewhere", "/dav/"] {
                #expect(try listing(own + response(stray)).doubt != nil)
            }
            // A server that folds names may list the folder in another form.
            #expect(
                try listing(response("/dav/D/", isFolder: true) + response("/dav/D/a")).children.map(\.path)
                    == [SyncPath("d/a")])
        }

        @Test(
            "what is no listing is an error of its own",
            arguments: [
                ("<html><body>Welcome<br></body></html>", "no XML"), ("<html/>", "no answer to PROPFIND"),
                ("", "no XML"), ("<D:multistatus xmlns:D=\"DAV:\">", "no XML"), ("a\u{0}b", "not UTF-8"),
                ("<!DOCTYPE a [<!ENTITY b \"c\">]><a>&b;</a>", "document type"),
                (
                    "<D:multistatus xmlns:D=\"DAV:\">" + String(repeating: "<D:a>", count: 100)
                        + String(repeating: "</D:a>", count: 100) + "</D:multistatus>", "too deep"
                ),
                (
                    "<D:multistatus xmlns:D=\"DAV:\"><D:response><D:href>"
                        + String(repeating: "a", count: 20_000)
                        + "</D:href></D:response></D:multistatus>", "too long"
                ),
            ])
        func bad(_ text: String, _ reason: String) {
            #expect {
                try read(text)
            } throws: {
                "\($0)".contains(reason)
            }
        }
    }
#endif
