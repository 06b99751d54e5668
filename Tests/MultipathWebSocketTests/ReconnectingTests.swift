#if HTTP
    import Multipath
    import MultipathNIO
    import MultipathWebSocket
    import NIOConcurrencyHelpers
    import Testing

    @Suite("A WebSocket that is opened again", .timeLimit(.minutes(1)))
    struct ReconnectingTests {
        private func open(
            _ url: String, _ reconnection: ReconnectionOptions = ReconnectionOptions()
        ) async throws {
            _ = try await bootstrap.withReconnectingWebSocket(
                url, progress: 0, reconnection: reconnection
            ) { (_: WebSocket, _: ReconnectionSession<MultipathConnection, Void>, _: inout Int) in
                ReconnectionStep.finished
            }
        }

        @Test("goes on where it was when its server restarts, and when its connection is lost")
        func restarts() async throws {
            let count = NIOLockedValueBox(0)
            let server = WebSocketServer { socket in
                let number = count.withLockedValue { count in
                    count += 1
                    return count
                }
                try await socket.send(.text("\(number)"))
                switch number {
                case 1: try await socket.close(.serviceRestart)
                case 2: try await socket.channel.close()
                default: _ = try await socket.receive()
                }
            }
            let numbers = try await server.run { url in
                try await bootstrap.withReconnectingWebSocket(url, progress: [String]()) {
                    socket, session, numbers in
                    while case .text(let number)? = try await socket.receive() {
                        numbers.append(number)
                        session.madeProgress()
                        if number == "3" { return .finished }
                    }
                    return .reconnect
                }
            }
            #expect(numbers == ["1", "2", "3"])
        }

        @Test("is not asked for again where the server refuses it for good")
        func refused() async throws {
            let server = WebSocketServer(upgrader: WebSocketUpgrader { _ in .refuse(.notFound) })
            try await server.run { url in
                let error = await #expect(throws: WebSocketError.self) {
                    try await open(url)
                }
                guard case .refused(let answer)? = error else {
                    Issue.record("\(String(describing: error))")
                    return
                }
                #expect(answer.status == .notFound)
            }
        }

        private var impatience: ReconnectionOptions {
            var reconnection = ReconnectionOptions()
            reconnection.budget.attempts = 2
            reconnection.backoff.longest = .milliseconds(10)
            return reconnection
        }

        @Test("spends its budget on a server that is not there for it, and says so")
        func budget() async throws {
            let server = WebSocketServer(upgrader: WebSocketUpgrader { _ in .refuse(.serviceUnavailable) })
            try await server.run { url in
                _ = await #expect(throws: ReconnectionError.self) { try await open(url, impatience) }
            }
        }
    }
#endif
