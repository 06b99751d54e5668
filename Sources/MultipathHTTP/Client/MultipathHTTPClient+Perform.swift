#if HTTP
    public import HTTPTypes
    import LinuxNet
    import Multipath
    import NIOCore

    extension MultipathHTTPClient {
        /// Sends a request, and hands its answer to a closure as soon as the head is there.
        ///
        /// Redirects are followed, and a request whose connection broke is sent again where that is safe (RFC 9110 section
        /// 9.2.2). When the closure returns, what it has not read of the body is dropped.
        ///
        /// - Parameters:
        ///   - request: with scheme, authority and path, such as `HTTPRequest(url:)` makes.
        ///   - body: what the request carries; nil for nothing.
        ///   - options: what it may do; the client's own unless given.
        ///   - responseHandler: gets the answer's head, and its body while it arrives.
        /// - Returns: what the closure returns.
        /// - Throws: `MultipathHTTPError`; `CancellationError`; what the body's closure or `responseHandler` throws.
        nonisolated(nonsending) public func perform<Return>(
            request: HTTPRequest, body: HTTPRequestBody? = nil, options: HTTPRequestOptions? = nil,
            responseHandler:
                nonisolated(nonsending) (MultipathHTTPResponse, HTTPResponseBody) async throws -> Return
        ) async throws -> Return {
            try await perform(
                request: request, body: body, options: options ?? configuration.options, informational: nil,
                responseHandler: responseHandler)
        }

        /// - Parameter informational: hears of answers that come before the answer (RFC 9110 section 15.2), on the event loop,
        ///   with the request that they are for.
        nonisolated(nonsending) func perform<Return>(
            request: HTTPRequest, body: HTTPRequestBody?, options: HTTPRequestOptions,
            informational: (@Sendable (HTTPResponse, HTTPRequest) -> Void)?,
            responseHandler:
                nonisolated(nonsending) (MultipathHTTPResponse, HTTPResponseBody) async throws -> Return
        ) async throws -> Return {
            let deadline = RequestDeadline(options.requestTimeout, on: loop)
            defer { deadline?.end() }
            let record = MetricsRecord()
            var plan = RequestPlan(request, body, options)
            while true {
                let (lease, exchange) = try await start(
                    plan, body, options, deadline, record, informational)
                let step: Step<Return>
                if case .streamed = exchange.outgoing, let body {
                    step = try await withThrowingTaskGroup(of: Void.self) { group in
                        group.addTask { await body.produce(into: exchange) }
                        defer { group.cancelAll() }
                        return try await finish(exchange, lease, &plan, options, deadline, responseHandler)
                    }
                } else {
                    step = try await finish(exchange, lease, &plan, options, deadline, responseHandler)
                }
                switch step {
                case .done(let value): return value
                case .again:
                    record.update { metrics in
                        (metrics.retryCount, metrics.redirectCount) = (plan.retryCount, plan.redirectCount)
                    }
                }
            }
        }

        /// A path that is found this soon was there before.
        private static let noWait = Duration.milliseconds(50)

        /// How long the rest of a redirect's body may take: longer, and a new connection is sooner there.
        private static let drainTime = TimeAmount.milliseconds(250)

        private enum Step<Return> {
            case done(Return)
            /// Send what the plan says now.
            case again
        }

        /// Sends the plan's request on a connection that has room.
        nonisolated(nonsending) private func start(
            _ plan: RequestPlan, _ body: HTTPRequestBody?, _ options: HTTPRequestOptions,
            _ deadline: RequestDeadline?, _ record: MetricsRecord,
            _ informational: (@Sendable (HTTPResponse, HTTPRequest) -> Void)?
        ) async throws -> (ConnectionPool.Lease, Exchange) {
            let origin = try HTTPOrigin(of: plan.request)
            let begun = record.elapsed
            let lease = try await lease(origin, options, deadline)
            record.leased(
                lease.connection.connection, lease.connection.protocolName, isReused: lease.isReused,
                waited: record.elapsed - begun)
            record.update { $0.isSecure = origin.isSecure }
            let (request, outgoing) = prepared(plan, body, options, lease.connection.protocolName)
            let exchange = Exchange(
                request, outgoing, stallTimeout: options.stallTimeout, decompression: options.decompression,
                record: record, informational: informational)
            deadline?.onExpiry { exchange.abort($0) }
            lease.connection.begin(exchange)
            return (lease, exchange)
        }

        nonisolated(nonsending) private func lease(
            _ origin: HTTPOrigin, _ options: HTTPRequestOptions, _ deadline: RequestDeadline?
        ) async throws -> ConnectionPool.Lease {
            var backoff = BackoffMachine()
            while true {
                do {
                    return try await pool.lease(
                        key(origin, options), options.connectionConfiguration, within: deadline)
                } catch let error as ConnectionError
                    where options.waitsForConnectivity && error.code.isWithoutPath
                {
                    let pause = backoff.failed(random: .random(in: 0..<1))
                    if try await waitForPath(options.policy, pause, deadline) { backoff.succeeded() }
                } catch is CancellationError {
                    throw CancellationError()
                } catch {
                    throw MultipathHTTPError(notConnected: error)
                }
            }
        }

        /// Waits until a path is allowed. Where one is, which leads nowhere: until something about the paths is another, or for this
        /// pause.
        ///
        /// - Returns: whether none was allowed before.
        nonisolated(nonsending) private func waitForPath(
            _ policy: PathPolicy, _ pause: Duration, _ deadline: RequestDeadline?
        ) async throws -> Bool {
            let monitor = connector.monitor
            let waiting = Task {
                try await withThrowingTaskGroup(of: Bool?.self) { group in
                    group.addTask {
                        for await path in monitor.updates.dropFirst() where policy.allowsAny(in: path) {
                            return true
                        }
                        return nil
                    }
                    group.addTask {
                        let begun = MonotonicTime.now
                        _ = try await monitor.waitForPath(satisfying: policy)
                        guard begun.duration(to: .now) < Self.noWait else { return true }
                        try await Task.sleep(for: pause)
                        return false
                    }
                    defer { group.cancelAll() }
                    // The first has nothing to say where no more is told of the paths; the second throws then.
                    while let hasWaited = try await group.next() { if let hasWaited { return hasWaited } }
                    return false
                }
            }
            let over = Expiry()
            deadline?.onExpiry { error in
                over.set(error)
                waiting.cancel()
            }
            do {
                return try await withTaskCancellationHandler {
                    try await waiting.value
                } onCancel: {
                    waiting.cancel()
                }
            } catch {
                throw over.error ?? error
            }
        }

        /// Waits for the answer, and hands it on where it is not one that the plan knows what to do about.
        nonisolated(nonsending) private func finish<Return>(
            _ exchange: Exchange, _ lease: ConnectionPool.Lease, _ plan: inout RequestPlan,
            _ options: HTTPRequestOptions, _ deadline: RequestDeadline?,
            _ responseHandler:
                nonisolated(nonsending) (MultipathHTTPResponse, HTTPResponseBody) async throws -> Return
        ) async throws -> Step<Return> {
            let head: Exchange.Head
            do {
                head = try await exchange.head()
            } catch {
                if plan.retries(after: error, exchange.progress) { return .again }
                throw described(error, lease, plan)
            }
            if let jar = configuration.cookies, let origin = try? HTTPOrigin(of: exchange.request) {
                jar.ingest(head.response, from: origin, path: exchange.request.path ?? "/")
            }
            if head.response.status.code == 421, plan.retriesMisdirected() {
                pool.retire(lease)
                exchange.discard()
                return .again
            }
            switch plan.ingest(head.response) {
            case .deliver: break
            case .follow:
                // Mostly the next request goes to the same server, and finds the connection free.
                await exchange.drain(within: Self.drainTime)
                return .again
            case .fail(var error):
                exchange.discard()
                error.status = head.response.status.code
                throw described(error, lease, plan)
            }
            let response = MultipathHTTPResponse(
                head: head.response, request: exchange.request, record: exchange.record)
            let source = source(of: head.response, exchange, lease, plan, options)
            deadline?.onExpiry { source.abort($0) }
            defer { source.end() }
            do {
                return .done(
                    try await responseHandler(response, HTTPResponseBody(source: source, parts: head.parts)))
            } catch {
                throw described(error, source.carrier.lease, plan)
            }
        }

        /// Where the answer's body comes from, on this connection and those after it.
        private func source(
            of response: HTTPResponse, _ exchange: Exchange, _ lease: ConnectionPool.Lease,
            _ plan: RequestPlan, _ options: HTTPRequestOptions
        ) -> ResponseBodySource {
            ResponseBodySource(
                ResponseBodySource.Carrier(lease: lease, exchange: exchange), of: response,
                retries: options.maximumRetries - plan.retryCount,
                ResponseBodySource.Requests(
                    // What limits the time of all of it ends this as well: by its task.
                    lease: { [self] in
                        try await self.lease(try HTTPOrigin(of: plan.request), options, nil)
                    },
                    send: { [record = exchange.record] request, lease in
                        var request = request
                        if lease.connection.protocolName == .http2 { request.translateToHTTP2() }
                        let rest = Exchange(
                            request, .none, stallTimeout: options.stallTimeout, decompression: .disabled,
                            record: record, isContinuation: true)
                        lease.connection.begin(rest)
                        return rest
                    },
                    giveBack: { [pool] in pool.giveBack($0) }, retire: { [pool] in pool.retire($0) }))
        }

        /// An error with the connection that it happened on.
        private func described(
            _ error: any Error, _ lease: ConnectionPool.Lease, _ plan: RequestPlan
        ) -> any Error {
            guard var error = error as? MultipathHTTPError else { return error }
            if lease.connection.isBrokenOff, [.bodyCutShort, .connectionLost].contains(error.code) {
                error.code = .connectionLost
                error.reason = "the connection's path failed before the answer was complete"
                error.isPathLoss = true
            }
            error.establishment = error.establishment ?? lease.connection.connection.establishment
            error.attempts = plan.retryCount + 1
            return error
        }

        // MARK: What goes out

        private func prepared(
            _ plan: RequestPlan, _ body: HTTPRequestBody?, _ options: HTTPRequestOptions,
            _ protocolName: HTTPRequestMetrics.ProtocolName
        ) -> (HTTPRequest, Exchange.Outgoing) {
            var request = plan.request
            for field in configuration.headerFields
            where request.headerFields[field.name] == nil && plan.maySend(field.name) {
                request.headerFields.append(field)
            }
            if request.headerFields[.acceptEncoding] == nil {
                request.headerFields[.acceptEncoding] =
                    options.decompression == .disabled ? "identity" : "gzip, deflate"
            }
            if let jar = configuration.cookies, request.headerFields[.cookie] == nil,
                let origin = try? HTTPOrigin(of: request),
                let field = jar.field(for: origin, path: request.path ?? "/")
            {
                request.headerFields[.cookie] = field
            }
            if let priority = options.priority, let name = HTTPField.Name("Priority") {
                request.headerFields[name] = priority.field
            }
            if protocolName == .http2 { request.translateToHTTP2() }
            guard plan.hasBody, let body else { return (request, .none) }
            if let length = body.length {
                request.headerFields[.contentLength] = "\(length)"
            } else if protocolName == .http1 {
                request.headerFields[.transferEncoding] = "chunked"
            }
            if case .bytes(let bytes) = body.content { return (request, .bytes(bytes)) }
            return (request, .streamed(length: body.length))
        }
    }

    extension HTTPRequestBody {
        /// Writes the body. Where that fails, the exchange ends.
        func produce(into exchange: Exchange) async {
            await exchange.waitForConnection()
            // What was not sent is sent again, with the whole body.
            guard exchange.progress.isSent else { return }
            do {
                switch content {
                case .bytes: break
                case .restartable(let body), .once(let body):
                    try await body(HTTPBodyWriter(exchange: exchange))
                }
                try await exchange.finishBody()
            } catch {
                // Where the whole answer came first, the rest of the body is not wanted.
                if !exchange.isOver { exchange.abort(error) }
            }
        }
    }

    /// Why a wait was ended.
    private final class Expiry: Sendable {
        private let state = Locked<(any Error)?>(nil)

        var error: (any Error)? { state.withLock { $0 } }

        func set(_ error: any Error) { state.withLock { $0 = error } }
    }
#endif
