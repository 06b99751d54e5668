#if HTTP
    import HTTPTypes
    import Multipath
    import NIOCore
    import TestSupport
    import Testing

    @testable import MultipathHTTP

    @Suite("A reader that does not read on", .needs("nginx", "openssl"), .timeLimit(.minutes(2)))
    struct SlowReaderTests {
        private static let length = 64 << 20

        /// What has come of a connection's answer, and what of that the reader could have: once neither grows any more.
        private func settled(
            _ response: MultipathHTTPResponse
        ) async throws -> (arrived: UInt64, handedOver: Int64) {
            var (latest, since) = ((UInt64(0), Int64(0)), ContinuousClock.now)
            while since.duration(to: .now) < .milliseconds(500) {
                try await Task.sleep(for: .milliseconds(20))
                let now = (response.record.bytesReceived, response.metrics.bodyBytesReceived)
                if now != latest || now.1 == 0 { (latest, since) = (now, .now) }
            }
            return latest
        }

        @Test(
            "has the server wait: what is kept for it is bounded, and then all of it comes",
            arguments: [HTTPRequestMetrics.ProtocolName.http2, .http1])
        func bounded(_ name: HTTPRequestMetrics.ProtocolName) async throws {
            let nginx = try await Nginx()
            try nginx.makeFile("long", of: Self.length)
            let client = nginx.client([name])
            let request = try MultipathHTTPClient.request(.get, nginx.url("/long"))
            let length = try await client.perform(request: request) { response, body in
                var parts = body.makeAsyncIterator()
                var length = try await parts.next()?.readableBytes ?? 0
                let (arrived, handedOver) = try await settled(response)
                // So many parts, and what one turn of the loop had read beyond.
                #expect(handedOver < 2 << 20, "\(handedOver)")
                if name == .http2 {
                    // The rest waits in the stream: its window, and the frames' heads.
                    let window = HTTPPipeline.Limits().streamWindow
                    #expect(arrived < UInt64(window + 2 << 20), "\(arrived)")
                    // Others are not held up.
                    let (other, page) = try await client.get(nginx.url("/"), collectUpTo: 100)
                    #expect(other.metrics.isReusedConnection)
                    #expect(page.readableBytes == 16)
                }
                while let part = try await parts.next() { length += part.readableBytes }
                return length
            }
            #expect(length == Self.length)
            await client.close()
        }

        @Test("gets what came together together, in however small chunks the server has cut it")
        func chunks() async throws {
            let chunks = String(repeating: "1\r\nx\r\n", count: 5_000)
            let server = try await RawServer(
                always: RawServer.Answer(
                    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n\(chunks)0\r\n\r\n"))
            try await MultipathHTTPClient.withClient { client in
                let request = try MultipathHTTPClient.request(.get, server.url())
                let (count, length) = try await client.perform(request: request) { _, body in
                    var (count, length) = (0, 0)
                    for try await part in body {
                        count += 1
                        length += part.readableBytes
                    }
                    return (count, length)
                }
                #expect(length == 5_000)
                // As many as its packets at the most.
                #expect(count <= 100, "\(count)")
            }
            await server.close()
        }

        @Test("holds nothing up that goes over the same connection, not even where there are twelve of them")
        func many() async throws {
            let nginx = try await Nginx()
            try nginx.makeFile("long", of: Self.length)
            let client = nginx.client([.http2])
            let request = try MultipathHTTPClient.request(.get, nginx.url("/long"))
            let (begun, beginning) = AsyncStream.makeStream(of: Void.self)
            let (ended, ending) = AsyncStream.makeStream(of: Void.self)
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<12 {
                    group.addTask {
                        try await client.perform(request: request) { response, _ in
                            _ = try await settled(response)
                            beginning.yield()
                            for await _ in ended {}
                        }
                    }
                }
                var waiting = begun.makeAsyncIterator()
                for _ in 0..<12 { await waiting.next() }
                let (response, page) = try await client.get(nginx.url("/"), collectUpTo: 100)
                #expect(response.metrics.isReusedConnection)
                #expect(page.readableBytes == 16)
                // All of them together, beside their windows.
                let most = 12 * (HTTPPipeline.Limits().streamWindow + 2 << 20)
                #expect(response.record.bytesReceived < UInt64(most), "\(response.record.bytesReceived)")
                ending.finish()
                try await group.waitForAll()
            }
            await client.close()
        }
    }
#endif
