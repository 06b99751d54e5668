#if Outbox
    import MultipathOutbox

    func keepOutbox(_ transport: some OutboxTransport, reading: [UInt8]) async throws {
        // snippet
        let outbox = try await Outbox.open(at: "/var/lib/meter/outbox.sqlite", transport: transport)
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await outbox.run() }
            try await outbox.submit(
                OutboxRequest(.mustArrive, url: "https://meter.example/readings", body: reading))
            let result = try await outbox.send(OutboxRequest(.bestEffort, url: "https://meter.example/hello"))
            print(result)
            try await group.waitForAll()
        }
        // end
    }

    private func post(_ url: String, _ headers: [OutboxRequest.Header], _ body: [UInt8]) async throws -> Int {
        200
    }

    // snippet
    struct MeterTransport: OutboxTransport {
        func send(_ request: OutboxRequest) async throws -> OutboxAnswer {
            let status = try await post(request.url, request.headersWithKey, request.body)
            return OutboxAnswer(status: status)
        }
    }
// end
#endif
