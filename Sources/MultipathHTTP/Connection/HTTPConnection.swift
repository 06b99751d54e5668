#if HTTP
    import LinuxNet
    import Multipath
    internal import MultipathNIO
    import NIOCore
    import NIOHTTP1

    /// A connection that speaks HTTP, and carries one exchange after the other (HTTP/1.1) or many at a time (HTTP/2).
    final class HTTPConnection: Sendable {
        /// What its owner hears, on the connection's event loop or the event thread.
        enum Event: Sendable {
            case exchangeEnded(isReusable: Bool)
            case maximumStreams(Int)
            case goAway
            case closed
            /// Its path is what it is now.
            case path(PathStanding)
        }

        let connection: MultipathConnection
        let protocolName: HTTPRequestMetrics.ProtocolName
        private let pipeline: NIOLoopBound<HTTPPipeline>
        private let expectation: NIOLoopBound<Expectation>
        private let end = Locked(End())

        private struct End {
            var isBrokenOff = false
            var isSuperseded = false
            var watchers: [ObjectIdentifier: @Sendable () -> Void] = [:]
        }

        private init(_ connection: MultipathConnection, _ made: Made) {
            self.connection = connection
            protocolName = made.protocolName
            pipeline = made.pipeline
            expectation = made.expectation
        }

        private struct Made: Sendable {
            var protocolName: HTTPRequestMetrics.ProtocolName
            var pipeline: NIOLoopBound<HTTPPipeline>
            var expectation: NIOLoopBound<Expectation>
        }

        /// Opens a connection to an origin.
        ///
        /// - Parameter offers: which protocols are offered, the preferred one first; what the server chooses is spoken.
        /// - Throws: as `OriginConnector.open`.
        static func open(
            _ origin: HTTPOrigin, by connector: OriginConnector, _ configuration: ConnectionConfiguration,
            offers: [HTTPRequestMetrics.ProtocolName], proxy: HTTPProxy?, limits: HTTPPipeline.Limits
        ) async throws -> HTTPConnection {
            var configuration = configuration
            // A resolver that can asks for the origin's HTTPS records, which are about TLS (RFC 9460 section 9).
            if origin.isSecure, proxy == nil { configuration.applicationProtocols = offers.map(\.rawValue) }
            // What is not secret anyway the proxy is asked to send on; many open no way to port 80.
            let forwarder = origin.isSecure ? nil : proxy
            let target = forwarder.map { HTTPOrigin(isSecure: false, host: $0.host, port: $0.port) } ?? origin
            let opened = try await connector.open(
                target, configuration, applicationProtocols: offers.map(\.rawValue),
                proxy: origin.isSecure ? proxy : nil
            ) { channel, name in
                channel.eventLoop.makeCompletedFuture {
                    // A server that agrees on nothing speaks HTTP/1.1.
                    let pipeline =
                        name == HTTPRequestMetrics.ProtocolName.http2.rawValue
                        ? try HTTPPipeline.http2(on: channel, limits)
                        : try HTTPPipeline.http1(on: channel, limits, to: forwarder)
                    return Made(
                        protocolName: pipeline.protocolName,
                        pipeline: NIOLoopBound(pipeline, eventLoop: channel.eventLoop),
                        expectation: NIOLoopBound(Expectation(), eventLoop: channel.eventLoop))
                }
            }
            return HTTPConnection(opened.connection, opened.output)
        }

        /// Has a closure hear of the connection, from its beginning on. Called once.
        func observe(_ body: @escaping @Sendable (Event) -> Void) {
            let (pipeline, expectation) = (pipeline, expectation)
            pipeline.eventLoop.execute { [connection] in
                pipeline.value.observe { event in
                    switch event {
                    case .exchangeEnded(let isReusable):
                        expectation.value.ended()
                        body(.exchangeEnded(isReusable: isReusable))
                    case .maximumStreams(let count): body(.maximumStreams(count))
                    case .goAway: body(.goAway)
                    case .abandoned: connection.reset()
                    }
                }
            }
            connection.channel.closeFuture.whenComplete { _ in body(.closed) }
            let standing = PathStandingObserver(connection)
            connection.observe { event in
                if let standing = standing.ingest(event) { body(.path(standing)) }
            }
        }

        /// Sends a request.
        func begin(_ exchange: Exchange) {
            let (pipeline, expectation, connection) = (pipeline, expectation, connection)
            pipeline.eventLoop.execute {
                expectation.value.began(on: connection)
                pipeline.value.begin(exchange)
            }
        }

        /// Closes, with TLS's farewell where there is one to say.
        func close() { connection.channel.close(promise: nil) }

        /// Ends it at once: over a path that carries nothing a farewell would wait for an answer, and when the path is there again
        /// nothing of the answers that were under way is to come.
        func breakOff() {
            end.withLock { $0.isBrokenOff = true }
            connection.reset()
        }

        /// Whether this end has closed it because its path carries nothing.
        var isBrokenOff: Bool { end.withLock { $0.isBrokenOff } }

        /// There is a better connection: what comes over this one may come sooner there.
        func supersede() {
            let watchers = end.withLock { end in
                end.isSuperseded = true
                return Array(end.watchers.values)
            }
            for watcher in watchers { watcher() }
        }

        /// Has a closure hear when there is a better connection, on any thread: at once where there is one.
        ///
        /// - Parameters:
        ///   - watcher: who it is for: one closure each.
        ///   - body: nil for none any more.
        func whenSuperseded(_ watcher: AnyObject, _ body: (@Sendable () -> Void)?) {
            let isSuperseded = end.withLock { end in
                end.watchers[ObjectIdentifier(watcher)] = body
                return end.isSuperseded
            }
            if isSuperseded { body?() }
        }
    }

    /// Says to the connection whether answers are awaited, and with that whether silence means anything. It does not say it for each
    /// of many small requests: the end of one is mostly the beginning of the next.
    private final class Expectation {
        /// Shorter than the silence after which a peer is shown another subflow, or a lone path is asked.
        private static let patience = TimeAmount.milliseconds(200)

        private var connection: MultipathConnection?
        private var active = 0
        private var idleSince = NIODeadline.now()
        private var isTold = false
        private var hasTimer = false

        func began(on connection: MultipathConnection) {
            self.connection = connection
            active += 1
            guard !isTold else { return }
            isTold = true
            connection.expectsData = true
        }

        func ended() {
            active -= 1
            guard active <= 0 else { return }
            idleSince = .now()
            if !hasTimer { schedule(Self.patience) }
        }

        private func schedule(_ delay: TimeAmount) {
            guard let connection else { return }
            hasTimer = true
            let bound = NIOLoopBound(self, eventLoop: connection.channel.eventLoop)
            connection.channel.eventLoop.scheduleTask(in: delay) { bound.value.timeReached() }
        }

        private func timeReached() {
            hasTimer = false
            guard active <= 0, isTold else { return }
            let due = idleSince + Self.patience
            guard due <= .now() else { return schedule(due - .now()) }
            isTold = false
            connection?.expectsData = false
        }
    }
#endif
