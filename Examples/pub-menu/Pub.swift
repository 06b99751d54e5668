#if HTTP
    import HTTPTypes
    import MultipathNIO
    import MultipathWebSocket
    import NIOCore
    import NIOHTTP1
    import NIOHTTPTypes
    import NIOHTTPTypesHTTP1

    /// Serves the menu, and tells its guests what things cost, by MPTCP where they speak it.
    struct Pub: Sendable {
        typealias Table = NIOAsyncChannel<HTTPRequestPart, HTTPResponsePart>

        let port: Int

        func serve() async throws {
            let upgrader = WebSocketUpgrader { $0.uri == "/prices" ? .accept() : .refuse(.notFound) }
            let menu = try await MultipathServerBootstrap().bind(
                host: "::", port: port, childChannelInitializer: Self.addHandlers)
            let prices = try await MultipathServerBootstrap().bind(host: "::", port: port + 1) {
                upgrader.upgrade($0)
            }
            try await withThrowingDiscardingTaskGroup { group in
                group.addTask {
                    try await Self.serve(menu) { try await Self.answer($0) }
                }
                group.addTask {
                    try await Self.serve(prices) { try await Self.tellPrices($0.get()) }
                }
            }
        }

        /// Sees to each guest in a task of its own. One that leaves early is no trouble.
        private static func serve<Output: Sendable>(
            _ server: MultipathServerChannel<Output>,
            _ body: @escaping @Sendable (Output) async throws -> Void
        ) async throws {
            try await server.executeThenClose { connections in
                try await withThrowingDiscardingTaskGroup { group in
                    for try await accepted in connections {
                        group.addTask { try? await body(accepted.output) }
                    }
                }
            }
        }

        // MARK: The menu

        @Sendable private static func addHandlers(_ channel: any Channel) -> EventLoopFuture<Table> {
            channel.eventLoop.makeCompletedFuture {
                try channel.pipeline.syncOperations.configureHTTPServerPipeline()
                try channel.pipeline.syncOperations.addHandler(HTTP1ToHTTPServerCodec(secure: false))
                return try Table(wrappingChannelSynchronously: channel)
            }
        }

        private static func answer(_ table: Table) async throws {
            try await table.executeThenClose { requests, answers in
                for try await case .head(let request) in requests {
                    let body = content(request.path ?? "/")
                    let head = HTTPResponse(
                        status: body == nil ? .notFound : .ok,
                        headerFields: [.contentLength: "\(body?.readableBytes ?? 0)"])
                    try await answers.write(.head(head))
                    if let body { try await answers.write(.body(body)) }
                    try await answers.write(.end(nil))
                }
            }
        }

        private static func content(_ path: String) -> ByteBuffer? {
            if path == "/menu" {
                return ByteBuffer(string: Dish.allCases.map(\.rawValue).joined(separator: "\n"))
            }
            let words = path.split(separator: "/")
            guard words.count == 2, let dish = Dish(rawValue: String(words[1].replacing("%20", with: " ")))
            else { return nil }
            switch words[0] {
            case "large": return Picture(of: dish, width: 320, height: 240).bytes
            case "small": return Picture(of: dish, width: 16, height: 12).bytes
            default: return nil
            }
        }

        // MARK: Prices

        private static func tellPrices(_ socket: WebSocket) async throws {
            var pence = Dictionary(uniqueKeysWithValues: Dish.allCases.map { ($0, 480) })
            while let dish = Dish.allCases.randomElement() {
                let price = min(max((pence[dish] ?? 480) + .random(in: -15...15), 300), 900)
                pence[dish] = price
                let rest = price % 100
                try await socket.send(
                    .text("\(dish.rawValue): £\(price / 100).\(rest < 10 ? "0" : "")\(rest)"))
                try await Task.sleep(for: .milliseconds(500))
            }
        }
    }
#endif
