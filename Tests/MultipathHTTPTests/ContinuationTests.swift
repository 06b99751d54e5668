#if HTTP
    import HTTPTypes
    import LinuxNet
    import NIOCore
    import TestSupport
    import Testing

    @testable import MultipathHTTP

    @Suite("An answer whose connection breaks, or is bettered, in the middle", .timeLimit(.minutes(1)))
    struct ContinuationTests {
        private static let data = (0..<600_000).map { UInt8(truncatingIfNeeded: $0 &* 31 ^ $0 >> 8) }

        /// One resource, of which each connection brings so many bytes before it closes.
        ///
        /// - Parameters:
        ///   - rest: the head of an answer that has the rest, from a byte on; nil for no answer.
        private func server(
            bringing piece: Int, tag: String? = "\"one\"",
            rest: @escaping @Sendable (Int) -> String? = {
                "HTTP/1.1 206 Partial Content\r\nETag: \"one\"\r\nContent-Range: bytes \($0)-599999/600000\r\n"
            }
        ) async throws -> RawServer {
            try await RawServer { _, request in
                let data = Self.data
                guard
                    let range = request.firstMatch(
                        of: #/(?i)\nrange: bytes=(\d+)-/#.matchingSemantics(.unicodeScalar)),
                    let start = Int(range.1)
                else {
                    var head = "HTTP/1.1 200 OK\r\nContent-Length: \(data.count)\r\n"
                    if let tag { head += "ETag: \(tag)\r\n" }
                    return .init(bytes: Array("\(head)\r\n".utf8) + data.prefix(piece), .closes)
                }
                guard let head = rest(start) else { return nil }
                let part = data[start..<min(start + piece, data.count)]
                return .init(
                    bytes: Array("\(head)Content-Length: \(data.count - start)\r\n\r\n".utf8) + part, .closes)
            }
        }

        @Test("goes on over another connection, each byte once")
        func breaks() async throws {
            let server = try await server(bringing: 250_000)
            try await MultipathHTTPClient.withClient { client in
                let (response, body) = try await client.get(server.url(), collectUpTo: 1_000_000)
                #expect(response.status == .ok)
                #expect(Array(body.readableBytesView) == Self.data)
                #expect(response.metrics.continuationCount == server.connections - 1)
                #expect(response.metrics.bodyBytesReceived == 600_000)
                #expect(response.metrics.retryCount == 0)
                #expect(response.metrics.responseEnd != nil)
            }
            let rest = server.requests.dropFirst()
            #expect(rest.count == 2 && rest.allSatisfy { $0.lowercased().contains("if-range: \"one\"") })
            await server.close()
        }

        @Test("goes on over a third connection where the second one breaks before its answer")
        func breaksAgain() async throws {
            let server = try await RawServer { connection, _ in
                switch connection {
                case 1:
                    let head = "HTTP/1.1 200 OK\r\nETag: \"one\"\r\nContent-Length: 600000\r\n\r\n"
                    return .init(bytes: Array(head.utf8) + Self.data.prefix(100_000), .closes)
                case 2: return .init(bytes: [], .closes)
                default:
                    let head =
                        "HTTP/1.1 206 X\r\nContent-Range: bytes 100000-599999/600000\r\nContent-Length: 500000\r\n\r\n"
                    return .init(bytes: Array(head.utf8) + Self.data.dropFirst(100_000))
                }
            }
            try await MultipathHTTPClient.withClient { client in
                let (response, body) = try await client.get(server.url(), collectUpTo: 1_000_000)
                #expect(Array(body.readableBytesView) == Self.data)
                #expect(response.metrics.continuationCount == 1)
            }
            #expect(server.connections == 3)
            await server.close()
        }

        @Test(
            "ends with the break's error where the request had content, which the rest would not be asked for with"
        )
        func content() async throws {
            let server = try await server(bringing: 100_000)
            try await MultipathHTTPClient.withClient { client in
                let request = try MultipathHTTPClient.request(.get, server.url())
                let error = await #expect(throws: MultipathHTTPError.self) {
                    try await client.perform(request: request, body: .text("which")) { _, body in
                        try await body.collect(upTo: 1_000_000)
                    }
                }
                #expect(error?.code == .bodyCutShort)
            }
            #expect(server.connections == 1)
            await server.close()
        }

        @Test("ends with the break's error after as many breaks as requests are sent again")
        func breaksOften() async throws {
            let server = try await server(bringing: 100_000)
            await MultipathHTTPClient.withClient { client in
                let error = await #expect(throws: MultipathHTTPError.self) {
                    try await client.get(server.url(), collectUpTo: 1_000_000)
                }
                #expect(error?.code == .bodyCutShort)
            }
            #expect(server.connections == 3)
            await server.close()
        }

        @Test("ends with the break's error where the resource has no strong tag")
        func unnamed() async throws {
            for tag in [nil, "W/\"one\""] {
                let server = try await server(bringing: 100_000, tag: tag)
                await MultipathHTTPClient.withClient { client in
                    let error = await #expect(throws: MultipathHTTPError.self) {
                        try await client.get(server.url(), collectUpTo: 1_000_000)
                    }
                    #expect(error?.code == .bodyCutShort)
                }
                #expect(server.connections == 1)
                await server.close()
            }
        }

        @Test(
            "takes no other version's bytes, nor another part's",
            arguments: [
                "HTTP/1.1 200 OK\r\nETag: \"two\"\r\n",
                "HTTP/1.1 206 Partial Content\r\nETag: \"two\"\r\nContent-Range: bytes 100000-599999/600000\r\n",
                "HTTP/1.1 206 Partial Content\r\nETag: \"one\"\r\nContent-Range: bytes 0-499999/600000\r\n",
                "HTTP/1.1 206 Partial Content\r\nETag: \"one\"\r\n", "HTTP/1.1 500 Oh\r\n", "nonsense\r\n",
            ])
        func lies(head: String) async throws {
            let server = try await server(bringing: 100_000) { _ in head }
            try await MultipathHTTPClient.withClient { client in
                let request = try MultipathHTTPClient.request(.get, server.url())
                let read = Locked([UInt8]())
                let error = await #expect(throws: MultipathHTTPError.self) {
                    try await client.perform(request: request) { _, body in
                        for try await part in body { read.withLock { $0 += part.readableBytesView } }
                    }
                }
                #expect(error?.code == .bodyCutShort)
                #expect(read.withLock { $0 } == Array(Self.data.prefix(100_000)))
            }
            await server.close()
        }

        @Test(
            "leaves a connection that brings no more, once there is a better one, and misses and repeats nothing",
            arguments: [1, 100_000])
        func superseded(after count: Int) async throws {
            let server = try await RawServer { connection, request in
                let data = Self.data
                if connection == 1 {
                    let head = "HTTP/1.1 200 OK\r\nETag: \"one\"\r\nContent-Length: 600000\r\n\r\n"
                    return .init(bytes: Array(head.utf8) + data.prefix(100_000))
                }
                let start = request.firstMatch(
                    of: #/(?i)\nrange: bytes=(\d+)-/#.matchingSemantics(.unicodeScalar)
                ).flatMap { Int($0.1) }
                guard let start else { return nil }
                let head =
                    "HTTP/1.1 206 X\r\nETag: \"one\"\r\nContent-Range: bytes \(start)-599999/600000\r\nContent-Length: \(600_000 - start)\r\n\r\n"
                return .init(bytes: Array(head.utf8) + data.dropFirst(start))
            }
            try await MultipathHTTPClient.withClient { client in
                let request = try MultipathHTTPClient.request(.get, server.url())
                let (metrics, read) = try await client.perform(request: request) { response, body in
                    var read: [UInt8] = []
                    for try await part in body {
                        let isBefore = read.count < count
                        read += part.readableBytesView
                        // Its reader waits by then.
                        if isBefore, read.count >= count {
                            let connection = body.source.carrier.lease.connection
                            _ = connection.connection.channel.eventLoop.scheduleTask(in: .milliseconds(20)) {
                                connection.supersede()
                            }
                        }
                    }
                    return (response.metrics, read)
                }
                #expect(read == Self.data)
                #expect(metrics.continuationCount == 1 && metrics.bodyBytesReceived == 600_000)
                #expect(metrics.responseEnd != nil)
            }
            #expect(server.connections == 2)
            await server.close()
        }

        @Test("is left where it is once its reader has gone, or its time is over")
        func abandoned() async throws {
            let server = try await RawServer { _, _ in
                let head = "HTTP/1.1 200 OK\r\nETag: \"one\"\r\nContent-Length: 600000\r\n\r\n"
                return .init(bytes: Array(head.utf8) + Self.data.prefix(100_000))
            }
            await MultipathHTTPClient.withClient { client in
                let error = await #expect(throws: MultipathHTTPError.self) {
                    let request = try MultipathHTTPClient.request(.get, server.url())
                    var options = HTTPRequestOptions()
                    options.requestTimeout = .milliseconds(500)
                    try await client.perform(request: request, options: options) { _, body in
                        for try await _ in body { break }
                        body.source.carrier.lease.connection.supersede()
                    }
                    try await client.perform(request: request, options: options) { _, body in
                        let connection = body.source.carrier.lease.connection
                        defer { connection.supersede() }
                        _ = try await body.collect(upTo: 1_000_000)
                    }
                }
                #expect(error?.code == .timedOut)
                // Another request, after which a rest would have been asked for.
                _ = try? await client.get(server.url(), collectUpTo: 1) {
                    $0.requestTimeout = .milliseconds(100)
                }
            }
            #expect(server.requests.count == 3)
            #expect(server.requests.allSatisfy { !$0.lowercased().contains("range:") })
            await server.close()
        }

        @Test("stays where it is when little is to come, or the better connection has no answer")
        func stays() async throws {
            for rest in [300_000, 100_000] {
                let server = try await RawServer { connection, request in
                    guard connection == 1 else {
                        return .init("HTTP/1.1 503 X\r\nContent-Length: 5\r\n\r\nlater")
                    }
                    let head = "HTTP/1.1 200 OK\r\nETag: \"one\"\r\nContent-Length: \(rest)\r\n\r\n"
                    return .init(bytes: Array(head.utf8) + Self.data.prefix(rest))
                }
                try await MultipathHTTPClient.withClient { client in
                    let request = try MultipathHTTPClient.request(.get, server.url())
                    let (read, metrics) = try await client.perform(request: request) { response, body in
                        body.source.carrier.lease.connection.supersede()
                        return (try await body.collect(upTo: 1_000_000), response.metrics)
                    }
                    #expect(metrics.bodyBytesReceived == rest && metrics.continuationCount == 0)
                    #expect(Array(read.readableBytesView) == Array(Self.data.prefix(rest)))
                }
                if rest < RestOfBody.leastMoved { #expect(server.connections == 1) }
                await server.close()
            }
        }

        @Test(
            "is no whole body where the rest is shorter, or longer, than the server has named",
            arguments: [499_999, 500_001])
        func otherLength(count: Int) async throws {
            let server = try await RawServer { connection, _ in
                if connection == 1 {
                    let head = "HTTP/1.1 200 OK\r\nETag: \"one\"\r\nContent-Length: 600000\r\n\r\n"
                    return .init(bytes: Array(head.utf8) + Self.data.prefix(100_000), .closes)
                }
                let head =
                    "HTTP/1.1 206 X\r\nContent-Range: bytes 100000-599999/600000\r\nTransfer-Encoding: chunked\r\n\r\n"
                let chunk = Array("\(String(count, radix: 16))\r\n".utf8)
                let bytes = [UInt8](repeating: 1, count: count)
                return .init(bytes: Array(head.utf8) + chunk + bytes + Array("\r\n0\r\n\r\n".utf8))
            }
            try await MultipathHTTPClient.withClient { client in
                let request = try MultipathHTTPClient.request(.get, server.url())
                let read = Locked(0)
                let error = await #expect(throws: MultipathHTTPError.self) {
                    try await client.perform(request: request) { _, body in
                        for try await part in body { read.withLock { $0 += part.readableBytes } }
                    }
                }
                #expect(error?.code == (count < 500_000 ? .bodyCutShort : .malformedAnswer))
                #expect(read.withLock { $0 } <= 600_000)
            }
            await server.close()
        }

        @Test("is over in time, and when its caller is cancelled, though the rest never comes")
        func ends() async throws {
            let server = try await server(bringing: 100_000) { _ in nil }
            try await MultipathHTTPClient.withClient { client in
                let error = await #expect(throws: MultipathHTTPError.self) {
                    try await client.get(server.url(), collectUpTo: 1_000_000) {
                        $0.requestTimeout = .milliseconds(500)
                    }
                }
                #expect(error?.code == .timedOut)
                let task = Task { try await client.get(server.url(), collectUpTo: 1_000_000) }
                while server.requests.count < 4 { try await Task.sleep(for: .milliseconds(5)) }
                task.cancel()
                await #expect(throws: CancellationError.self) { try await task.value }
            }
            await server.close()
        }
    }
#endif
