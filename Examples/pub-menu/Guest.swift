#if HTTP
    import Foundation
    import MultipathHTTP
    import MultipathWebSocket
    import NIOCore

    /// Looks at the menu, and stays for the prices.
    struct Guest: Sendable {
        let host: String
        let port: Int

        /// - Parameter prices: how many to stay for; nil for all that come.
        func visit(prices: Int?) async throws {
            try await MultipathHTTPClient.withClient { client in
                try await readMenu(client)
                try await hearPrices(client, prices)
            }
        }

        /// Asks for each dish's large picture. Where the user asked to save data on every path that there is, the small one
        /// comes in its place: the program looks at no path for that, and need not.
        private func readMenu(_ client: MultipathHTTPClient) async throws {
            let pub = "http://\(host):\(port)"
            let (response, menu) = try await client.get("\(pub)/menu", collectUpTo: 10_000)
            let dishes = String(buffer: menu).split(separator: "\n")
            Self.tell(
                "\(dishes.count) dishes over \(response.metrics.path?.id.name ?? "a path that is gone")")
            for dish in dishes {
                let name = dish.replacing(" ", with: "%20")
                let bytes = try await client.data(
                    "\(pub)/large/\(name)", lowData: "\(pub)/small/\(name)", collectUpTo: 1 << 20)
                guard let picture = Picture(bytes) else { continue }
                Self.tell(
                    "\(dish): a picture of \(picture.width) x \(picture.height), \(bytes.readableBytes) bytes"
                )
                if isatty(STDOUT_FILENO) == 1 { Self.tell(picture.drawing) }
            }
        }

        /// The WebSocket is one connection: over MPTCP it goes on when Wi-Fi does not. Each price's line has the time that a
        /// ping took, and the path that carries.
        private func hearPrices(_ client: MultipathHTTPClient, _ count: Int?) async throws {
            let socket = try await client.webSocket("ws://\(host):\(port + 1)/prices")
            // Prices are to come all the time: where none does, the connection asks whether its path is still there.
            socket.connection?.expectsData = true
            var rest = count ?? .max
            while rest > 0, case .text(let price)? = try await socket.receive() {
                let roundTrip = try await socket.ping() / .milliseconds(1)
                let path = socket.connection?.currentPath?.id.name ?? "a path that is gone"
                Self.tell(
                    "\(price)  (\(roundTrip.formatted(.number.precision(.fractionLength(1)))) ms over \(path))"
                )
                rest -= 1
            }
            try await socket.close()
        }

        private static func tell(_ line: String) {
            FileHandle.standardOutput.write(Data("\(line)\n".utf8))
        }
    }
#endif
