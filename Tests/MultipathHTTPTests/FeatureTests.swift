#if HTTP
    import HTTPTypes
    import LinuxNet
    import Multipath
    import MultipathTesting
    import NIOCore
    import NIOEmbedded
    import TestSupport
    import Testing

    @testable import MultipathHTTP

    @Suite("What requests can ask for", .timeLimit(.minutes(1)))
    struct FeatureTests {
        @Test("A connection that is opened beforehand carries the first request")
        func preconnect() async throws {
            let server = try await RawServer(always: .ok("hello"))
            try await MultipathHTTPClient.withClient { client in
                try client.preconnect(to: server.url())
                try await Program.wait("the connection") { server.connections == 1 }
                for _ in 0..<2 { _ = try await client.get(server.url(), collectUpTo: 10) }
                #expect(server.connections == 1)
                #expect(throws: MultipathHTTPError.self) { try client.preconnect(to: "ftp://x/") }
            }
            await server.close()
        }

        @Test(
            "A request that came to the wrong server is sent again on another connection, where its body can be",
            arguments: [false, true])
        func misdirected(isOnce: Bool) async throws {
            let server = try await RawServer { connection, _ in
                connection == 1
                    ? .init("HTTP/1.1 421 Misdirected Request\r\nContent-Length: 0\r\n\r\n") : .ok("right")
            }
            try await MultipathHTTPClient.withClient { client in
                let body: HTTPRequestBody =
                    isOnce ? .once(length: 1) { try await $0.write("x".utf8) } : .text("x")
                let (response, _) = try await client.post(server.url(), body: body, collectUpTo: 10)
                #expect(response.status.code == (isOnce ? 421 : 200))
                #expect(response.metrics.retryCount == (isOnce ? 0 : 1))
                #expect(server.connections == (isOnce ? 1 : 2))
            }
            await server.close()
        }

        @Test("A server that always says that it is the wrong one is believed in the end")
        func alwaysMisdirected() async throws {
            let server = try await RawServer(
                always: .init("HTTP/1.1 421 Misdirected Request\r\nContent-Length: 0\r\n\r\n"))
            try await MultipathHTTPClient.withClient { client in
                let (response, _) = try await client.get(server.url(), collectUpTo: 10)
                #expect(response.status.code == 421)
                #expect(server.connections == 3)
            }
            await server.close()
        }

        @Test("A redirect is followed on the connection that it came over, whose body is read to its end")
        func redirect() async throws {
            let page = String(repeating: "moved ", count: 5_000)
            let server = try await RawServer { _, request in
                request.hasPrefix("GET /a")
                    ? .init(
                        "HTTP/1.1 302 Found\r\nLocation: b\r\nContent-Length: \(page.utf8.count)\r\n\r\n\(page)"
                    )
                    : .ok("there")
            }
            try await MultipathHTTPClient.withClient { client in
                let (response, body) = try await client.get(server.url("/a"), collectUpTo: 10)
                #expect(String(buffer: body) == "there")
                #expect(response.metrics.isReusedConnection)
            }
            #expect(server.connections == 1)
            await server.close()
        }

        @Test("The body of a redirect that does not end holds nothing up")
        func endlessRedirect() async throws {
            let server = try await RawServer { _, request in
                request.hasPrefix("GET /a")
                    ? .init("HTTP/1.1 302 Found\r\nLocation: b\r\nContent-Length: 1000000\r\n\r\nx")
                    : .ok("there")
            }
            try await MultipathHTTPClient.withClient { client in
                let (_, body) = try await client.get(server.url("/a"), collectUpTo: 10)
                #expect(String(buffer: body) == "there")
            }
            #expect(server.connections == 2)
            await server.close()
        }

        @Test("A priority is told, within its bounds")
        func priority() async throws {
            let server = try await RawServer(always: .ok("x"))
            try await MultipathHTTPClient.withClient { client in
                for priority in [
                    HTTPRequestOptions.Priority(urgency: 1, isIncremental: true), .init(urgency: 9), nil,
                ] {
                    _ = try await client.get(server.url(), collectUpTo: 10) { $0.priority = priority }
                }
            }
            let told = server.requests.map { request in
                request.split(separator: "\r\n").first { $0.hasPrefix("Priority: ") }?.dropFirst(10) ?? ""
            }
            #expect(told == ["u=1, i", "u=7", ""])
            await server.close()
        }

        @Test("Fields behind an answer's body are there when it has been read")
        func trailers() async throws {
            let server = try await RawServer(
                always: .init(
                    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: X-Sum\r\n\r\n"
                        + "5\r\nhello\r\n0\r\nX-Sum: 17\r\n\r\n"))
            try await MultipathHTTPClient.withClient { client in
                let request = try MultipathHTTPClient.request(.get, server.url())
                try await client.perform(request: request) { _, body in
                    let whole = try await body.collect(upTo: 10)
                    #expect(String(buffer: whole) == "hello")
                    #expect(body.trailers == [HTTPField.Name("X-Sum")!: "17"])
                }
            }
            await server.close()
        }

        @Test("A body whose connection breaks while it is written ends with the client's own error")
        func brokenBody() async throws {
            let server = try await RawServer(always: .init("", .resets))
            await MultipathHTTPClient.withClient { client in
                for _ in 0..<20 {
                    let body = HTTPRequestBody.once { writer in
                        while true { try await writer.write(ByteBuffer(repeating: 1, count: 64 * 1024)) }
                    }
                    let error = await #expect(throws: MultipathHTTPError.self) {
                        try await client.post(server.url(), body: body, collectUpTo: 10)
                    }
                    #expect(error?.code == .connectionLost, "\(error?.description ?? "")")
                }
            }
            await server.close()
        }

        @Test(
            "Where no path is allowed, a request waits for one if it is told to, no longer than it may take")
        func waiting() async throws {
            let server = try await RawServer(always: .ok("hello"))
            let paths = ScriptedPaths([.wifi("wlan0")])
            let connector = Connector(
                monitor: paths.monitor,
                resolver: StaticResolver(["server.example": [IPAddress("192.0.2.1")!]]))
            paths.lose("wlan0")
            await MultipathHTTPClient.withClient(connector: connector) { client in
                let url = "http://server.example:\(server.port)/"
                let impatient = await #expect(throws: MultipathHTTPError.self) {
                    try await client.get(url, collectUpTo: 10)
                }
                #expect(impatient?.connectionError?.code == .noRoute, "\(impatient?.description ?? "")")
                let begun = MonotonicTime.now
                let patient = await #expect(throws: MultipathHTTPError.self) {
                    try await client.get(url, collectUpTo: 10) {
                        ($0.waitsForConnectivity, $0.requestTimeout) = (true, .milliseconds(300))
                    }
                }
                #expect(patient?.code == .timedOut, "\(patient?.description ?? "")")
                #expect(begun.duration(to: .now) >= .milliseconds(300))
                // A caller that goes is no longer waited for.
                let cancelled = Task {
                    try await client.get(url, collectUpTo: 10) { $0.waitsForConnectivity = true }
                }
                cancelled.cancel()
                await #expect(throws: CancellationError.self) { _ = try await cancelled.value }
            }
            await server.close()
        }

        @Test("Where the allowed path leads nowhere, it is asked again now and then, and not without a break")
        func nowhere() async throws {
            var wifi = ScriptedPath.wifi("wlan0")
            wifi.addresses.removeAll { $0.address.family == .ipv6 }
            let resolver = CountingResolver(.ipv6, "2001:db8::1")
            let connector = Connector(monitor: ScriptedPaths([wifi]).monitor, resolver: resolver)
            await MultipathHTTPClient.withClient(connector: connector) { client in
                let error = await #expect(throws: MultipathHTTPError.self) {
                    try await client.get("http://server.example/", collectUpTo: 10) {
                        ($0.waitsForConnectivity, $0.requestTimeout) = (true, .milliseconds(500))
                    }
                }
                #expect(error?.code == .timedOut, "\(error?.description ?? "")")
            }
            #expect((1...50).contains(resolver.questions), "\(resolver.questions)")
        }

        @Test("A body's own error ends the request, also where the answer has begun")
        func bodyError() async throws {
            struct NoMore: Error {}
            let hasAnswer = Locked(false)
            let server = try await RawServer(always: .init("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhe"))
            await MultipathHTTPClient.withClient { client in
                await #expect(throws: NoMore.self) {
                    try await client.perform(
                        request: MultipathHTTPClient.request(.post, server.url()),
                        body: .once { writer in
                            try await writer.write(ByteBuffer(string: "x"))
                            try await Program.wait("the answer", within: .seconds(30)) {
                                hasAnswer.withLock { $0 }
                            }
                            throw NoMore()
                        }
                    ) { _, body in
                        hasAnswer.withLock { $0 = true }
                        for try await _ in body {}
                    }
                }
            }
            await server.close()
        }

        @Test("A connection that ended its answer by closing is not used again")
        func endOfFile() throws {
            let channel = EmbeddedChannel()
            channel.connect(to: try SocketAddress(ipAddress: "127.0.0.1", port: 80), promise: nil)
            let pipeline = try HTTPPipeline.http1(on: channel, HTTPPipeline.Limits())
            let ended = Locked([Bool]())
            pipeline.observe { event in
                if case .exchangeEnded(let isReusable) = event { ended.withLock { $0.append(isReusable) } }
            }
            let exchange = Exchange(
                try MultipathHTTPClient.request(.get, "http://127.0.0.1/"), .none, stallTimeout: .seconds(60),
                decompression: .disabled, record: MetricsRecord())
            pipeline.begin(exchange)
            try channel.writeInbound(ByteBuffer(string: "HTTP/1.1 200 OK\r\n\r\ngood"))
            _ = try? channel.finish(acceptAlreadyClosed: true)
            try exchange.ensureComplete()
            #expect(ended.withLock { $0 } == [false])
        }

        @Test("A body is not begun for a request that no connection took")
        func unsent() async throws {
            let exchange = Exchange(
                try MultipathHTTPClient.request(.post, "http://127.0.0.1/"), .streamed(length: nil),
                stallTimeout: .seconds(60), decompression: .disabled, record: MetricsRecord())
            exchange.failed(MultipathHTTPError(.connectionLost, "the connection had closed before"))
            let isBegun = Locked(false)
            let body = HTTPRequestBody.once { _ in isBegun.withLock { $0 = true } }
            await body.produce(into: exchange)
            #expect(!isBegun.withLock { $0 })
        }

        @Test("Requests share connections where their resolvers are the same")
        func resolvers() async throws {
            let server = try await RawServer(always: .ok("hello"))
            let (one, other) = (CountingResolver(), CountingResolver())
            try await MultipathHTTPClient.withClient { client in
                for resolver in [one, one, other] {
                    let (_, body) = try await client.get(
                        "http://server.example:\(server.port)/", collectUpTo: 10
                    ) { $0.resolver = resolver }
                    #expect(String(buffer: body) == "hello")
                }
            }
            #expect(server.connections == 2)
            #expect(one.questions > 0 && other.questions > 0)
            await server.close()
        }

        private final class CountingResolver: Resolver {
            private let asked = Locked(0)
            private let answer: (family: IPAddress.Family, address: String)

            var questions: Int { asked.withLock { $0 } }
            var asksEachPath: Bool { false }

            init(_ family: IPAddress.Family = .ipv4, _ address: String = "127.0.0.1") {
                answer = (family, address)
            }

            func addresses(
                of host: String, family: IPAddress.Family, over path: PathInterface?
            ) async throws(ResolutionError) -> [IPAddress] {
                asked.withLock { $0 += 1 }
                return family == answer.family ? [IPAddress(answer.address)!] : []
            }
        }

        @Test(
            "Only data that is to be saved leads to the smaller resource, and no error of the server's",
            arguments: ["404 Not Found", "500 Internal Server Error", "503 Service Unavailable"])
        func lowDataAfterErrors(_ status: String) async throws {
            let server = try await RawServer { _, request in
                request.hasPrefix("GET /small")
                    ? .ok("small") : .init("HTTP/1.1 \(status)\r\nContent-Length: 0\r\n\r\n")
            }
            await MultipathHTTPClient.withClient { client in
                let error = await #expect(throws: MultipathHTTPError.self) {
                    try await client.data(server.url("/large"), lowData: server.url("/small"))
                }
                #expect(error?.code == .unexpectedStatus)
                #expect(error?.status == Int(status.prefix(3)))
            }
            #expect(server.requests.count == 1)
            await server.close()
        }

        @Test("A body that is compressed by deflate is undone as one by gzip is")
        func deflate() async throws {
            let compressed: [UInt8] = [
                120, 156, 203, 72, 205, 201, 201, 87, 200, 64, 144, 0, 58, 46, 6, 125,
            ]
            let head =
                "HTTP/1.1 200 OK\r\nContent-Encoding: deflate\r\nContent-Length: \(compressed.count)\r\n\r\n"
            let server = try await RawServer(always: .init(bytes: Array(head.utf8) + compressed))
            try await MultipathHTTPClient.withClient { client in
                let (_, body) = try await client.get(server.url(), collectUpTo: 100)
                #expect(String(buffer: body) == "hello hello hello")
            }
            #expect(server.requests.first?.lowercased().contains("accept-encoding: gzip, deflate") == true)
            await server.close()
        }

        @Test("A traffic class is told of in the report, and requests of another take another connection")
        func trafficClass() async throws {
            let server = try await RawServer(always: .ok("hello"))
            var options = HTTPRequestOptions()
            #expect(!options.policy.isDiscretionary)
            options.trafficClass = .background
            options.policy.prohibitedInterfaces = ["wwan0"]
            #expect(
                options.policy.isDiscretionary && options.connectionConfiguration.policy == options.policy)
            options.trafficClass = .bulk
            #expect(!options.policy.isDiscretionary)
            #expect(options.connectionConfiguration.trafficClass == .bulk)
            try await MultipathHTTPClient.withClient { client in
                for trafficClass in [TrafficClass.bulk, .bulk, .voice] {
                    let (response, _) = try await client.get(server.url(), collectUpTo: 10) {
                        $0.trafficClass = trafficClass
                    }
                    #expect(response.metrics.establishment?.marking?.trafficClass == trafficClass)
                }
            }
            #expect(server.connections == 2)
            await server.close()
        }
    }
#endif
