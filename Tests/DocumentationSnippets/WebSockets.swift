#if HTTP
    import MultipathNIO
    import MultipathWebSocket
    import NIOCore

    func openWebSocket(_ group: any EventLoopGroup, token: String) async throws {
        // snippet
        var options = WebSocketOptions()
        options.headers.add(name: "Authorization", value: "Bearer \(token)")
        options.subprotocols = ["chat.v2", "chat.v1"]
        let socket = try await MultipathBootstrap(group: group).webSocket(
            "wss://chat.example/room", options: options)
        try await socket.send(.text("hello"))
        for try await message in socket.messages { print(message) }
        // end
    }

    func sendPieces(
        _ socket: WebSocket, pictures: AsyncThrowingStream<ByteBuffer, any Error>,
        store: (ByteBuffer) async throws -> Void
    ) async throws {
        // snippet
        try await socket.send(.binary) { writer in
            for try await bytes in pictures { try await writer.write(bytes) }
        }
        if let message = try await socket.receivePieces() {
            for try await bytes in message { try await store(bytes) }
        }
        // end
    }

    func measure(_ socket: WebSocket) async throws {
        // snippet
        let roundTrip = try await socket.ping()
        // end
        _ = roundTrip
    }

    func keepAlive(_ socket: WebSocket) async throws {
        // snippet
        try await socket.startHeartbeat()
        // end
    }

    func follow(
        _ bootstrap: MultipathBootstrap, show: @escaping @Sendable (WebSocketMessage) -> Int
    ) async throws {
        // snippet
        _ = try await bootstrap.withReconnectingWebSocket("wss://feed.example/", progress: 0) {
            socket, session, position in
            try await socket.send(.text("from \(position)"))
            while let message = try await socket.receive() {
                position = show(message)
                session.madeProgress()
                if session.shouldMigrate { break }  // the next connection is open already
            }
            return .reconnect
        }
        // end
    }

    func serveWebSockets(_ serve: @escaping @Sendable (WebSocket) async throws -> Void) async throws {
        // snippet
        let upgrader = WebSocketUpgrader { request in
            request.uri == "/chat" ? .accept() : .refuse(.notFound)
        }
        let server = try await MultipathServerBootstrap().bind(host: "::", port: 8080) {
            upgrader.upgrade($0)
        }
        try await server.executeThenClose { connections in
            try await withThrowingDiscardingTaskGroup { group in
                for try await accepted in connections {
                    group.addTask {
                        guard let socket = try? await accepted.output.get() else { return }
                        try? await serve(socket)
                    }
                }
            }
        }
        // end
    }
#endif
