#if HTTP
    import HTTPTypes
    import NIOHTTPCompression
    import NIOCore
    import NIOHTTP1
    import NIOHTTP2
    import NIOHTTPTypes

    /// The last handler of a channel that carries requests: an HTTP/1.1 connection, which carries one exchange after the other,
    /// or a stream of HTTP/2, which carries one.
    ///
    /// Back-pressure: while the body's reader is behind, the channel reads no more. All on the channel's loop.
    final class ExchangeHandler: ChannelDuplexHandler {
        typealias InboundIn = HTTPResponsePart
        typealias OutboundIn = HTTPRequestPart
        typealias OutboundOut = HTTPRequestPart

        enum Kind: Sendable {
            case http1
            case stream
        }

        /// An answer that its reader leaves is read to its end where that is no farther than this: less than a new connection
        /// costs.
        private static let mostDiscarded = 64 * 1024

        /// How many parts of a body wait for its reader before no more are read: of HTTP/1.1 what one turn of the loop has read, up
        /// to 256 kB. While it waits the next would take new memory, and waits in the kernel as well …
        private static let mostReads = 1
        /// … and of HTTP/2 frames, of 16 kB mostly.
        private static let mostFrames = 32
        /// Of more parts than that one turn makes one: a chunk may have a few bytes, and each is handed on by itself.
        private static let mostParts = 4

        /// How much of a request's body is written at once: each time so much has left, the request is no stalled one.
        private static let mostWritten = 64 * 1024

        private let kind: Kind
        /// The other end, where that is a proxy and not the origin.
        private let proxy: HTTPProxy?
        /// Hears that an exchange has ended before its time, on a connection that carries no other.
        private let abandoned: () -> Void
        /// Hears of each exchange's end, and whether the connection can carry another one.
        private let ended: (_ isReusable: Bool) -> Void
        /// Why the whole connection has failed, where that is known better than this channel knows it.
        private let connectionError: () -> (any Error)?
        /// Whether the server has said that it did not process the exchange.
        private let isUnprocessed: () -> Bool
        private var context: ChannelHandlerContext?
        private var exchange: Exchange?
        private var isRequestComplete = false
        private var hasHead = false
        /// Whether any of the answer's body has come.
        private var hasBody = false
        /// Whether the connection outlives the answer (RFC 9112 section 9.3).
        var persists = true
        /// Nil while the answer is wanted; else how many more bytes of it are read and dropped.
        private var discardable: Int?
        /// What has arrived of the body in this turn of the loop.
        private var parts: [ByteBuffer] = []
        /// Told at the end of this turn of the loop.
        private var arrival: Exchange.Arrival?
        private var isPaused = false
        /// An error is about to be told.
        private var isFailing = false
        private var hasPendingRead = false
        private var lastActivity = NIODeadline.now()
        private var stallCheck: Scheduled<Void>?

        init(
            _ kind: Kind, proxy: HTTPProxy? = nil, connectionError: @escaping () -> (any Error)? = { nil },
            isUnprocessed: @escaping () -> Bool = { false }, abandoned: @escaping () -> Void = {},
            ended: @escaping (_ isReusable: Bool) -> Void
        ) {
            self.kind = kind
            self.proxy = proxy
            self.connectionError = connectionError
            self.isUnprocessed = isUnprocessed
            self.abandoned = abandoned
            self.ended = ended
        }

        func handlerAdded(context: ChannelHandlerContext) { self.context = context }

        func handlerRemoved(context: ChannelHandlerContext) { self.context = nil }

        // MARK: The exchange

        /// Sends a request. Where the channel has closed meanwhile, the exchange fails without having been sent.
        func begin(_ exchange: Exchange) {
            guard let context, context.channel.isActive, self.exchange == nil else {
                let error = MultipathHTTPError(
                    .connectionLost, "the connection had closed before", underlying: connectionError())
                return settle(exchange, .failure(error), isReusable: false)
            }
            guard exchange.attach(NIOLoopBound(self, eventLoop: context.eventLoop)) else {
                ended(true)
                if kind == .stream { context.close(promise: nil) }
                return
            }
            self.exchange = exchange
            (isRequestComplete, hasHead, hasBody, persists, discardable) = (false, false, false, true, nil)
            lastActivity = .now()
            if !exchange.isContinuation {
                exchange.record.update { $0.requestStart = exchange.record.elapsed }
            }
            write(.head(proxy?.forwarded(exchange.request) ?? exchange.request), context)
            switch exchange.outgoing {
            case .none: endRequest(nil, context)
            case .bytes(let bytes):
                if bytes.readableBytes > 0 { write(body: bytes, context, promise: nil) }
                endRequest(nil, context)
            case .streamed: break
            }
            context.flush()
            if self.exchange === exchange { scheduleStallCheck(exchange.stallTimeout) }
        }

        func write(
            _ bytes: ByteBuffer, for exchange: Exchange, _ loop: any EventLoop
        ) -> EventLoopFuture<Void> {
            guard let context, self.exchange === exchange, !isRequestComplete else {
                // The answer came before the body's end: its writer stops at the next part.
                return loop.makeFailedFuture(MultipathHTTPError(.connectionLost, "the request has ended"))
            }
            let written = context.eventLoop.makePromise(of: Void.self)
            write(body: bytes, context, promise: written)
            context.flush()
            return written.futureResult
        }

        /// Writes a part of the body, in pieces that leave one after the other: TLS tells of all that it was given between two
        /// flushes at once. The last is not flushed.
        private func write(
            body bytes: ByteBuffer, _ context: ChannelHandlerContext, promise: EventLoopPromise<Void>?
        ) {
            var rest = bytes
            let bound = NIOLoopBound(self, eventLoop: context.eventLoop)
            while true {
                let piece = rest.readSlice(length: min(rest.readableBytes, Self.mostWritten))!
                let left = context.eventLoop.makePromise(of: Void.self)
                left.futureResult.whenSuccess { bound.value.lastActivity = .now() }
                let isLast = rest.readableBytes == 0
                if isLast { left.futureResult.cascade(to: promise) }
                context.write(wrapOutboundOut(.body(piece)), promise: left)
                if isLast { return }
                context.flush()
            }
        }

        func endBody(_ trailers: HTTPFields?, for exchange: Exchange) {
            guard let context, self.exchange === exchange, !isRequestComplete else { return }
            endRequest(trailers, context)
            context.flush()
        }

        private func endRequest(_ trailers: HTTPFields?, _ context: ChannelHandlerContext) {
            isRequestComplete = true
            var trailers = trailers
            if kind == .stream { trailers?.removeConnectionFields() }
            write(.end(trailers), context)
        }

        private func write(_ part: HTTPRequestPart, _ context: ChannelHandlerContext) {
            context.write(wrapOutboundOut(part), promise: nil)
        }

        /// The reader has gone.
        ///
        /// - Parameter drains: whether a stream, too, is read to its end, where that is near: servers count streams that their clients
        ///   reset.
        func discard(_ exchange: Exchange, drains: Bool = false) {
            guard self.exchange === exchange, discardable == nil else { return }
            // A body that is still being written has no reader for its answer either.
            guard kind == .http1 || drains, isRequestComplete, hasHead else {
                return end(CancellationError())
            }
            discardable = Self.mostDiscarded
            resume(exchange)
        }

        func abort(_ exchange: Exchange, _ error: any Error) {
            guard self.exchange === exchange else { return }
            end(error)
        }

        /// The reader has room again.
        func resume(_ exchange: Exchange) {
            guard self.exchange === exchange else { return }
            readOn()
        }

        private func readOn() {
            isPaused = false
            lastActivity = .now()
            guard hasPendingRead else { return }
            hasPendingRead = false
            context?.read()
        }

        // MARK: The channel

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            guard let exchange else {
                // What was not asked for can't be told from the answer to what comes next.
                if kind == .http1 { context.close(promise: nil) }
                return
            }
            // A handler before this one has found a fault, and may tell of an end all the same.
            guard !isFailing else { return }
            lastActivity = .now()
            switch unwrapInboundIn(data) {
            case .head(let response): received(response, exchange, context)
            case .body(let part):
                hasBody = true
                if let left = discardable {
                    guard left >= part.readableBytes else {
                        return end(CancellationError())
                    }
                    discardable = left - part.readableBytes
                } else {
                    parts.append(part)
                }
            case .end(let trailers): complete(exchange, trailers, context)
            }
        }

        func channelReadComplete(context: ChannelHandlerContext) {
            if let exchange { handOver(to: exchange) }
            arrival.take()?.tell()
            context.fireChannelReadComplete()
        }

        /// Gives the reader what has arrived: all that one turn of the loop has read at once, for each handover may wake a thread.
        private func handOver(to exchange: Exchange) {
            guard !parts.isEmpty else { return }
            if kind == .http1, parts.count > Self.mostParts { parts = [parts.joined()] }
            if discardable == nil, !exchange.received(parts) { isPaused = true }
            parts.removeAll(keepingCapacity: true)
        }

        private func received(
            _ response: HTTPResponse, _ exchange: Exchange, _ context: ChannelHandlerContext
        ) {
            if response.status == .switchingProtocols {
                return end(
                    MultipathHTTPError(.unexpectedUpgrade, "the server changed the protocol, unasked"))
            }
            guard response.status.kind != .informational else {
                exchange.informational?(response, exchange.request)
                return
            }
            hasHead = true
            let bound = NIOLoopBound(self, eventLoop: context.eventLoop)
            let arrival = exchange.received(
                response, Exchange.Demand(bound, exchange),
                mostParts: kind == .http1 ? Self.mostReads : Self.mostFrames)
            if let arrival { self.arrival = arrival }
        }

        private func complete(_ exchange: Exchange, _ trailers: HTTPFields?, _ context: ChannelHandlerContext)
        {
            // An answer may end with the connection (RFC 9112 section 6.3).
            let isReusable = kind == .stream || persists && isRequestComplete && context.channel.isActive
            handOver(to: exchange)
            leave()
            settle(exchange, .success(trailers), isReusable: isReusable)
            if kind == .http1, !isReusable || !isRequestComplete { return context.close(promise: nil) }
            if kind == .stream, !isRequestComplete { context.close(promise: nil) }
            if hasPendingRead { readOn() }
        }

        /// Ends the exchange before its time; the channel can't be used any more.
        ///
        /// - Parameter isReusable: whether a stream's connection can.
        private func end(_ error: any Error, isReusable: Bool = true) {
            guard let exchange else { return }
            leave()
            settle(exchange, .failure(error), isReusable: kind == .stream && isReusable, isAbandoned: true)
            context?.close(promise: nil)
        }

        /// Settles the exchange before the connection hears of it, whose closing can't replace the reason then; and tells the caller
        /// last, whose next request finds the connection free, or gone.
        private func settle(
            _ exchange: Exchange, _ result: Result<HTTPFields?, any Error>, isReusable: Bool,
            isAbandoned: Bool = false
        ) {
            let (ending, arrival) = (exchange.settle(result), arrival.take())
            if isAbandoned { abandoned() }
            ended(isReusable)
            ending?.tell()
            arrival?.tell()
        }

        private func leave() {
            exchange = nil
            parts.removeAll(keepingCapacity: true)
            isPaused = false
            stallCheck?.cancel()
            stallCheck = nil
        }

        func read(context: ChannelHandlerContext) {
            if isPaused { hasPendingRead = true } else { context.read() }
        }

        func errorCaught(context: ChannelHandlerContext, error: any Error) {
            // An answer to HEAD, or one with the status 304, tells of a compression and has no body. The decompressor does not know.
            if exchange != nil, hasHead, !hasBody,
                error as? NIOHTTPDecompression.ExtraDecompressionError == .truncatedData
            {
                return
            }
            if kind == .stream, exchange != nil {
                // What is said of the connection, GOAWAY say, comes after what that does to its streams.
                let bound = NIOLoopBound((self, error), eventLoop: context.eventLoop)
                isFailing = true
                context.eventLoop.execute { bound.value.0.fail(bound.value.1) }
            } else if exchange != nil {
                fail(error)
            }
            context.close(promise: nil)
        }

        private func fail(_ error: any Error) {
            guard let exchange else { return }
            // What came before the end is whole.
            handOver(to: exchange)
            // A server that breaks the rules within a stream may do so in the next.
            let isSound = error is NIOHTTP2Errors.StreamClosed
            let reason =
                isUnprocessed() && !hasHead
                ? MultipathHTTPError(.refused, "the server did not process the request", underlying: error)
                : MultipathHTTPError(connectionError() ?? error, hasHead: hasHead)
            end(reason, isReusable: isSound)
        }

        func channelInactive(context: ChannelHandlerContext) {
            if let exchange, !isFailing {
                handOver(to: exchange)
                let error =
                    connectionError().map { MultipathHTTPError($0, hasHead: hasHead) }
                    ?? MultipathHTTPError(
                        hasHead ? .bodyCutShort : .connectionLost,
                        "the connection closed before the answer was complete")
                end(error)
            }
            context.fireChannelInactive()
        }

        // MARK: Stalls

        private func scheduleStallCheck(_ delay: TimeAmount) {
            guard let context else { return }
            let bound = NIOLoopBound(self, eventLoop: context.eventLoop)
            stallCheck = context.eventLoop.scheduleTask(in: delay) { bound.value.checkForStall() }
        }

        private func checkForStall() {
            guard let exchange else { return }
            // While the reader is behind it is not the network that stalls.
            if isPaused { lastActivity = .now() }
            let due = lastActivity + exchange.stallTimeout
            guard due <= .now() else { return scheduleStallCheck(due - .now()) }
            end(
                MultipathHTTPError(
                    .stalled,
                    "not a byte came or went for \(Double(exchange.stallTimeout.nanoseconds) / 1e9) s"))
        }
    }

    extension [ByteBuffer] {
        /// All their bytes, one after the other.
        fileprivate func joined() -> ByteBuffer {
            var whole = ByteBufferAllocator().buffer(capacity: reduce(0) { $0 + $1.readableBytes })
            for part in self { whole.writeImmutableBuffer(part) }
            return whole
        }
    }

    /// Stands between HTTP/1.1's decoder and the exchange, and reads what swift-http-types leaves out: whether the connection
    /// outlives the answer (RFC 9112 section 9.3).
    final class PersistenceObserver: ChannelInboundHandler {
        typealias InboundIn = HTTPClientResponsePart
        typealias InboundOut = HTTPClientResponsePart

        private let handler: ExchangeHandler

        init(_ handler: ExchangeHandler) { self.handler = handler }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            if case .head(let head) = unwrapInboundIn(data), head.status.code >= 200 {
                handler.persists = head.isKeepAlive
            }
            context.fireChannelRead(data)
        }
    }
#endif
