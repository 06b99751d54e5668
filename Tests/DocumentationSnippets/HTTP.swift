#if HTTP
    import HTTPTypes
    import Multipath
    import MultipathHTTP
    import MultipathWebSocket
    import NIOCore

    func get() async throws {
        // snippet
        let client = MultipathHTTPClient()  // one pool of connections: make one, and share it
        let (response, body) = try await client.get("https://media.example/a.jpg", collectUpTo: 10_000_000) {
            $0.allowsExpensiveNetworkAccess = false
        }
        print(response.status, body.readableBytes)
        print(response.metrics.path.map { "\($0)" } ?? "")  // wlan0 (wifi)
        // end
        await client.close()
    }

    func perform(_ client: MultipathHTTPClient) async throws {
        // snippet
        let request = HTTPRequest(
            method: .put, scheme: "https", authority: "media.example", path: "/film",
            headerFields: [.contentType: "video/mp4"])
        let upload = HTTPRequestBody.restartable { writer in
            for part in try await parts() { try await writer.write(part) }
        }
        let size = try await client.perform(request: request, body: upload) { response, body in
            var size = 0
            for try await part in body { size += part.readableBytes }
            return size
        }
        // end
        print(size)
    }

    func lowData(_ client: MultipathHTTPClient) async throws {
        // snippet
        let image = try await client.data(
            "https://media.example/large.jpg", lowData: "https://media.example/small.jpg")
        // end
        print(image)
    }

    func handleRefusal(_ client: MultipathHTTPClient) async throws {
        // snippet
        do {
            _ = try await client.get("https://media.example/film", collectUpTo: 1_000_000) {
                $0.allowsConstrainedNetworkAccess = false
            }
        } catch let error as MultipathHTTPError where error.networkUnavailableReason == .constrained {
            print("later:", error.connectionError?.omissions ?? [])  // [wlan0: constrained]
        }
        // end
    }

    func download(_ client: MultipathHTTPClient) async throws {
        // snippet
        try await client.download("https://media.example/film.mp4", to: "/var/films/film.mp4") { progress in
            print(progress.completed, progress.total ?? 0)
        }
        // end
    }

    // snippet
    struct Menu: Sendable {
        let client = MultipathHTTPClient()
        let place: String

        func picture(of dish: String) async throws -> ByteBuffer {
            try await client.data(
                "https://\(place)/\(dish)-large.jpg", lowData: "https://\(place)/\(dish)-small.jpg"
            ) { $0.trafficClass = .interactive }
        }

        func followPrices(_ show: @Sendable (String, Duration) -> Void) async throws {
            let prices = try await client.webSocket("wss://\(place)/prices")
            for try await case .text(let price) in prices.messages {
                show(price, try await prices.ping())
            }
        }
    }
    // end

    func set(_ names: any Resolver, _ environment: [String: String]) throws {
        // snippet
        var configuration = MultipathHTTPClient.Configuration()
        configuration.options.resolver = names  // instead of the connector's
        configuration.options.trafficClass = .background  // marks packets, keeps off paths that cost
        configuration.proxies = try HTTPProxies(environment: environment)  // http_proxy …
        let client = MultipathHTTPClient(configuration: configuration)
        try client.preconnect(to: "https://media.example/")  // no handshake to wait for
        // end
        _ = client
    }

    func pins() throws {
        // snippet
        var configuration = MultipathHTTPClient.Configuration()
        configuration.publicKeyPins["bank.example"] = try PublicKeyPins([
            "MQ4Dz0Y7CI0iT3ZQ0bKcmRvDLsGKF4hGpG4yQ3X3q7E=",  // in use
            "x4QzPSC810K5/cMjb05Qm4k3Bw5zBn4lTdO/nEW/Td4=",  // kept for the day when that is lost
        ])
        let client = MultipathHTTPClient(configuration: configuration)
        // end
        _ = client
    }

    private func parts() async throws -> [ByteBuffer] { [] }
#endif
