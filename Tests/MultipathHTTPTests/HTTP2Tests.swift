#if HTTP
    import HTTPTypes
    import Multipath
    import NIOCore
    import NIOEmbedded
    import NIOSSL
    import Synchronization
    import TestSupport
    import Testing

    @testable import MultipathHTTP

    /// Frames of HTTP/2 (RFC 9113 section 4), as a server may send them or must not.
    private enum Frame {
        static func make(
            _ type: UInt8, flags: UInt8 = 0, stream: UInt8 = 0, _ payload: [UInt8] = []
        ) -> [UInt8] {
            [0, UInt8(payload.count >> 8), UInt8(payload.count & 255), type, flags, 0, 0, 0, stream] + payload
        }

        static let settings = make(4)
        static let settingsAcknowledged = make(4, flags: 1)
        static func goAway(_ code: UInt8 = 0) -> [UInt8] { make(7, [0, 0, 0, 0, 0, 0, 0, code]) }
        static let ping = make(6, [1, 2, 3, 4, 5, 6, 7, 8])
        static func reset(_ stream: UInt8, _ code: UInt8) -> [UInt8] {
            make(3, stream: stream, [0, 0, 0, code])
        }
        /// Status 200, by its place in HPACK's table.
        static let ok = make(1, flags: 4, stream: 1, [0x88])
        static func body(_ text: String) -> [UInt8] { make(0, flags: 1, stream: 1, Array(text.utf8)) }
        static func many(_ count: Int, _ frame: [UInt8]) -> [UInt8] {
            Array((0..<count).map { _ in frame }.joined())
        }

        /// Whether a request's head is among what a client has sent, its preface first.
        static func hasRequest(_ bytes: ByteBuffer) -> Bool { all(bytes).contains { $0.type == 1 } }

        /// How long the frame is that ends the first stream; nil before it has come.
        static func lengthOfLast(_ bytes: ByteBuffer) -> Int? {
            // DATA and HEADERS have END_STREAM.
            all(bytes).first { $0.type <= 1 && $0.flags & 1 != 0 && $0.stream == 1 }?.length
        }

        private static func all(
            _ bytes: ByteBuffer
        ) -> [(type: UInt8, flags: UInt8, stream: UInt8, length: Int)] {
            var (bytes, found) = (bytes, [(type: UInt8, flags: UInt8, stream: UInt8, length: Int)]())
            // The preface is 24 bytes long (RFC 9113 section 3.4).
            guard bytes.readSlice(length: 24) != nil else { return [] }
            while let header = bytes.readBytes(length: 9) {
                let length = Int(header[0]) << 16 | Int(header[1]) << 8 | Int(header[2])
                found.append((header[3], header[4], header[8], length))
                guard bytes.readSlice(length: length) != nil else { break }
            }
            return found
        }
    }

    @Suite("HTTP/2", .needs("openssl"), .timeLimit(.minutes(1)))
    struct HTTP2Tests {
        /// - Parameter isRequest: when it answers.
        private func server(
            _ certificates: TestCertificates,
            isRequest: @escaping @Sendable (Int, ByteBuffer) -> Bool = { Frame.hasRequest($1) },
            _ manner: @escaping RawServer.Manner
        ) async throws -> RawServer {
            var configuration = try TLSConfiguration.makeServerConfiguration(
                certificateChain: NIOSSLCertificate.fromPEMFile(certificates.chain("good")).map {
                    .certificate($0)
                },
                privateKey: .privateKey(NIOSSLPrivateKey(file: certificates.key, format: .pem)))
            configuration.applicationProtocols = ["h2"]
            return try await RawServer(
                tls: NIOSSLContext(configuration: configuration), isRequest: isRequest, manner)
        }

        private func client(_ certificates: TestCertificates) -> MultipathHTTPClient {
            var configuration = MultipathHTTPClient.Configuration()
            configuration.tls.trustRoots = .file(certificates.root)
            return MultipathHTTPClient(configuration: configuration)
        }

        private static let hello = Frame.settings + Frame.settingsAcknowledged

        private static let good = RawServer.Answer(bytes: hello + Frame.ok + Frame.body("good"))

        @Test(
            "sends a request again that the server did not process, whatever its method",
            arguments: [HTTPRequest.Method.get, .post])
        func goAway(_ method: HTTPRequest.Method) async throws {
            let certificates = try await TestCertificates(addresses: ["127.0.0.1"])
            let server = try await server(certificates) { connection, _ in
                guard connection == 1 else { return Self.good }
                return RawServer.Answer(bytes: Self.hello + Frame.goAway())
            }
            let client = client(certificates)
            let request = try MultipathHTTPClient.request(method, "https://127.0.0.1:\(server.port)/")
            let (response, body) = try await client.collect(
                request, method == .post ? .text("x") : nil, 100, HTTPRequestOptions())
            #expect(String(buffer: body) == "good")
            #expect(response.metrics.retryCount == 1)
            #expect(response.metrics.protocolName == .http2)
            #expect(server.connections == 2)
            await client.close()
            await server.close()
        }

        @Test(
            "ends a request with its last frame, and not with an empty one of its own",
            arguments: [HTTPRequestOptions.Decompression.enabled(), .disabled], ["", "a body"])
        func endsRequests(_ decompression: HTTPRequestOptions.Decompression, _ text: String) async throws {
            let certificates = try await TestCertificates(addresses: ["127.0.0.1"])
            let last = Mutex<Int?>(nil)
            let server = try await server(certificates) { _, bytes in
                guard let length = Frame.lengthOfLast(bytes) else { return false }
                last.withLock { $0 = length }
                return true
            } _: { _, _ in
                Self.good
            }
            let client = client(certificates)
            let request = try MultipathHTTPClient.request(
                text.isEmpty ? .get : .post, "https://127.0.0.1:\(server.port)/")
            var options = HTTPRequestOptions()
            options.decompression = decompression
            let (_, body) = try await client.collect(request, text.isEmpty ? nil : .text(text), 100, options)
            #expect(String(buffer: body) == "good")
            let length = try #require(last.withLock { $0 })
            if text.isEmpty { #expect(length > 0) } else { #expect(length == text.utf8.count) }
            await client.close()
            await server.close()
        }

        @Test(
            "takes a request that was written for HTTP/1.1, and sends nothing of it that is about a connection"
        )
        func connectionFields() async throws {
            let certificates = try await TestCertificates(addresses: ["127.0.0.1"])
            let server = try await server(certificates) { _, bytes in
                Frame.lengthOfLast(bytes) != nil
            } _: { _, _ in
                Self.good
            }
            var request = try MultipathHTTPClient.request(.get, "https://127.0.0.1:\(server.port)/")
            request.scheme = "HTTPS"
            for (name, value) in [
                ("Connection", "keep-alive, X-Hop"), ("X-Hop", "1"), ("Keep-Alive", "timeout=5"),
                ("Proxy-Connection", "keep-alive"), ("Transfer-Encoding", "chunked"),
                ("Upgrade", "websocket"),
                ("TE", "gzip"),
            ] {
                request.headerFields[try #require(HTTPField.Name(name))] = value
            }
            let fields = request.headerFields
            let text = HTTPRequestBody.once { writer in
                try await writer.write("a body".utf8)
                writer.setTrailers(fields)
            }
            for written in [nil, text] {
                // The server knows the first stream alone.
                let client = client(certificates)
                let (response, body) = try await client.collect(request, written, 100, HTTPRequestOptions())
                #expect(String(buffer: body) == "good")
                #expect(response.metrics.protocolName == .http2)
                #expect(response.metrics.retryCount == 0)
                await client.close()
            }
            var translated = request
            translated.translateToHTTP2()
            #expect(
                translated == (try MultipathHTTPClient.request(.get, "https://127.0.0.1:\(server.port)/")))
            translated.headerFields[.te] = "trailers"
            translated.translateToHTTP2()
            #expect(translated.headerFields[.te] == "trailers")
            await server.close()
        }

        @Test("sends nothing more to a server that goes, and leaves the others there alone")
        func goingServer() throws {
            let channel = EmbeddedChannel()
            channel.connect(to: try SocketAddress(ipAddress: "127.0.0.1", port: 443), promise: nil)
            let pipeline = try HTTPPipeline.http2(on: channel, HTTPPipeline.Limits())
            let request = try MultipathHTTPClient.request(.post, "https://127.0.0.1/")
            let exchanges = (0..<2).map { _ in
                Exchange(
                    request, .none, stallTimeout: .seconds(60), decompression: .disabled,
                    record: MetricsRecord())
            }
            pipeline.begin(exchanges[0])
            let goAway = Frame.make(7, [0, 0, 0, 1, 0, 0, 0, 0])
            try channel.writeInbound(ByteBuffer(bytes: Self.hello + goAway))
            // It was leased just before that was heard.
            pipeline.begin(exchanges[1])
            #expect(exchanges[1].isOver && !exchanges[1].progress.isSent)
            #expect(channel.isActive && !exchanges[0].isOver)
            _ = try? channel.finish(acceptAlreadyClosed: true)
        }

        @Test("has no answer where the stream ends behind an interim one, however late that is asked for")
        func headless() async throws {
            let exchange = Exchange(
                try MultipathHTTPClient.request(.get, "https://127.0.0.1/"), .none,
                stallTimeout: .seconds(60),
                decompression: .disabled, record: MetricsRecord())
            exchange.ended(nil)
            let error = await #expect(throws: MultipathHTTPError.self) { _ = try await exchange.head() }
            #expect(error?.code == .malformedAnswer)
        }

        /// What a server sends after its settings.
        static let floods: [(name: String, bytes: [UInt8])] = [
            ("settings", Frame.many(5_000, Frame.settings)), ("pings", Frame.many(5_000, Frame.ping)),
            (
                "continuations",
                Frame.make(1, stream: 1, [0x88]) + Frame.many(5_000, Frame.make(9, stream: 1, []))
            ),
            ("resets", Frame.many(5_000, Frame.reset(1, 8))),
            ("a window that overflows", Frame.make(8, [0x7F, 0xFF, 0xFF, 0xFF])),
            ("empty data", Frame.ok + Frame.many(5_000, Frame.make(0, stream: 1))),
            ("a stream that was never opened", Frame.make(0, stream: 7, [1])),
            ("a frame that is too long", [0xFF, 0xFF, 0xFF, 0, 0, 0, 0, 0, 1]),
            ("settings of half a length", Frame.make(4, [1, 2, 3])),
            ("a push, which was switched off", Frame.make(5, flags: 4, stream: 1, [0, 0, 0, 2, 0x88])),
            ("a head without a status", Frame.make(1, flags: 4, stream: 1, [0x84])),
            (
                "a status that is no number",
                Frame.make(1, flags: 4, stream: 1, [0x08, 3] + Array("2xx".utf8))
            ),
            ("a status below zero", Frame.make(1, flags: 4, stream: 1, [0x08, 2] + Array("-1".utf8))),
            ("a status of nothing", Frame.make(1, flags: 4, stream: 1, [0x08, 0])),
            (
                "a status of one digit, and another head",
                Frame.make(1, flags: 4, stream: 1, [0x08, 1] + Array("1".utf8)) + Frame.ok
            ),
            (
                "a field before the status",
                Frame.make(
                    1, flags: 4, stream: 1, [0x00, 1] + Array("a".utf8) + [1] + Array("b".utf8) + [0x88])
            ),
            ("an error of the connection", Frame.goAway(1)),
            ("a reset", Frame.reset(1, 2)),
        ]

        @Test(
            "ends with an error of its own where the server breaks its rules or floods it", arguments: floods)
        func ends(_ name: String, _ bytes: [UInt8]) async throws {
            let certificates = try await TestCertificates(addresses: ["127.0.0.1"])
            let server = try await server(certificates) { connection, _ in
                guard connection == 1 else { return Self.good }
                return RawServer.Answer(bytes: Self.hello + bytes)
            }
            let client = client(certificates)
            let error = await #expect(throws: MultipathHTTPError.self) {
                try await client.get("https://127.0.0.1:\(server.port)/", collectUpTo: 1 << 20) {
                    $0.stallTimeout = .seconds(5)
                    $0.maximumRetries = 0
                }
            }
            let codes: [MultipathHTTPError.Code] =
                name.contains("error of the connection")
                ? [.refused, .http2] : name.hasPrefix("a status") ? [.malformedAnswer] : [.http2]
            #expect(error.map { codes.contains($0.code) } == true, "\(name): \(error?.description ?? "")")
            if name != "a reset" {
                let (_, body) = try await client.get("https://127.0.0.1:\(server.port)/", collectUpTo: 100)
                #expect(String(buffer: body) == "good")
                #expect(server.connections == 2, "\(name)")
            }
            await client.close()
            await server.close()
        }

        @Test(
            "takes no compressed body for whole that is none, though its stream ends as it should",
            arguments: [Array(GzipBomb.bytes.prefix(20)), Array("hello".utf8)])
        func compressed(_ body: [UInt8]) async throws {
            let certificates = try await TestCertificates(addresses: ["127.0.0.1"])
            // `:status: 200`, and content-encoding, which is number 26 of the static table (RFC 7541 appendix A).
            let head = Frame.make(1, flags: 4, stream: 1, [0x88, 0x0F, 0x0B, 4] + Array("gzip".utf8))
            let server = try await server(certificates) { _, _ in
                RawServer.Answer(bytes: Self.hello + head + Frame.make(0, flags: 1, stream: 1, body))
            }
            let client = client(certificates)
            let error = await #expect(throws: MultipathHTTPError.self) {
                try await client.get("https://127.0.0.1:\(server.port)/", collectUpTo: 100 << 20) {
                    $0.maximumRetries = 0
                }
            }
            #expect(error?.code == .invalidCompression)
            await client.close()
            await server.close()
        }

        @Test(
            "answers HEAD, and says that nothing has changed, also of what would be compressed",
            arguments: [200, 304])
        func withoutBody(_ status: Int) async throws {
            let certificates = try await TestCertificates(addresses: ["127.0.0.1"])
            // :status 200 and 304 are numbers 8 and 11 of the static table.
            let fields: [UInt8] = [status == 200 ? 0x88 : 0x8B, 0x0F, 0x0B, 4] + Array("gzip".utf8)
            let secure = try await server(certificates) { _, _ in
                RawServer.Answer(bytes: Self.hello + Frame.make(1, flags: 5, stream: 1, fields))
            }
            let plain = try await RawServer(
                always: .init("HTTP/1.1 \(status) x\r\nContent-Encoding: gzip\r\nContent-Length: 20\r\n\r\n"))
            let client = client(certificates)
            for url in ["https://127.0.0.1:\(secure.port)/", plain.url()] {
                let request = try MultipathHTTPClient.request(status == 200 ? .head : .get, url)
                let (response, body) = try await client.collect(request, nil, 100, HTTPRequestOptions())
                #expect(response.head.status.code == status && body.readableBytes == 0)
            }
            await client.close()
            for server in [secure, plain] { await server.close() }
        }

        @Test("keeps nobody waiting where the answer comes before the request, and is none", arguments: 1...8)
        func unread(_ run: Int) async throws {
            let certificates = try await TestCertificates(addresses: ["127.0.0.1"])
            let unasked = Frame.make(1, flags: 4, stream: 1, [0x08, 3] + Array("2xx".utf8))
            let server = try await server(
                certificates, isRequest: { $0 == 1 || Frame.hasRequest($1) }
            ) { connection, _ in
                connection == 1 ? RawServer.Answer(bytes: Self.hello + unasked) : Self.good
            }
            let client = client(certificates)
            // Whether the first request was under way already is a matter of microseconds.
            _ = try? await client.get("https://127.0.0.1:\(server.port)/", collectUpTo: 100) {
                $0.maximumRetries = 0
            }
            let (_, body) = try await client.get("https://127.0.0.1:\(server.port)/", collectUpTo: 100)
            #expect(String(buffer: body) == "good")
            await client.close()
            await server.close()
        }
    }
#endif
