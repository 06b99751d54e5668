#if HTTP
    import HTTPTypes
    import MultipathHTTP
    import MultipathWebSocket
    import NIOCore
    import NIOHTTP1
    import TestSupport
    import Testing

    @Suite("A WebSocket that an HTTP client opens", .timeLimit(.minutes(1)))
    struct HTTPClientTests {
        @Test("carries messages, with the client's fields in its opening, and outlives the client")
        func opening() async throws {
            let upgrader = WebSocketUpgrader { head in
                head.headers["user-agent"] == ["tests"] && head.headers["x-own"] == ["1"]
                    ? .accept(subprotocol: nil, headers: [:]) : .refuse(.forbidden)
            }
            try await WebSocketServer(upgrader: upgrader).run { url in
                var configuration = MultipathHTTPClient.Configuration()
                configuration.headerFields = [.userAgent: "tests", HTTPField.Name("X-Own")!: "0"]
                let client = MultipathHTTPClient(configuration: configuration)
                var options = WebSocketOptions()
                options.headers.add(name: "X-Own", value: "1")
                let socket = try await client.webSocket(url + "/room", options: options)
                await client.close()
                try await socket.send(.text("hello"))
                #expect(try await socket.receive() == .text("hello"))
                _ = try await socket.ping()
                try await socket.close()
            }
        }

        @Test("goes through a proxy by CONNECT, also without TLS")
        func proxy() async throws {
            let server = try await RawServer(closes: true) { request in
                Array("HTTP/1.1 403 no\r\nContent-Length: 0\r\n\r\n".utf8)
            }
            var configuration = MultipathHTTPClient.Configuration()
            configuration.proxies.http = HTTPProxy(host: "127.0.0.1", port: server.port)
            let client = MultipathHTTPClient(configuration: configuration)
            let error = await #expect(throws: MultipathHTTPError.self) {
                _ = try await client.webSocket("ws://chat.example/")
            }
            #expect(error?.code == .proxy && error?.status == 403, "\(error?.description ?? "")")
            await server.close()
        }

        @Test("that can't be opened says why")
        func failures() async throws {
            let client = MultipathHTTPClient()
            await #expect(throws: WebSocketError.invalidURL("http://127.0.0.1/")) {
                _ = try await client.webSocket("http://127.0.0.1/")
            }
            let error = await #expect(throws: MultipathHTTPError.self) {
                _ = try await client.webSocket("ws://127.0.0.1:1/")
            }
            #expect(error?.code == .notConnected && error?.connectionError != nil)
            await client.close()
        }
    }
#endif
