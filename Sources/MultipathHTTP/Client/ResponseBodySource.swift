#if HTTP
    import HTTPTypes
    import LinuxNet
    import Multipath

    /// Where an answer's body comes from: the connection that brings it, and after that another one, which brings the rest.
    ///
    /// The rest is asked for where the connection has broken, and where the pool has found a better one while much is still to
    /// come (`RestOfBody`). The old one brings what it can meanwhile, and is left when the new one's answer is there.
    final class ResponseBodySource: Sendable {
        /// A connection with an exchange on it.
        struct Carrier: Sendable {
            var lease: ConnectionPool.Lease
            var exchange: Exchange
            /// Where in the body it begins.
            var start: Int64 = 0

            /// How much of the body has come, up to what it has brought.
            var position: Int64 { start + exchange.bytesArrived }
        }

        /// What brings the rest.
        struct Continuation: Sendable {
            let carrier: Carrier
            /// The body's parts, from the carrier's start on.
            let parts: Exchange.Parts
            /// How long the whole body is, in bytes.
            let length: Int64
        }

        /// What it has others do.
        struct Requests: Sendable {
            /// Has a connection for one request.
            var lease: @Sendable () async throws -> ConnectionPool.Lease
            /// Sends a request on it.
            var send: @Sendable (HTTPRequest, ConnectionPool.Lease) -> Exchange
            /// Gives a connection back on which nothing was sent.
            var giveBack: @Sendable (ConnectionPool.Lease) -> Void
            /// Has a connection take no more requests.
            var retire: @Sendable (ConnectionPool.Lease) -> Void
        }

        private enum Outcome: Sendable {
            case found(Continuation)
            /// The connection that was to bring it broke before its answer.
            case broken
            /// It can't be had, or is not to be.
            case unavailable
        }

        /// Whether the rest can be asked for. Most answers have no need to know.
        private enum Knowledge {
            case open(HTTPResponse)
            case known(RestOfBody?)
        }

        private struct State {
            var carrier: Carrier
            var rest: Knowledge
            /// Says when there is a better connection.
            var watched: HTTPConnection?
            /// Under way, or done: a better connection is asked once.
            var asking: Task<Outcome, Never>?
            /// There, and not read from yet.
            var next: Continuation?
            var retriesLeft: Int
            var isOver = false
            /// Why it is over, where that is no wish of the caller's.
            var reason: (any Error)?
        }

        private let requests: Requests
        private let state: Locked<State>

        /// - Parameters:
        ///   - response: the answer's head.
        ///   - retries: how often the rest is asked for because a connection broke.
        init(_ carrier: Carrier, of response: HTTPResponse, retries: Int, _ requests: Requests) {
            self.requests = requests
            state = Locked(State(carrier: carrier, rest: .open(response), retriesLeft: retries))
            watch(carrier)
        }

        /// What brings the body now.
        var carrier: Carrier { state.withLock { $0.carrier } }

        /// Why there is no more, after an error of the connection.
        func reason(after error: any Error) -> any Error {
            if let reason = state.withLock({ $0.reason }) { return reason }
            return Task.isCancelled || error is Superseded ? CancellationError() : error
        }

        // MARK: The reader

        /// What brings the rest after an error; nil where nothing does.
        func continuation(after error: any Error) async -> Continuation? {
            guard !(error is CancellationError), let rest = rest() else { return nil }
            if let asking = state.withLock({ $0.asking }), case .found(let found) = await outcome(of: asking)
            {
                return go(on: found)
            }
            let broken = carrier
            guard let error = error as? MultipathHTTPError, error.isTransient, rest.length > broken.position
            else { return nil }
            // A connection that is silent is open, and would be the next one's as well.
            if error.code == .stalled { requests.retire(broken.lease) }
            while let asking = askAgain(rest) {
                switch await outcome(of: asking) {
                case .found(let found): return go(on: found)
                case .broken: continue
                case .unavailable: return nil
                }
            }
            return nil
        }

        private func askAgain(_ rest: RestOfBody) -> Task<Outcome, Never>? {
            state.withLock { state in
                guard !state.isOver, state.retriesLeft > 0 else { return nil }
                state.retriesLeft -= 1
                let asking = Task { await ask(for: rest) }
                state.asking = asking
                return asking
            }
        }

        private func outcome(of asking: Task<Outcome, Never>) async -> Outcome {
            await withTaskCancellationHandler {
                await asking.value
            } onCancel: {
                asking.cancel()
            }
        }

        private func go(on found: Continuation) -> Continuation? {
            let old = state.withLock { state -> Carrier? in
                guard !state.isOver else { return nil }
                defer { (state.carrier, state.asking, state.next) = (found.carrier, nil, nil) }
                return state.carrier
            }
            guard let old else { return nil }
            unwatch()
            watch(found.carrier)
            found.carrier.exchange.countsFromNow(
                on: found.carrier.lease, twice: old.position - found.carrier.start)
            return found
        }

        // MARK: Asking

        /// Asks for the rest over a better connection, where enough is to come.
        private func improve() {
            guard let rest = rest() else { return }
            state.withLock { state in
                let old = state.carrier
                guard !state.isOver, state.asking == nil, !old.exchange.isOver,
                    rest.length - old.position >= RestOfBody.leastMoved
                else { return }
                state.asking = Task {
                    let outcome = await ask(for: rest)
                    // The reader takes what has come, and then goes on with the rest.
                    if case .found = outcome { old.exchange.abort(Superseded()) }
                    return outcome
                }
            }
        }

        private func ask(for rest: RestOfBody) async -> Outcome {
            guard let lease = try? await requests.lease() else { return .unavailable }
            // A dial takes a while, in which the old connection brings more.
            let start = state.withLock { state -> Int64? in
                let position = state.carrier.position
                let least = state.carrier.exchange.isOver ? 1 : RestOfBody.leastMoved
                return state.isOver || rest.length - position < least ? nil : position
            }
            guard let start else {
                requests.giveBack(lease)
                return .unavailable
            }
            let exchange = requests.send(rest.request(after: start), lease)
            let head: Exchange.Head
            do {
                head = try await exchange.head()
            } catch {
                return (error as? MultipathHTTPError)?.isTransient == true ? .broken : .unavailable
            }
            let continuation = Continuation(
                carrier: Carrier(lease: lease, exchange: exchange, start: start), parts: head.parts,
                length: rest.length)
            let isWanted = state.withLock { state in
                guard !state.isOver, rest.isContinued(by: head.response, after: start) else { return false }
                state.next = continuation
                return true
            }
            if isWanted { return .found(continuation) }
            exchange.discard()
            return .unavailable
        }

        /// Another connection brings the rest.
        private struct Superseded: Error {}

        /// The rest, where it can be asked for.
        private func rest() -> RestOfBody? {
            state.withLock { state in
                switch state.rest {
                case .known(let rest): return rest
                case .open(let response):
                    let rest = RestOfBody(of: response, after: state.carrier.exchange)
                    state.rest = .known(rest)
                    return rest
                }
            }
        }

        private func watch(_ carrier: Carrier) {
            // A short answer has come whole with its head.
            guard !carrier.exchange.isOver else { return }
            let connection = carrier.lease.connection
            state.withLock { $0.watched = connection }
            connection.whenSuperseded(self) { [weak self] in self?.improve() }
            // The body may have ended meanwhile.
            if state.withLock({ $0.isOver }) { connection.whenSuperseded(self, nil) }
        }

        private func unwatch() { state.withLock { $0.watched.take() }?.whenSuperseded(self, nil) }

        // MARK: The request

        /// The caller wants no more of the body, or has all of it.
        func end() {
            for exchange in close() where !exchange.isOver { exchange.discard() }
        }

        /// The same, for a reason.
        func abort(_ error: any Error) {
            for exchange in close(error) { exchange.abort(error) }
        }

        private func close(_ reason: (any Error)? = nil) -> [Exchange] {
            let exchanges = state.withLock { state -> [Exchange] in
                // It is said where the body ends, where its reader goes and where the caller returns.
                guard !state.isOver else { return [] }
                (state.isOver, state.reason) = (true, reason)
                state.asking?.cancel()
                return [state.carrier.exchange] + (state.next.map { [$0.carrier.exchange] } ?? [])
            }
            unwatch()
            return exchanges
        }
    }
#endif
