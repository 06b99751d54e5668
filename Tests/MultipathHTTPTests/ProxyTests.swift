#if HTTP
    import Foundation
    import HTTPTypes
    import TestSupport
    import Testing

    @testable import MultipathHTTP

    @Suite("A proxy", .timeLimit(.minutes(1)))
    struct ProxyTests {
        private func client(_ nginx: Nginx, _ proxy: HTTPProxy) -> MultipathHTTPClient {
            nginx.client { $0.proxies.https = proxy }
        }

        @Test(
            "opens the way to an origin with TLS, with what authorizes where it asks for that",
            .needs("nginx", "openssl"), arguments: [nil, "Basic dXNlcjpwYXNz"])
        func tunnel(_ authorization: String?) async throws {
            let nginx = try await Nginx()
            let proxy = try await TestProxy(authorization: authorization)
            let client = client(
                nginx, HTTPProxy(host: "127.0.0.1", port: proxy.port, authorization: authorization))
            for round in 0..<2 {
                let (response, body) = try await client.get(nginx.url("/"), collectUpTo: 100)
                #expect(body.readableBytes == 16)
                #expect(response.metrics.protocolName == .http2)
                #expect(response.metrics.isReusedConnection == (round > 0))
            }
            #expect(proxy.requests.count == 1)
            #expect(proxy.requests[0].hasPrefix("CONNECT \(Nginx.name):\(nginx.port) HTTP/1.1\r\n"))
            // The origin does not see what is the proxy's.
            #expect(proxy.requests[0].contains("Proxy-Authorization:") == (authorization != nil))
            await client.close()
            await proxy.close()
        }

        @Test("that refuses the way is an error of its own, with its status", .needs("nginx", "openssl"))
        func refusedTunnel() async throws {
            let nginx = try await Nginx()
            let proxy = try await TestProxy(authorization: "Basic dXNlcjpwYXNz")
            let client = client(
                nginx, HTTPProxy(host: "127.0.0.1", port: proxy.port, authorization: "Basic nonsense"))
            let error = await #expect(throws: MultipathHTTPError.self) {
                try await client.get(nginx.url("/"), collectUpTo: 100)
            }
            #expect(error?.code == .proxy, "\(error?.description ?? "")")
            #expect(error?.status == 407)
            await client.close()
            await proxy.close()
        }

        @Test("that is not there, or breaks off, is an error", .needs("nginx", "openssl"))
        func absent() async throws {
            let nginx = try await Nginx()
            let breaking = try await RawServer(always: .init("", .closes))
            for (port, code) in [
                (1, MultipathHTTPError.Code.notConnected), (breaking.port, .proxy),
            ] {
                let client = client(nginx, HTTPProxy(host: "127.0.0.1", port: port))
                let error = await #expect(throws: MultipathHTTPError.self) {
                    try await client.get(nginx.url("/"), collectUpTo: 100)
                }
                #expect(error?.code == code, "\(error?.description ?? "")")
                await client.close()
            }
            await breaking.close()
        }

        @Test("behind which no TLS begins keeps a request no longer than a connection may take")
        func silent() async throws {
            let proxy = try await RawServer(always: .init("HTTP/1.1 200 Connection established\r\n\r\n"))
            var configuration = MultipathHTTPClient.Configuration()
            configuration.proxies.https = HTTPProxy(host: "127.0.0.1", port: proxy.port)
            configuration.options.connectTimeout = .seconds(2)
            await MultipathHTTPClient.withClient(configuration: configuration) { client in
                let error = await #expect(throws: MultipathHTTPError.self) {
                    try await client.get("https://origin.example/", collectUpTo: 100)
                }
                #expect(error?.code == .proxy, "\(error?.description ?? "")")
                let cancelled = Task { try await client.get("https://origin.example/", collectUpTo: 100) }
                cancelled.cancel()
                await #expect(throws: CancellationError.self) { _ = try await cancelled.value }
                // NIOSSL would look for the proxy's address in it.
                let address = await #expect(throws: MultipathHTTPError.self) {
                    try await client.get("https://192.0.2.1/", collectUpTo: 100)
                }
                #expect(address?.code == .invalidURL, "\(address?.description ?? "")")
            }
            await proxy.close()
        }

        @Test("sends a request without TLS on, which has the whole URL in its first line")
        func forwarding() async throws {
            let server = try await RawServer(always: .ok("hello"))
            let proxy = try await TestProxy(authorization: "Basic dXNlcjpwYXNz")
            var configuration = MultipathHTTPClient.Configuration()
            configuration.proxies.http = HTTPProxy(
                host: "127.0.0.1", port: proxy.port, authorization: "Basic dXNlcjpwYXNz")
            configuration.cookies = HTTPCookieJar()
            try await MultipathHTTPClient.withClient(configuration: configuration) { client in
                for round in 0..<2 {
                    // No resolver of this machine knows that name: the proxy does.
                    let url = "http://inside.example:\(server.port)/a?b"
                    let (response, body) = try await client.get(url, collectUpTo: 100)
                    #expect(String(buffer: body) == "hello")
                    #expect(response.request.path == "/a?b")
                    #expect(response.metrics.isReusedConnection == (round > 0))
                }
            }
            #expect(
                proxy.requests.first?.hasPrefix(
                    "GET http://inside.example:\(server.port)/a?b HTTP/1.1\r\n") == true)
            #expect(proxy.requests.first?.contains("Host: inside.example:\(server.port)\r\n") == true)
            await proxy.close()
            await server.close()
        }

        @Test(
            "of which the environment says the user and the password, in which a URL's signs are escaped",
            arguments: [
                ("user:pass", "dXNlcjpwYXNz"), ("user:p%40ss%2F", "dXNlcjpwQHNzLw=="), ("user", "dXNlcjo="),
            ])
        func credentials(_ text: String, _ basic: String) throws {
            let proxies = try HTTPProxies(environment: ["https_proxy": "http://\(text)@proxy.example:3128"])
            #expect(
                proxies.https == HTTPProxy(host: "proxy.example", port: 3128, authorization: "Basic " + basic)
            )
        }

        @Test("of which the environment says for which hosts it is none")
        func exceptions() async throws {
            let server = try await RawServer(always: .ok("hello"))
            var configuration = MultipathHTTPClient.Configuration()
            configuration.proxies = try HTTPProxies(environment: [
                "http_proxy": "http://127.0.0.1:1", "no_proxy": "other.example, 127.0.0.1",
            ])
            try await MultipathHTTPClient.withClient(configuration: configuration) { client in
                let (_, body) = try await client.get(server.url(), collectUpTo: 100)
                #expect(String(buffer: body) == "hello")
            }
            await server.close()
        }
    }
#endif
