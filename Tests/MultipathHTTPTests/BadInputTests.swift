#if HTTP
    import HTTPTypes
    import NIOCore
    import Testing

    @testable import MultipathHTTP

    @Suite("Bad input over HTTP/1.1", .timeLimit(.minutes(1)))
    struct BadInputTests {
        private static let gzipBomb: [UInt8] = GzipBomb.bytes

        /// What a server says, how it ends, and what the client says of it.
        static let cases: [(name: String, RawServer.Answer, MultipathHTTPError.Code)] = [
            ("no HTTP at all", .init("SSH-2.0-OpenSSH_9.2\r\n"), .malformedAnswer),
            (
                "HTTP/2 where HTTP/1.1 was agreed", .init(bytes: [0, 0, 0, 4, 0, 0, 0, 0, 0]),
                .malformedAnswer
            ),
            ("a status of letters", .init("HTTP/1.1 abc OK\r\n\r\n"), .malformedAnswer),
            ("a field without a colon", .init("HTTP/1.1 200 OK\r\nnonsense\r\n\r\n"), .malformedAnswer),
            (
                "a field's name with a space before the colon",
                .init("HTTP/1.1 200 OK\r\nContent-Length : 2\r\n\r\nok"), .malformedAnswer
            ),
            ("half a head", .init("HTTP/1.1 200 OK\r\nContent-", .closes), .malformedAnswer),
            (
                "two lengths", .init("HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\nabc"),
                .invalidLength
            ),
            (
                "chunks and a length",
                .init("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Length: 2\r\n\r\n0\r\n\r\n"),
                .invalidLength
            ),
            (
                // The parser has no name of its own for this order.
                "a length and chunks",
                .init("HTTP/1.1 200 OK\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
                .malformedAnswer
            ),
            (
                "a negative length", .init("HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n"), .invalidLength
            ),
            (
                "a body shorter than its length",
                .init("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc", .closes), .bodyCutShort
            ),
            (
                "a body without its last chunk",
                .init("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n", .closes),
                .bodyCutShort
            ),
            (
                "a chunk whose length is no number",
                .init("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nabc\r\n"), .malformedAnswer
            ),
            (
                "a head larger than allowed",
                .init("HTTP/1.1 200 OK\r\nX: \(String(repeating: "a", count: 100_000))\r\n\r\n"),
                .headTooLarge
            ),
            (
                "a head with too many fields",
                .init("HTTP/1.1 200 OK\r\n\(String(repeating: "X: a\r\n", count: 1_000))\r\n"), .headTooLarge
            ),
            (
                "a compressed body that swells without end",
                .init(
                    bytes: Array(
                        "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: \(gzipBomb.count)\r\n\r\n"
                            .utf8) + gzipBomb), .decompressionLimit
            ),
            (
                "a body that is not compressed, though it says so",
                .init("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 5\r\n\r\nhello"),
                .invalidCompression
            ),
            (
                "a compressed body that ends early",
                .init(
                    bytes: Array(
                        "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 20\r\n\r\n".utf8)
                        + gzipBomb.prefix(20)), .invalidCompression
            ),
            (
                "another protocol, unasked",
                .init("HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n"),
                .unexpectedUpgrade
            ),
            ("nothing", .init("", .closes), .connectionLost),
            ("a reset", .init("", .resets), .connectionLost),
        ]

        @Test("each is an error of its own, and its connection is not used again", arguments: cases)
        func each(_ name: String, _ answer: RawServer.Answer, _ code: MultipathHTTPError.Code) async throws {
            let server = try await RawServer { connection, request in
                request.hasPrefix("GET /good") ? .ok("good") : answer
            }
            try await MultipathHTTPClient.withClient { client in
                let error = await #expect(throws: MultipathHTTPError.self) {
                    try await client.get(server.url("/bad"), collectUpTo: 1 << 20) {
                        $0.stallTimeout = .seconds(5)
                        $0.maximumRetries = 0
                        // Fixed codes make 159 of one at best.
                        $0.decompression = .enabled(maximumRatio: 100)
                    }
                }
                #expect(error?.code == code, "\(name): \(error?.description ?? "")")
                let before = server.connections
                let (response, body) = try await client.get(server.url("/good"), collectUpTo: 1 << 20)
                #expect(response.status == .ok)
                #expect(String(buffer: body) == "good")
                #expect(server.connections == before + 1, "\(name)")
                #expect(!response.metrics.isReusedConnection)
            }
            await server.close()
        }

        @Test("a head that never ends is cut off by its size, not by time")
        func endlessHead() async throws {
            let server = try await RawServer(
                always: .init(
                    "HTTP/1.1 200 OK\r\n" + String(repeating: "X-\(0): 12345678\r\n", count: 100_000)))
            await MultipathHTTPClient.withClient { client in
                let error = await #expect(throws: MultipathHTTPError.self) {
                    try await client.get(server.url(), collectUpTo: 10)
                }
                #expect(error?.code == .headTooLarge)
            }
            await server.close()
        }

        @Test("a server that says nothing is an error after the stall's time")
        func silence() async throws {
            let server = try await RawServer { _, _ in nil }
            await MultipathHTTPClient.withClient { client in
                let error = await #expect(throws: MultipathHTTPError.self) {
                    try await client.get(server.url(), collectUpTo: 10) {
                        $0.stallTimeout = .milliseconds(200)
                    }
                }
                #expect(error?.code == .stalled)
                let late = await #expect(throws: MultipathHTTPError.self) {
                    try await client.get(server.url(), collectUpTo: 10) {
                        $0.requestTimeout = .milliseconds(200)
                    }
                }
                #expect(late?.code == .timedOut)
            }
            await server.close()
        }

        @Test("bytes that were not asked for end an idle connection")
        func unasked() async throws {
            let server = try await RawServer { connection, _ in
                connection == 1
                    ? .init(
                        "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nokHTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil"
                    )
                    : .ok("good")
            }
            try await MultipathHTTPClient.withClient { client in
                let first = try await client.get(server.url(), collectUpTo: 100)
                #expect(String(buffer: first.body) == "ok")
                // What came too much is never the answer to the next request.
                let second = try await client.get(server.url(), collectUpTo: 100)
                #expect(String(buffer: second.body) == "good")
            }
            await server.close()
        }

        @Test("redirects that lead back are a loop")
        func redirectLoop() async throws {
            let server = try await RawServer { _, request in
                let to = request.hasPrefix("GET /a") ? "/b" : "/a"
                return .init("HTTP/1.1 302 Found\r\nLocation: \(to)\r\nContent-Length: 0\r\n\r\n")
            }
            await MultipathHTTPClient.withClient { client in
                let error = await #expect(throws: MultipathHTTPError.self) {
                    try await client.get(server.url("/a"), collectUpTo: 10)
                }
                #expect(error?.code == .redirectLoop)
                #expect(server.connections == 1)
            }
            await server.close()
        }

        @Test(
            "what can't be sent is an error before anything is",
            arguments: [
                "ftp://server.example/", "http://", "http://user@server.example/", "http://server.example:0/",
                "http://server.example:70000/", "http:///path", "nonsense", "http://server.example/a b", "",
            ])
        func urls(_ url: String) async throws {
            await MultipathHTTPClient.withClient { client in
                let error = await #expect(throws: MultipathHTTPError.self) {
                    try await client.get(url, collectUpTo: 10)
                }
                #expect(error?.code == .invalidURL, "\(url)")
            }
        }
    }

    /// 10 MB of zeros, compressed to 10 kB by `python3 -c 'import gzip; …'` in the form of deflate's own pieces.
    enum GzipBomb {
        /// A gzip header, then one block of fixed codes: a zero, and matches of 258 bytes at a distance of 1.
        static let bytes: [UInt8] = {
            var (bytes, bits, count) = ([UInt8](), UInt32(0), 0)
            bytes = [0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 255]
            func put(_ value: UInt32, _ length: Int) {
                for place in 0..<length {
                    bits |= (value >> UInt32(place) & 1) << UInt32(count)
                    count += 1
                    if count == 8 {
                        bytes.append(UInt8(bits))
                        (bits, count) = (0, 0)
                    }
                }
            }
            /// Huffman codes go out from their highest bit.
            func code(_ value: UInt32, _ length: Int) {
                for place in (0..<length).reversed() { put(value >> UInt32(place) & 1, 1) }
            }
            put(1, 1)  // The last block,
            put(1, 2)  // with fixed codes (RFC 1951 section 3.2.6).
            code(0x30, 8)  // The byte 0.
            for _ in 0..<40_000 {
                code(0b1100_0101, 8)  // A match of 258 bytes,
                code(0, 5)  // at a distance of 1.
            }
            code(0, 7)  // The end of the block.
            put(0, 7)  // The rest of the last byte.
            return bytes + [0, 0, 0, 0, 0, 0, 0, 0]
        }()
    }
#endif
