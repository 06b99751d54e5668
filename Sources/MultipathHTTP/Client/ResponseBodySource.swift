#if HTTP
    import LinuxNet
    import Multipath
    import HTTPTypes

    /// Where an answer's body comes from: the connection that brings it, and after that another one, which brings the rest.
    ///
    /// The rest is asked for where the connection has broken, and where the pool has found a better one while much is still to
    /// come (`RestOfBody`). The old one brings what it can meanwhile, and is left when the new one's first byte is there.
    final class ResponseBodySource: Sendable {
        /// A connection with an exchange on it.
        struct Carrier: Sendable {
            var lease: ConnectionPool.Lease
            var exchange: Exchange
        }

        /// What brings the rest.
        struct Continuation: Sendable {
            fileprivate var carrier: Carrier
            /// The body's parts, from the byte on that was asked for.
            var parts: Exchange.Parts
            /// That byte.
            var start: Int64
        }

        /// Sends the request for the rest.
        typealias Ask = @Sendable (HTTPRequest) async throws -> Carrier

        private struct State {
            var carrier: Carrier
            var asking: Task<Continuation?, Never>?
            /// There, and not read from yet.
            var next: Continuation?
            var retriesLeft: Int
            var isOver = false
            /// Why it is over, where that is no wish of the caller's.
            var reason: (any Error)?
        }

        private let rest: RestOfBody?
        private let ask: Ask
        private let state: Locked<State>

        /// - Parameters:
        ///   - rest: nil where the rest can't be asked for.
        ///   - retries: how often it is asked for because a connection broke.
        init(_ carrier: Carrier, _ rest: RestOfBody?, retries: Int, ask: @escaping Ask) {
            self.rest = rest
            self.ask = ask
            state = Locked(State(carrier: carrier, retriesLeft: retries))
        }

        /// What brings the body now.
        var carrier: Carrier { state.withLock { $0.carrier } }

        /// Why there is no more, after an error of the connection.
        func reason(after error: any Error) -> any Error {
            if let reason = state.withLock({ $0.reason }) { return reason }
            return Task.isCancelled ? CancellationError() : error
        }

        /// The body has ended, as the last connection says.
        ///
        /// - Throws: where that is not as long as the first one has said.
        func checkLength(_ received: Int64) throws(MultipathHTTPError) {
            guard let rest, rest.length != received else { return }
            throw MultipathHTTPError(
                .bodyCutShort, "\(received) bytes arrived where the server named \(rest.length)")
        }

        // MARK: The reader

        /// Asks for the rest over a better connection where the pool has one, and enough is to come.
        ///
        /// - Parameter received: how many bytes of the body have come.
        func improve(after received: Int64) {
            guard let rest, rest.length - received >= RestOfBody.leastMoved else { return }
            state.withLock { state in
                guard state.asking == nil, state.carrier.lease.connection.isSuperseded else { return }
                state.asking = asking(rest, after: received, instead: state.carrier.exchange)
            }
        }

        /// What brings the rest after an error; nil where nothing does.
        func continuation(after error: any Error, received: Int64) async -> Continuation? {
            guard let rest, rest.length > received, !(error is CancellationError) else { return nil }
            let asked = state.withLock { $0.asking }
            if let asked, let found = await value(of: asked) { return take(found, received) }
            guard (error as? MultipathHTTPError)?.isTransient == true else { return nil }
            let asking = state.withLock { state -> Task<Continuation?, Never>? in
                guard !state.isOver, state.retriesLeft > 0 else { return nil }
                state.retriesLeft -= 1
                state.asking = self.asking(rest, after: received, instead: nil)
                return state.asking
            }
            guard let asking, let found = await value(of: asking) else { return nil }
            return take(found, received)
        }

        private func value(of asking: Task<Continuation?, Never>) async -> Continuation? {
            await withTaskCancellationHandler {
                await asking.value
            } onCancel: {
                asking.cancel()
            }
        }

        private func take(_ found: Continuation, _ received: Int64) -> Continuation {
            state.withLock { ($0.carrier, $0.asking, $0.next) = (found.carrier, nil, nil) }
            found.carrier.exchange.record.continued(on: found.carrier.lease, twice: received - found.start)
            return found
        }

        private func asking(
            _ rest: RestOfBody, after received: Int64, instead old: Exchange?
        ) -> Task<Continuation?, Never> {
            Task {
                do {
                    let carrier = try await ask(rest.request(after: received))
                    let head = try await carrier.exchange.head()
                    let continuation = Continuation(carrier: carrier, parts: head.parts, start: received)
                    let isWanted = state.withLock { state in
                        guard !state.isOver, rest.isContinued(by: head.response, after: received) else {
                            return false
                        }
                        state.next = continuation
                        return true
                    }
                    guard isWanted else {
                        carrier.exchange.discard()
                        return nil
                    }
                    // The reader takes what has come, and then goes on with the rest.
                    old?.abort(Superseded())
                    return continuation
                } catch {
                    return nil
                }
            }
        }

        /// Another connection brings the rest.
        private struct Superseded: Error {}

        // MARK: The request

        /// The caller wants no more of the body.
        func end() {
            for exchange in close() where !exchange.isOver { exchange.discard() }
        }

        /// The same, for a reason.
        func abort(_ error: any Error) {
            for exchange in close(error) { exchange.abort(error) }
        }

        private func close(_ reason: (any Error)? = nil) -> [Exchange] {
            state.withLock { state in
                (state.isOver, state.reason) = (true, reason)
                state.asking?.cancel()
                return [state.carrier.exchange] + (state.next.map { [$0.carrier.exchange] } ?? [])
            }
        }
    }
#endif
