#if HTTP
    import HTTPTypes
    import Testing

    @testable import MultipathHTTP

    @Suite("The rest of an answer's body")
    struct RestOfBodyTests {
        private func answer(_ status: Int, _ fields: [HTTPField.Name: String] = [:]) -> HTTPResponse {
            var response = HTTPResponse(status: .init(code: status))
            for (name, value) in fields { response.headerFields[name] = value }
            return response
        }

        private func request(
            _ method: HTTPRequest.Method = .get, _ fields: [HTTPField.Name: String] = [:]
        )
            -> HTTPRequest
        {
            var request = HTTPRequest(method: method, scheme: "http", authority: "a", path: "/film")
            for (name, value) in fields { request.headerFields[name] = value }
            return request
        }

        private let whole: [HTTPField.Name: String] = [.eTag: "\"1\"", .contentLength: "1000"]

        @Test(
            "is asked for from the first byte that is missing on, of the same version, uncompressed and without conditions"
        )
        func asks() throws {
            let first = request(.get, [.ifNoneMatch: "\"0\"", .acceptEncoding: "gzip", .authorization: "b"])
            let rest = try #require(RestOfBody(of: answer(200, whole), to: first)).request(after: 400)
            #expect(rest.headerFields[.range] == "bytes=400-999")
            #expect(rest.headerFields[.ifRange] == "\"1\"")
            #expect(rest.headerFields[.acceptEncoding] == "identity")
            #expect(rest.headerFields[.ifNoneMatch] == nil)
            #expect(rest.headerFields[.authorization] == "b" && rest.path == "/film")
        }

        @Test("of a part ends where the part would have")
        func part() throws {
            let part = answer(206, [.eTag: "\"1\"", .contentRange: "bytes 100-299/1000"])
            let rest = try #require(RestOfBody(of: part, to: request(.get, [.range: "bytes=100-299"])))
            #expect(rest.length == 200)
            #expect(rest.request(after: 50).headerFields[.range] == "bytes=150-299")
        }

        @Test(
            "is not asked for where it could be of something else",
            arguments: [
                [.eTag: "W/\"1\"", .contentLength: "1000"], [.contentLength: "1000"], [.eTag: "\"1\""],
                [.eTag: "\"1\"", .contentLength: "1000", .contentEncoding: "gzip"],
                [.eTag: "\"1\"", .contentLength: "1000", .acceptRanges: "none"],
                // Nginx's tag, of what was written a moment ago.
                [
                    .eTag: "\"2ebc98b3-3e8\"", .contentLength: "1000",
                    .lastModified: "Sun, 06 Nov 1994 08:49:55 GMT", .date: "Sun, 06 Nov 1994 08:49:56 GMT",
                ],
            ] as [[HTTPField.Name: String]])
        func unnamed(fields: [HTTPField.Name: String]) {
            #expect(RestOfBody(of: answer(200, fields), to: request()) == nil)
        }

        @Test("is asked for of GET alone, and of an answer that has content")
        func others() {
            #expect(RestOfBody(of: answer(200, whole), to: request(.post)) == nil)
            #expect(RestOfBody(of: answer(200, whole), to: request(.head)) == nil)
            #expect(RestOfBody(of: answer(404, whole), to: request()) == nil)
            #expect(RestOfBody(of: answer(206, [.eTag: "\"1\""]), to: request()) == nil)
            let contradiction: [HTTPField.Name: String] = [
                .eTag: "\"1\"", .contentRange: "bytes 100-299/1000", .contentLength: "900",
            ]
            #expect(RestOfBody(of: answer(206, contradiction), to: request()) == nil)
        }

        @Test(
            "is taken from the same version's part alone, which begins and ends where it should",
            arguments: [
                (206, [.contentRange: "bytes 400-999/1000", .eTag: "\"1\""], true),
                (206, [.contentRange: "bytes 400-999/1000"], true),
                (206, [.contentRange: "bytes 400-999/*", .eTag: "W/\"1\""], true),
                (206, [.contentRange: "bytes 400-999/1000", .eTag: "\"2\""], false),
                (206, [.contentRange: "bytes 399-999/1000", .eTag: "\"1\""], false),
                (206, [.contentRange: "bytes 400-998/1000", .eTag: "\"1\""], false),
                (206, [.contentRange: "bytes 400-999/1001", .eTag: "\"1\""], false),
                (206, [.contentRange: "bytes 400-999/1000", .contentEncoding: "gzip"], false),
                (206, [.contentRange: "bytes 400-999/1000", .contentLength: "599"], false),
                (206, [.eTag: "\"1\""], false), (200, [.eTag: "\"1\"", .contentLength: "1000"], false),
                (416, [.contentRange: "bytes */1000"], false), (304, [.eTag: "\"1\""], false),
                (503, [:], false),
            ] as [(Int, [HTTPField.Name: String], Bool)])
        func takes(status: Int, fields: [HTTPField.Name: String], isIt: Bool) throws {
            let rest = try #require(RestOfBody(of: answer(200, whole), to: request()))
            #expect(rest.isContinued(by: answer(status, fields), after: 400) == isIt)
        }
    }
#endif
