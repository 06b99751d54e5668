#if HTTP
    import HTTPTypes
    import NIOCore
    import NIOHTTP1
    import NIOHTTP2
    import NIOHTTPCompression
    import NIOHTTPTypesHTTP1
    import NIOHTTPTypesHTTP2

    /// What a channel speaks, with its handlers in place. On the channel's loop, where nothing else is said.
    final class HTTPPipeline {
        /// What a pipeline may take of a server.
        struct Limits: Sendable, Hashable {
            /// Of all fields of one head together, in bytes.
            var headSize = 64 * 1024
            /// How many of them.
            var fieldCount = 256
            /// How much of an answer may be on its way before its reader has asked for it, in bytes (RFC 9113 section 6.9):
            /// of one stream, …
            var streamWindow = 2 * 1024 * 1024
            /// … and of a connection.
            var connectionWindow = 16 * 1024 * 1024
        }

        private enum Kind {
            case http1(ExchangeHandler)
            case http2(NIOHTTP2Handler.StreamMultiplexer)
        }

        private let channel: any Channel
        private var kind: Kind?
        /// The decompressor of HTTP/1.1, and with which limit; nil where there is none now.
        private var decompressor: (handler: NIOHTTPResponseDecompressor, ratio: Int)?
        private var decoder: (any ChannelHandler)?
        /// Of the whole connection.
        private var failure: (any Error)?
        /// The last stream that a server which goes has processed.
        private var lastProcessed: HTTP2StreamID?
        /// What became of the connection before it had an owner.
        private var backlog: [Event] = []
        private var observer: ((Event) -> Void)?

        /// What the connection says of itself.
        enum Event: Sendable {
            /// An exchange has ended.
            case exchangeEnded(isReusable: Bool)
            /// How many streams the server takes at a time (RFC 9113 section 6.5.2).
            case maximumStreams(Int)
            /// The server takes no more requests here (RFC 9113 section 6.8).
            case goAway
            /// An exchange of HTTP/1.1 has ended before its time: what is still under way is not wanted.
            case abandoned
        }

        private init(_ channel: any Channel) { self.channel = channel }

        /// Has a closure hear of the connection's events, those before included.
        func observe(_ body: @escaping (Event) -> Void) {
            observer = body
            for event in backlog { body(event) }
            backlog = []
        }

        private func tell(_ event: Event) {
            if let observer { observer(event) } else { backlog.append(event) }
        }

        // MARK: Exchanges

        func begin(_ exchange: Exchange) {
            switch kind {
            case .http1(let handler):
                do {
                    try setDecompression(exchange.decompression)
                    handler.begin(exchange)
                } catch {
                    fail(unsent: exchange, MultipathHTTPError(error, hasHead: false), isReusable: false)
                }
            case .http2(let multiplexer): begin(exchange, multiplexer)
            case nil: preconditionFailure("a pipeline has a protocol")
            }
        }

        private func begin(_ exchange: Exchange, _ multiplexer: NIOHTTP2Handler.StreamMultiplexer) {
            // It was leased just before the server said so. A stream that is opened now would be an error of the connection
            // (RFC 9113 section 6.8), which ends the other streams as well.
            guard lastProcessed == nil, failure == nil else { return fail(unsent: exchange) }
            let bound = NIOLoopBound(self, eventLoop: channel.eventLoop)
            let handler = NIOLoopBoundBox<ExchangeHandler?>(nil, eventLoop: channel.eventLoop)
            multiplexer.createStreamChannel { stream in
                stream.eventLoop.makeCompletedFuture {
                    handler.value = try bound.value.addHandlers(to: stream, exchange)
                }
            }.whenComplete { result in
                switch (result, handler.value) {
                case (.success, let handler?): handler.begin(exchange)
                case (.success, nil), (.failure, _): bound.value.fail(unsent: exchange)
                }
            }
        }

        /// Nothing of it was sent, so that another connection may have it.
        private func fail(unsent exchange: Exchange) {
            let error = MultipathHTTPError(
                .connectionLost, "the connection takes no further request", underlying: failure)
            fail(unsent: exchange, error, isReusable: true)
        }

        /// The caller hears of it last: its next request is to find the connection as it is now.
        private func fail(unsent exchange: Exchange, _ error: MultipathHTTPError, isReusable: Bool) {
            let ending = exchange.settle(.failure(error))
            tell(.exchangeEnded(isReusable: isReusable))
            ending?.tell()
        }

        private func addHandlers(to stream: any Channel, _ exchange: Exchange) throws -> ExchangeHandler {
            let handler = ExchangeHandler(
                .stream, connectionError: { [weak self] in self?.failure },
                isUnprocessed: { [weak self] in self?.isUnprocessed(stream) ?? false }
            ) { [weak self] in
                self?.tell(.exchangeEnded(isReusable: $0))
            }
            let pipeline = stream.pipeline.syncOperations
            let codec = HTTP2FramePayloadToHTTPClientCodec()
            let check = AnswerHeadCheck(exchange.decompression.limit, before: codec)
            try pipeline.addHandlers(EndStreamMerger(), check, codec, handler)
            return handler
        }

        /// Whether the server has said that it did not process a stream (RFC 9113 section 6.8).
        private func isUnprocessed(_ stream: any Channel) -> Bool {
            guard let lastProcessed else { return false }
            let id = try? stream.syncOptions?.getOption(HTTP2StreamChannelOptions.streamID)
            return id.map { $0 > lastProcessed } ?? true
        }

        /// The decompressor stands in the pipeline as long as requests ask for the same.
        private func setDecompression(_ wanted: HTTPRequestOptions.Decompression) throws {
            guard wanted.ratio != decompressor?.ratio, let decoder else { return }
            let pipeline = channel.pipeline.syncOperations
            if let old = decompressor {
                pipeline.removeHandler(old.handler, promise: nil)
                decompressor = nil
            }
            guard let ratio = wanted.ratio, let limit = wanted.limit else { return }
            let new = NIOHTTPResponseDecompressor(limit: limit)
            try pipeline.addHandler(new, position: .after(decoder))
            decompressor = (new, ratio)
        }
    }

    // MARK: Set-up

    extension HTTPPipeline {
        /// HTTP/1.1 on a channel that is ready for its first byte (RFC 9112).
        ///
        /// - Parameter proxy: the other end, where that is a proxy and not the origin.
        static func http1(
            on channel: any Channel, _ limits: Limits, to proxy: HTTPProxy? = nil
        ) throws -> HTTPPipeline {
            let pipeline = HTTPPipeline(channel)
            let handler = ExchangeHandler(
                .http1, proxy: proxy, abandoned: { [weak pipeline] in pipeline?.tell(.abandoned) }
            ) { [weak pipeline] in
                pipeline?.tell(.exchangeEnded(isReusable: $0))
            }
            var decoding = NIOHTTPDecoderLimitConfiguration()
            decoding.maxHeaderFieldSize = limits.headSize
            decoding.maxHeaderListSize = limits.headSize
            decoding.maxHeaderFieldCount = limits.fieldCount
            let decoder = ByteToMessageHandler(
                HTTPResponseDecoder(
                    leftOverBytesStrategy: .dropBytes, informationalResponseStrategy: .forward,
                    limitConfiguration: decoding))
            try channel.pipeline.syncOperations.addHandlers(
                HTTPRequestEncoder(), decoder, PersistenceObserver(handler), HTTP1ToHTTPClientCodec(), handler
            )
            pipeline.decoder = decoder
            pipeline.kind = .http1(handler)
            return pipeline
        }

        /// HTTP/2 on a channel that is ready for its first byte (RFC 9113).
        static func http2(on channel: any Channel, _ limits: Limits) throws -> HTTPPipeline {
            let pipeline = HTTPPipeline(channel)
            var configuration = NIOHTTP2Handler.Configuration()
            configuration.connection.initialSettings = [
                HTTP2Setting(parameter: .enablePush, value: 0),
                HTTP2Setting(parameter: .initialWindowSize, value: limits.streamWindow),
                HTTP2Setting(parameter: .maxHeaderListSize, value: limits.headSize),
            ]
            configuration.connection.targetWindowSize = limits.connectionWindow
            configuration.stream.targetWindowSize = limits.streamWindow
            // The bytes that a stream holds before its writer waits.
            configuration.stream.outboundBufferSizeHighWatermark = 128 * 1024
            configuration.stream.outboundBufferSizeLowWatermark = 64 * 1024
            let handler = NIOHTTP2Handler(
                mode: .client, eventLoop: channel.eventLoop,
                connectionConfiguration: configuration.connection,
                streamConfiguration: configuration.stream
            ) { stream in
                // Pushes are switched off.
                stream.close()
            }
            try channel.pipeline.syncOperations.addHandlers(
                handler, ConnectionFrameObserver { [weak pipeline] in pipeline?.heard($0) })
            pipeline.kind = .http2(try handler.syncMultiplexer())
            return pipeline
        }

        private func heard(_ said: ConnectionFrameObserver.Said) {
            switch said {
            case .maximumStreams(let count): tell(.maximumStreams(count))
            case .goAway(let last):
                lastProcessed = last
                tell(.goAway)
            case .failure(let error):
                failure = failure ?? error
                // No request is to come until it has closed.
                tell(.goAway)
                channel.close(promise: nil)
            }
        }

        /// The name in metrics.
        var protocolName: HTTPRequestMetrics.ProtocolName {
            if case .http2? = kind { .http2 } else { .http1 }
        }
    }

    /// Stands behind HTTP/2 and hears what is said of the connection as a whole.
    private final class ConnectionFrameObserver: ChannelInboundHandler {
        typealias InboundIn = HTTP2Frame

        enum Said {
            case maximumStreams(Int)
            case goAway(HTTP2StreamID)
            case failure(any Error)
        }

        /// What holds where the server says nothing (RFC 9113 section 6.5.2 leaves it open).
        private static let standardStreams = 100
        private let said: (Said) -> Void

        init(_ said: @escaping (Said) -> Void) { self.said = said }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            switch unwrapInboundIn(data).payload {
            case .settings(.settings(let settings)):
                let limit = settings.last { $0.parameter == .maxConcurrentStreams }?.value
                said(.maximumStreams(limit ?? Self.standardStreams))
            case .goAway(let last, _, _): said(.goAway(last))
            default: break
            }
            context.fireChannelRead(data)
        }

        func errorCaught(context: ChannelHandlerContext, error: any Error) {
            // A stream's own error is told to the stream.
            if error is NIOHTTP2Errors.StreamError { return }
            said(.failure(error))
        }
    }
#endif
