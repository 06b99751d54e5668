#if HTTP
    import HLSClient
    import LinuxNet
    import Multipath
    import NIOCore
    import NIOHTTP1
    import NIOPosix

    // Serves a stream to a player on this machine as HLS: a playlist of the newest segments, which grows as the player asks for
    // them. Where the variant changes there is a discontinuity, so that any player follows.

    /// Which segments there are, and which the player has asked for. It sends nothing.
    struct ServedStream: Sendable {
        /// What is not asked for yet; FFmpeg's players begin at the third from the end, and so with the first.
        static let mostAhead = 3
        /// What was asked for stays for a player that asks once more.
        static let mostBehind = 6

        struct Entry: Sendable {
            var number: Int
            var duration: Double
            var isDiscontinuous: Bool
            var initialization: Int?
            var media: ByteBuffer
        }

        private(set) var entries: [Entry] = []
        private(set) var initializations: [Int: ByteBuffer] = [:]
        private var initializationCount = 0
        private var discontinuities = 0
        private var lastVariant: Int?
        private var longest = 1.0
        /// The number behind the last one that was asked for.
        private(set) var asked = 0
        var isEnded = false

        var hasRoom: Bool { (entries.last?.number ?? -1) + 1 - asked < Self.mostAhead }
        var isDrained: Bool { asked > (entries.last?.number ?? -1) }

        mutating func append(_ piece: StreamPiece) {
            if let initialization = piece.initialization {
                initializationCount += 1
                initializations[initializationCount] = initialization
            }
            let isSwitch = lastVariant.map { $0 != piece.variant } ?? false
            lastVariant = piece.variant
            let duration =
                Double(piece.duration.components.seconds) + Double(piece.duration.components.attoseconds)
                / 1e18
            longest = max(longest, duration)
            entries.append(
                Entry(
                    number: piece.index, duration: duration,
                    isDiscontinuous: piece.index > 0 && (piece.isDiscontinuous || isSwitch),
                    initialization: initializationCount > 0 ? initializationCount : nil, media: piece.media))
            while let first = entries.first, first.number < asked - Self.mostBehind {
                entries.removeFirst()
                if first.isDiscontinuous { discontinuities += 1 }
            }
            let used = Set(entries.compactMap(\.initialization))
            initializations = initializations.filter {
                used.contains($0.key) || $0.key == initializationCount
            }
        }

        /// - Returns: nil where there is no such segment.
        mutating func ask(_ number: Int) -> ByteBuffer? {
            guard let entry = entries.first(where: { $0.number == number }) else { return nil }
            asked = max(asked, number + 1)
            return entry.media
        }

        var playlist: String {
            var lines = [
                "#EXTM3U", "#EXT-X-VERSION:6", "#EXT-X-TARGETDURATION:\(Int(longest.rounded(.up)))",
                "#EXT-X-MEDIA-SEQUENCE:\(entries.first?.number ?? 0)",
                "#EXT-X-DISCONTINUITY-SEQUENCE:\(discontinuities)",
            ]
            var initialization: Int?
            for entry in entries {
                if entry.isDiscontinuous { lines.append("#EXT-X-DISCONTINUITY") }
                if let number = entry.initialization, number != initialization {
                    lines.append("#EXT-X-MAP:URI=\"init-\(number).mp4\"")
                    initialization = number
                }
                let kind = entry.initialization == nil ? "ts" : "m4s"
                lines += ["#EXTINF:\(entry.duration),", "segment-\(entry.number).\(kind)"]
            }
            if isEnded { lines.append("#EXT-X-ENDLIST") }
            return lines.joined(separator: "\n") + "\n"
        }
    }

    /// A server for this machine's players.
    final class LocalStreamServer: StreamOutput {
        private struct State {
            var stream = ServedStream()
            var waiters: [CheckedContinuation<Void, Never>] = []
        }

        private let state = Locked(State())
        /// Part of the address, so that no page in a browser can guess it.
        private let token = String(UInt64.random(in: .min ... .max), radix: 16)
        private let asked = Locked(MonotonicTime.now)
        private let announcement = Locked<(@Sendable (String) -> Void)?>(nil)
        /// A player that asks for nothing for so long behind the stream's end has gone.
        private static let patience = Duration.seconds(120)
        private let listener = Locked<(any Channel)?>(nil)

        /// Where a player finds the stream.
        var address: String {
            "http://127.0.0.1:\(listener.withLock { $0?.localAddress?.port ?? 0 })/\(token)/stream.m3u8"
        }

        /// Has a closure told of the address as soon as there is something to play.
        func onFirstPiece(_ announce: @escaping @Sendable (String) -> Void) {
            announcement.withLock { $0 = announce }
        }

        /// Listens on the loopback interface alone.
        static func start(port: Int) async throws -> LocalStreamServer {
            let server = LocalStreamServer()
            do {
                let channel = try await ServerBootstrap(group: .singletonMultiThreadedEventLoopGroup)
                    .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
                    .childChannelInitializer { channel in
                        channel.eventLoop.makeCompletedFuture {
                            try channel.pipeline.syncOperations.configureHTTPServerPipeline()
                            try channel.pipeline.syncOperations.addHandler(LocalRequestHandler(server))
                        }
                    }
                    .bind(host: "127.0.0.1", port: port).get()
                server.listener.withLock { $0 = channel }
            } catch {
                throw StreamFailure(.output, "can't listen on port \(port) of this machine: \(error)")
            }
            return server
        }

        func write(_ piece: StreamPiece) async throws {
            try await wait { $0.hasRoom }
            state.withLock { $0.stream.append(piece) }
            if let announce = announcement.withLock({ $0.take() }) { announce(address) }
        }

        /// Returns when a player has asked for everything.
        func drain() async {
            state.withLock { $0.stream.isEnded = true }
            await withTaskGroup(of: Void.self) { group in
                group.addTask { try? await self.wait { $0.isDrained } }
                group.addTask {
                    while self.asked.withLock({ $0 }).duration(to: .now) < Self.patience,
                        (try? await Task.sleep(for: .seconds(1))) != nil
                    {}
                }
                await group.next()
                group.cancelAll()
            }
            // The last segment is on its way.
            try? await Task.sleep(for: .seconds(2))
        }

        private func wait(until condition: @Sendable (ServedStream) -> Bool) async throws {
            while true {
                try Task.checkCancellation()
                if state.withLock({ condition($0.stream) }) { return }
                await withTaskCancellationHandler {
                    await withCheckedContinuation { continuation in
                        let isReady = state.withLock { state in
                            if Task.isCancelled || condition(state.stream) { return true }
                            state.waiters.append(continuation)
                            return false
                        }
                        if isReady { continuation.resume() }
                    }
                } onCancel: {
                    wake()
                }
            }
        }

        private func wake() {
            let waiters = state.withLock { state in
                defer { state.waiters = [] }
                return state.waiters
            }
            for waiter in waiters { waiter.resume() }
        }

        /// The answer to a request for a path: its type and its bytes; nil for 404.
        func answer(_ address: Substring) -> (type: String, body: ByteBuffer)? {
            guard address.hasPrefix("/\(token)/") else { return nil }
            let path = address.dropFirst(token.utf8.count + 1)
            asked.withLock { $0 = .now }
            defer { wake() }
            return state.withLock { state in
                if path == "/stream.m3u8" {
                    return ("application/vnd.apple.mpegurl", ByteBuffer(string: state.stream.playlist))
                }
                if let match = path.wholeMatch(of: #//segment-(\d{1,9})\.(ts|m4s)/#),
                    let number = Int(match.1),
                    let media = state.stream.ask(number)
                {
                    return (match.2 == "ts" ? "video/mp2t" : "video/iso.segment", media)
                }
                if let match = path.wholeMatch(of: #//init-(\d{1,9})\.mp4/#), let number = Int(match.1),
                    let bytes = state.stream.initializations[number]
                {
                    return ("video/mp4", bytes)
                }
                return nil
            }
        }
    }

    /// One connection of a player.
    private final class LocalRequestHandler: ChannelInboundHandler {
        typealias InboundIn = HTTPServerRequestPart
        typealias OutboundOut = HTTPServerResponsePart

        private let server: LocalStreamServer
        private var head: HTTPRequestHead?

        init(_ server: LocalStreamServer) { self.server = server }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            switch unwrapInboundIn(data) {
            case .head(let head): self.head = head
            case .body: break
            case .end:
                guard let head = head.take() else { return }
                answer(head, context)
            }
        }

        private func answer(_ head: HTTPRequestHead, _ context: ChannelHandlerContext) {
            let path = head.uri.prefix { $0 != "?" }
            let isAllowed = head.method == .GET
            // Another name leads here only if a page's author has had it do so (DNS rebinding).
            let host = head.headers.first(name: "host")?.prefix { $0 != ":" } ?? "127.0.0.1"
            let found = isAllowed && (host == "127.0.0.1" || host == "localhost") ? server.answer(path) : nil
            let status: HTTPResponseStatus = found != nil ? .ok : isAllowed ? .notFound : .methodNotAllowed
            let body = found?.body ?? ByteBuffer()
            var headers = HTTPHeaders([
                ("Content-Length", "\(body.readableBytes)"), ("Cache-Control", "no-store"),
            ])
            if let type = found?.type { headers.add(name: "Content-Type", value: type) }
            context.write(
                wrapOutboundOut(
                    .head(HTTPResponseHead(version: head.version, status: status, headers: headers))),
                promise: nil)
            context.write(wrapOutboundOut(.body(.byteBuffer(body))), promise: nil)
            context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
            if !head.isKeepAlive { context.close(promise: nil) }
        }

        func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }
    }
#endif
