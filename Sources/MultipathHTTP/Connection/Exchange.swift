#if HTTP
    import HTTPTypes
    import LinuxNet
    import NIOCore

    /// One request on its way and its answer: what the caller's task and the connection's event loop share.
    ///
    /// The loop says what arrives (`received`, `ended`, `failed`); the task asks for the head, the body's parts and room to write.
    /// Each is told an end once, and both may end it at any time.
    final class Exchange: Sendable {
        typealias Parts = NIOThrowingAsyncSequenceProducer<
            ByteBuffer, any Error, NIOAsyncSequenceProducerBackPressureStrategies.HighLowWatermark, Demand
        >

        /// What goes out with the head.
        enum Outgoing: Sendable {
            case none
            case bytes(ByteBuffer)
            /// Written by the caller, of this length where it is known.
            case streamed(length: Int64?)
        }

        /// The answer's head, with the parts that follow.
        struct Head: Sendable {
            var response: HTTPResponse
            var parts: Parts
        }

        /// How far it had come when it failed.
        struct Progress: Sendable {
            /// Whether anything of the request may have reached the server.
            var isSent = false
            /// Whether anything of the answer arrived.
            var isAnswered = false
        }

        private struct State {
            var waiter: CheckedContinuation<Head, any Error>?
            var head: Result<Head, any Error>?
            var source: Parts.Source?
            var end: Result<HTTPFields?, any Error>?
            var handler: NIOLoopBound<ExchangeHandler>?
            var progress = Progress()
            var written: Int64 = 0
            var pendingWrite: EventLoopFuture<Void>?
            var requestTrailers: HTTPFields?
            var attachment: CheckedContinuation<Void, Never>?
            var drained: CheckedContinuation<Void, Never>?
            /// Of the body.
            var bytesArrived: Int64 = 0
            /// Whether what arrives is the caller's: of the rest of an answer, that is known when its head has been read.
            var counts: Bool
            /// From the call until the end, while it does not count.
            var uncountedEnd: Duration?
        }

        let request: HTTPRequest
        let outgoing: Outgoing
        let stallTimeout: TimeAmount
        let decompression: HTTPRequestOptions.Decompression
        let record: MetricsRecord
        /// Whether it asks for the rest of an answer that has begun on another connection.
        let isContinuation: Bool
        /// Hears of answers before the answer, on the event loop.
        let informational: (@Sendable (HTTPResponse, HTTPRequest) -> Void)?
        private let state: Locked<State>

        init(
            _ request: HTTPRequest, _ outgoing: Outgoing, stallTimeout: Duration,
            decompression: HTTPRequestOptions.Decompression, record: MetricsRecord,
            isContinuation: Bool = false,
            informational: (@Sendable (HTTPResponse, HTTPRequest) -> Void)? = nil
        ) {
            self.request = request
            self.outgoing = outgoing
            self.stallTimeout = .nanoseconds(stallTimeout.wholeNanoseconds)
            self.decompression = decompression
            self.record = record
            self.isContinuation = isContinuation
            self.informational = informational
            state = Locked(State(counts: !isContinuation))
        }

        // MARK: The caller's task

        /// The answer's head. Asked for once; a cancelled task ends the exchange.
        nonisolated(nonsending) func head() async throws -> Head {
            try await withTaskCancellationHandler {
                try await withCheckedThrowingContinuation { continuation in
                    let known = state.withLock { state -> Result<Head, any Error>? in
                        defer { state.head = nil }
                        if let head = state.head { return head }
                        state.waiter = continuation
                        return nil
                    }
                    if let known { continuation.resume(with: known) }
                }
            } onCancel: {
                abort(CancellationError())
            }
        }

        /// How far it has come.
        var progress: Progress { state.withLock { $0.progress } }

        /// Whether it has ended, well or not.
        var isOver: Bool { state.withLock { $0.end != nil } }

        /// How much of the body has arrived, in bytes.
        var bytesArrived: Int64 { state.withLock { $0.bytesArrived } }

        /// It brings the rest of the caller's answer, and what has arrived of it counts.
        ///
        /// - Parameter twice: how many bytes the connection before has brought as well.
        func countsFromNow(on lease: ConnectionPool.Lease, twice: Int64) {
            state.withLock { state in
                state.counts = true
                record.continued(on: lease, bytes: state.bytesArrived - twice, ended: state.uncountedEnd)
            }
        }

        /// The fields behind the body; nil before its end.
        var trailers: HTTPFields? { state.withLock { try? $0.end?.get() } }

        /// - Throws: why the answer is not complete.
        func ensureComplete() throws {
            switch state.withLock({ $0.end }) {
            case .success?: return
            case .failure(let error)?: throw error
            // A cancelled task's sequence ends without a word.
            case nil: throw CancellationError()
            }
        }

        /// The caller wants no more of the answer. What is left of a short one is read and dropped, so that the connection can
        /// be used again.
        func discard() { onLoop { $0.discard($1) } }

        /// The same, and returns when the exchange is over. After this time it is ended.
        func drain(within limit: TimeAmount) async {
            onLoop { $0.discard($1, drains: true) }
            let handler = state.withLock { $0.handler }
            await withCheckedContinuation { continuation in
                let isOver = state.withLock { state in
                    guard state.end == nil else { return true }
                    state.drained = continuation
                    return false
                }
                if isOver { return continuation.resume() }
                handler?.eventLoop.scheduleTask(in: limit) { [self] in
                    if state.withLock({ $0.drained != nil }) { abort(CancellationError()) }
                }
            }
        }

        /// Ends it, from any thread, unless it has ended. On a connection's loop, which may know the reason better and tells its
        /// connection first.
        func abort(_ error: any Error) {
            if state.withLock({ $0.handler == nil }) { failed(error) }
            onLoop { $0.abort($1, error) }
        }

        private func onLoop(_ body: @escaping @Sendable (ExchangeHandler, Exchange) -> Void) {
            guard let handler = state.withLock({ $0.handler }) else { return }
            handler.execute { body($0, self) }
        }

        // MARK: The request's body

        /// Returns when a connection carries it, or it has ended: before, there is no room to write.
        func waitForConnection() async {
            await withCheckedContinuation { continuation in
                let isKnown = state.withLock { state in
                    guard state.handler == nil, state.end == nil else { return true }
                    state.attachment = continuation
                    return false
                }
                if isKnown { continuation.resume() }
            }
        }

        /// Sends a part of the body, and returns when the one before has left: so two are under way at most.
        func write(_ bytes: ByteBuffer) async throws {
            try Task.checkCancellation()
            let (handler, before) = try state.withLock { state in
                if case .failure(let error)? = state.end { throw error }
                state.written += Int64(bytes.readableBytes)
                if case .streamed(let length?) = outgoing, state.written > length {
                    throw MultipathHTTPError(.bodyLengthMismatch, "the body is longer than \(length) bytes")
                }
                return (state.handler, state.pendingWrite)
            }
            // An answer that came early ends the body.
            guard let handler else { throw MultipathHTTPError(.connectionLost, "the request has ended") }
            let written = handler.eventLoop.flatSubmit {
                handler.value.write(bytes, for: self, handler.eventLoop)
            }
            state.withLock { $0.pendingWrite = written }
            try await left(before)
        }

        /// Returns when a part of the body has left. Where the connection breaks, that is why the exchange ends, and not what its channel
        /// says of the part.
        private func left(_ part: EventLoopFuture<Void>?) async throws {
            do {
                try await part?.get()
            } catch {
                if case .failure(let reason)? = state.withLock({ $0.end }) { throw reason }
                throw MultipathHTTPError(error, hasHead: false)
            }
        }

        func setTrailers(_ trailers: HTTPFields) { state.withLock { $0.requestTrailers = trailers } }

        /// The body is written.
        func finishBody() async throws {
            let (handler, before, trailers) = try state.withLock { state in
                if case .streamed(let length?) = outgoing, state.written != length {
                    throw MultipathHTTPError(
                        .bodyLengthMismatch, "the body has \(state.written) bytes instead of \(length)")
                }
                return (state.handler, state.pendingWrite, state.requestTrailers)
            }
            guard let handler else { return }
            try await left(before)
            try await handler.eventLoop.submit { handler.value.endBody(trailers, for: self) }.get()
        }

        // MARK: The connection's loop

        /// - Returns: false where it has ended already, and nothing is to be sent.
        func attach(_ handler: NIOLoopBound<ExchangeHandler>) -> Bool {
            let (isWanted, attachment) = state.withLock { state in
                guard state.end == nil else { return (false, state.attachment.take()) }
                state.handler = handler
                state.progress.isSent = true
                return (true, state.attachment.take())
            }
            attachment?.resume()
            return isWanted
        }

        /// The caller that waits for the head. It is told when what came together with it is there as well: to wake its thread once is
        /// much of what a small answer costs.
        struct Arrival {
            fileprivate let waiter: CheckedContinuation<Head, any Error>
            fileprivate let head: Head

            func tell() { waiter.resume(returning: head) }
        }

        /// - Parameter mostParts: how many parts of the body wait for its reader before no more are read.
        /// - Returns: the caller that waits for the head, to be told once; nil where none waits yet.
        func received(_ response: HTTPResponse, _ demand: Demand, mostParts: Int) -> Arrival? {
            let new = Parts.makeSequence(
                backPressureStrategy: .init(lowWatermark: max(mostParts / 4, 1), highWatermark: mostParts),
                finishOnDeinit: false,
                delegate: demand)
            let head = Head(response: response, parts: new.sequence)
            let waiter = state.withLock { state -> CheckedContinuation<Head, any Error>? in
                // One answer has one head.
                guard state.end == nil, state.source == nil else {
                    new.source.finish()
                    return nil
                }
                state.progress.isAnswered = true
                state.source = new.source
                if let waiter = state.waiter.take() { return waiter }
                state.head = .success(head)
                return nil
            }
            if !isContinuation { record.update { $0.responseStart = record.elapsed } }
            return waiter.map { Arrival(waiter: $0, head: head) }
        }

        /// - Returns: whether more is wanted now.
        func received(_ parts: [ByteBuffer]) -> Bool {
            let count = Int64(parts.reduce(0) { $0 + $1.readableBytes })
            let source = state.withLock { state -> Parts.Source? in
                guard let source = state.source else { return nil }
                state.bytesArrived += count
                if state.counts { record.update { $0.bodyBytesReceived += count } }
                return source
            }
            guard let source else { return true }
            return switch source.yield(contentsOf: parts) {
            case .produceMore, .dropped: true
            case .stopProducing: false
            }
        }

        func ended(_ trailers: HTTPFields?) { settle(.success(trailers))?.tell() }

        /// Has no effect after the end.
        func failed(_ error: any Error) { settle(.failure(error))?.tell() }

        /// Writes down how it ended, for those that ask. The caller hears of it by `tell` alone, so that what its next request needs
        /// can be put in order before.
        ///
        /// - Returns: nil where it had ended before.
        func settle(_ result: Result<HTTPFields?, any Error>) -> Ending? {
            state.withLock { state -> Ending? in
                guard state.end == nil else { return nil }
                var result = result
                // HTTP/2 has heads of interim answers that end the stream.
                if case .success = result, state.source == nil {
                    result = .failure(MultipathHTTPError(.malformedAnswer, "the answer has no head"))
                }
                state.end = result
                if state.counts {
                    record.update { $0.responseEnd = record.elapsed }
                } else {
                    state.uncountedEnd = record.elapsed
                }
                if case .success = result { state.handler = nil }
                if case .failure(let error) = result, state.source == nil, state.waiter == nil {
                    state.head = .failure(error)
                }
                return Ending(
                    result: result, source: state.source.take(), waiter: state.waiter.take(),
                    attachment: state.attachment.take(), drained: state.drained.take())
            }
        }

        /// Who waits for an end that is settled. Told once, or they wait for ever.
        struct Ending {
            fileprivate var result: Result<HTTPFields?, any Error>
            fileprivate var source: Parts.Source?
            fileprivate var waiter: CheckedContinuation<Head, any Error>?
            fileprivate var attachment: CheckedContinuation<Void, Never>?
            fileprivate var drained: CheckedContinuation<Void, Never>?

            func tell() {
                attachment?.resume()
                drained?.resume()
                switch result {
                case .success: source?.finish()
                case .failure(let error):
                    source?.finish(error)
                    waiter?.resume(throwing: error)
                }
            }
        }

        /// The body's reader wants more, or has gone.
        final class Demand: NIOAsyncSequenceProducerDelegate {
            private let handler: NIOLoopBound<ExchangeHandler>
            private let exchange: Exchange

            init(_ handler: NIOLoopBound<ExchangeHandler>, _ exchange: Exchange) {
                self.handler = handler
                self.exchange = exchange
            }

            func produceMore() { handler.execute { [exchange] in $0.resume(exchange) } }

            func didTerminate() {
                // Mostly everything was read: no loop is to be woken for that.
                guard !exchange.isOver else { return }
                handler.execute { [exchange] in $0.discard(exchange) }
            }
        }
    }

    extension NIOLoopBound {
        /// Runs a closure with the value on its loop, later.
        func execute(_ body: @escaping @Sendable (Value) -> Void) {
            eventLoop.execute { body(self.value) }
        }
    }
#endif
