#if HTTP
    import HTTPTypes
    import LinuxNet
    import NIOCore
    import Testing

    @testable import MultipathHTTP

    @Suite("The HTTP client", .timeLimit(.minutes(1)))
    struct ClientTests {
        @Test("gets a resource, and uses the connection again")
        func get() async throws {
            let server = try await RawServer(always: .ok("hello"))
            try await MultipathHTTPClient.withClient { client in
                for round in 0..<3 {
                    let (response, body) = try await client.get(server.url("/a?b=c"), collectUpTo: 100)
                    #expect(response.status == .ok)
                    #expect(String(buffer: body) == "hello")
                    #expect(response.metrics.isReusedConnection == (round > 0))
                    #expect(response.metrics.protocolName == .http1)
                    #expect(response.metrics.bodyBytesReceived == 5)
                    #expect(response.metrics.responseEnd != nil)
                }
            }
            #expect(server.connections == 1)
            #expect(server.requests.allSatisfy { $0.hasPrefix("GET /a?b=c HTTP/1.1\r\n") })
            #expect(server.requests.allSatisfy { $0.contains("Host: 127.0.0.1:\(server.port)\r\n") })
            await server.close()
        }

        @Test("sends a body with its length, once where its connection breaks")
        func post() async throws {
            let server = try await RawServer { connection, request in
                request.contains("PUT") && connection == 1 ? .init("", .closes) : .ok("thanks")
            }
            try await MultipathHTTPClient.withClient { client in
                var request = try MultipathHTTPClient.request(.put, server.url("/x"))
                request.headerFields[.contentType] = "text/plain"
                // PUT is idempotent: it is sent again.
                let (response, _) = try await client.collect(
                    request, .text("hello"), 100, HTTPRequestOptions())
                #expect(response.status == .ok)
                #expect(response.metrics.retryCount == 1)
                #expect(server.requests.count == 2)
                #expect(
                    server.requests.allSatisfy {
                        $0.contains("Content-Length: 5\r\n") && $0.hasSuffix("\r\n\r\nhello")
                    })
            }
            await server.close()
            let breaking = try await RawServer(always: .init("", .closes))
            await MultipathHTTPClient.withClient { client in
                let error = await #expect(throws: MultipathHTTPError.self) {
                    try await client.post(breaking.url(), body: .text("x"), collectUpTo: 10)
                }
                #expect(error?.code == .connectionLost)
                #expect(error?.establishment?.host == "127.0.0.1")
            }
            #expect(breaking.requests.count == 1)
            await breaking.close()
        }

        @Test("streams a body of unknown length in chunks, with trailers")
        func chunks() async throws {
            let received = Locked("")
            let server = try await RawServer { _, request in
                received.withLock { $0 += request }
                return nil
            }
            let client = MultipathHTTPClient()
            let task = Task {
                try await client.post(
                    server.url(),
                    body: .restartable { writer in
                        try await writer.write("hello ".utf8)
                        try await writer.write("world".utf8)
                        writer.setTrailers([HTTPField.Name("X-Sum")!: "1"])
                    }, collectUpTo: 10
                ) { $0.stallTimeout = .seconds(1) }
            }
            _ = try? await task.value
            // The raw server gets what it gets in pieces; that it is HTTP is proven against nginx.
            #expect(received.withLock { $0.lowercased().contains("transfer-encoding: chunked") })
            await client.close()
            await server.close()
        }

        @Test("lets a body stream, and drops the rest of one that its reader leaves")
        func streaming() async throws {
            let long = String(repeating: "0123456789", count: 1_000)
            let server = try await RawServer(always: .ok(long))
            try await MultipathHTTPClient.withClient { client in
                let request = try MultipathHTTPClient.request(.get, server.url())
                for _ in 0..<3 {
                    let status = try await client.perform(request: request) { response, body in
                        response.status
                    }
                    #expect(status == .ok)
                }
                let length = try await client.perform(request: request) { _, body in
                    var length = 0
                    for try await part in body { length += part.readableBytes }
                    return length
                }
                #expect(length == long.utf8.count)
            }
            // Short rests are read, so that the connection serves again.
            #expect(server.connections <= 2)
            await server.close()
        }

        @Test("says that a body is longer than its caller wants to have")
        func tooLong() async throws {
            let server = try await RawServer(always: .ok(String(repeating: "x", count: 1_000)))
            await MultipathHTTPClient.withClient { client in
                let error = await #expect(throws: MultipathHTTPError.self) {
                    try await client.get(server.url(), collectUpTo: 999)
                }
                #expect(error?.code == .bodyTooLarge)
            }
            await server.close()
        }

        @Test("reads a body that ends with its connection, and then uses another one")
        func untilTheEnd() async throws {
            let server = try await RawServer(always: .init("HTTP/1.0 200 OK\r\n\r\nall of it", .closes))
            try await MultipathHTTPClient.withClient { client in
                for _ in 0..<2 {
                    let (_, body) = try await client.get(server.url(), collectUpTo: 100)
                    #expect(String(buffer: body) == "all of it")
                }
            }
            #expect(server.connections == 2)
            await server.close()
        }

        @Test("uses no connection again that the server is to close")
        func connectionClose() async throws {
            let server = try await RawServer(
                always: .init("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok"))
            try await MultipathHTTPClient.withClient { client in
                for _ in 0..<3 { _ = try await client.get(server.url(), collectUpTo: 100) }
            }
            #expect(server.connections == 3)
            await server.close()
        }

        @Test("opens six connections for many requests, and no more")
        func six() async throws {
            let server = try await RawServer(always: .ok("hello"))
            try await MultipathHTTPClient.withClient { client in
                try await withThrowingTaskGroup(of: Void.self) { group in
                    for _ in 0..<200 {
                        group.addTask {
                            let (_, body) = try await client.get(server.url(), collectUpTo: 100)
                            #expect(String(buffer: body) == "hello")
                        }
                    }
                    try await group.waitForAll()
                }
            }
            #expect(server.connections <= 6)
            #expect(server.requests.count == 200)
            await server.close()
        }

        @Test("ends a request whose task is cancelled, and closes its connection")
        func cancellation() async throws {
            let server = try await RawServer { _, _ in nil }
            let client = MultipathHTTPClient()
            let task = Task { try await client.get(server.url(), collectUpTo: 10) }
            while server.requests.isEmpty { try await Task.sleep(for: .milliseconds(5)) }
            task.cancel()
            await #expect(throws: CancellationError.self) { try await task.value }
            await client.close()
            await server.close()
        }

        @Test("takes no request after it was closed")
        func closed() async throws {
            let client = MultipathHTTPClient()
            await client.close()
            let error = await #expect(throws: MultipathHTTPError.self) {
                try await client.get("http://127.0.0.1:1/", collectUpTo: 10)
            }
            #expect(error?.code == .clientClosed)
        }

        @Test("says with all attempts that there is no connection")
        func refused() async throws {
            let server = try await RawServer(always: .ok(""))
            await server.close()
            await MultipathHTTPClient.withClient { client in
                let error = await #expect(throws: MultipathHTTPError.self) {
                    try await client.get(server.url(), collectUpTo: 10)
                }
                #expect(error?.code == .notConnected)
                #expect(error?.connectionError?.attempts.isEmpty == false)
                #expect(error?.networkUnavailableReason == nil)
            }
        }

        @Test("follows a redirect, and says where it ended")
        func redirect() async throws {
            let server = try await RawServer { _, request in
                request.hasPrefix("GET /a")
                    ? .init("HTTP/1.1 302 Found\r\nLocation: b\r\nContent-Length: 0\r\n\r\n") : .ok("there")
            }
            try await MultipathHTTPClient.withClient { client in
                let (response, body) = try await client.get(server.url("/a"), collectUpTo: 10)
                #expect(String(buffer: body) == "there")
                #expect(response.request.path == "/b")
                #expect(response.metrics.redirectCount == 1)
            }
            await server.close()
        }
    }
#endif
