#if HTTP
    import LinuxNet
    import Multipath
    import NIOCore

    /// What connections are shared by: requests with the same origin, the same rules about paths, the same proxy and the same
    /// resolver.
    struct PoolKey: Sendable, Hashable {
        var origin: HTTPOrigin
        var policy: PathPolicy
        var mode: MultipathMode
        var trafficClass = TrafficClass.bestEffort
        var proxy: HTTPProxy?
        /// Nil for the connector's own.
        var resolving: Resolving?
    }

    /// Performs what the origins' machines decide: opens connections, hands them out, closes them. What to do when is decided by
    /// `PoolMachine` alone.
    final class ConnectionPool: Sendable {
        /// A connection, for one exchange.
        struct Lease: Sendable {
            let connection: HTTPConnection
            let key: PoolKey
            fileprivate let id: PoolMachine.ConnectionID
            /// Whether it had carried another exchange before.
            let isReused: Bool
        }

        /// What opens a connection.
        typealias Opener = @Sendable (PoolKey, ConnectionConfiguration) async throws -> HTTPConnection

        private struct Origin {
            var machine: PoolMachine
            var configuration: ConnectionConfiguration
            var connections: [PoolMachine.ConnectionID: HTTPConnection] = [:]
            var dials: [PoolMachine.ConnectionID: Task<Void, Never>] = [:]
            var failures: [PoolMachine.ConnectionID: any Error] = [:]
            var used: Set<PoolMachine.ConnectionID> = []
            var tickets: [PoolMachine.RequestID: Ticket] = [:]
        }

        private struct State {
            var origins: [PoolKey: Origin] = [:]
            var nextRequest: PoolMachine.RequestID = 0
            var isClosed = false
            var timer: (task: Scheduled<Void>, deadline: MonotonicTime)?
            var suspicions: SuspicionObservation?
        }

        /// What is done outside of the lock.
        private enum Effect {
            case resolve(Ticket, Result<Lease, any Error>)
            case dial(PoolKey, PoolMachine.ConnectionID, ConnectionConfiguration)
            case cancel(Task<Void, Never>?)
            case supersede(HTTPConnection)
            case close(HTTPConnection)
            case breakOff(HTTPConnection)
        }

        private let configuration: PoolMachine.Configuration
        private let monitor: PathMonitor
        private let loop: any EventLoop
        private let open: Opener
        private let state = Locked(State())

        /// - Parameter loop: for the timer.
        init(
            _ configuration: PoolMachine.Configuration, monitor: PathMonitor, loop: any EventLoop,
            open: @escaping Opener
        ) {
            self.configuration = configuration
            self.monitor = monitor
            self.loop = loop
            self.open = open
            let observation = monitor.observeSuspicions { [weak self] in self?.suspicionsChanged() }
            state.withLock { $0.suspicions = observation }
        }

        // MARK: Requests

        /// A connection for one request, at once where one has room; else when one is open or free.
        ///
        /// - Parameter connecting: how a connection is opened, where that is needed.
        /// - Throws: why there is none; `CancellationError`.
        nonisolated(nonsending) func lease(
            _ key: PoolKey, _ connecting: ConnectionConfiguration, within deadline: RequestDeadline?
        ) async throws
            -> Lease
        {
            let ticket = Ticket()
            let id = state.withLock { state in
                defer { state.nextRequest += 1 }
                return state.nextRequest
            }
            var isTaken = false
            handle(key, connecting) { [monitor] origin, now in
                isTaken = true
                origin.tickets[id] = ticket
                let actions =
                    origin.machine.hasSuspects
                    ? origin.machine.suspect(monitor.suspectedPaths, at: now) : []
                return actions + origin.machine.request(id, at: now)
            }
            guard isTaken else { throw MultipathHTTPError(.clientClosed, "the client is closed") }
            let cancel: @Sendable (any Error) -> Void = { [weak self] error in
                guard ticket.resolve(.failure(error)) else { return }
                self?.handle(key) { origin, _ in
                    origin.tickets[id] = nil
                    return origin.machine.cancel(id)
                }
            }
            deadline?.onExpiry(cancel)
            return try await withTaskCancellationHandler {
                try await ticket.value()
            } onCancel: {
                cancel(CancellationError())
            }
        }

        /// Opens a connection for requests to come, where there is none.
        func preconnect(_ key: PoolKey, _ connecting: ConnectionConfiguration) {
            handle(key, connecting) { $0.machine.preconnect(at: $1) }
        }

        /// Nothing was sent on the connection: its place is free again.
        func giveBack(_ lease: Lease) {
            handle(lease.key) { $0.machine.exchangeEnded(lease.id, isReusable: true, at: $1) }
        }

        /// The connection is to take no more requests.
        func retire(_ lease: Lease) { handle(lease.key) { $0.machine.retire(lease.id, at: $1) } }

        /// Takes no more requests, and returns when each connection is closed, after its last answer.
        func close() async {
            for future in abandon() { try? await future.get() }
        }

        /// The same without waiting.
        @discardableResult
        func abandon() -> [EventLoopFuture<Void>] {
            let (keys, closing) = state.withLock { state in
                state.isClosed = true
                state.suspicions = nil
                state.timer?.task.cancel()
                return (
                    Array(state.origins.keys),
                    state.origins.values.flatMap {
                        $0.connections.values.map(\.connection.channel.closeFuture)
                    }
                )
            }
            for key in keys {
                handle(key) { origin, now in
                    let actions = origin.machine.close()
                    for ticket in origin.tickets.values {
                        _ = ticket.resolve(
                            .failure(MultipathHTTPError(.clientClosed, "the client is closed")))
                    }
                    origin.tickets = [:]
                    return actions
                }
            }
            return closing
        }

        // MARK: What happens

        private func suspicionsChanged() {
            let suspects = monitor.suspectedPaths
            for key in state.withLock({ Array($0.origins.keys) }) {
                handle(key) { $0.machine.suspect(suspects, at: $1) }
            }
        }

        private func ingest(
            _ event: HTTPConnection.Event, _ connection: HTTPConnection, _ key: PoolKey, _ id: Int
        ) {
            handle(key) { origin, now in
                guard origin.connections[id] === connection else { return [] }
                switch event {
                case .exchangeEnded(let isReusable):
                    return origin.machine.exchangeEnded(id, isReusable: isReusable, at: now)
                case .maximumStreams(let count): return origin.machine.maximumStreams(id, count, at: now)
                case .goAway: return origin.machine.retire(id, at: now)
                case .path(let standing): return origin.machine.path(id, is: standing, at: now)
                case .closed:
                    origin.connections[id] = nil
                    origin.used.remove(id)
                    return origin.machine.closed(id, at: now)
                }
            }
        }

        private func dialed(_ connection: HTTPConnection, _ key: PoolKey, _ id: Int) {
            let report = connection.connection.establishment
            var isTaken = false
            handle(
                key,
                beforeEffects: {
                    // Before a request is sent on it: its end is to be heard before its caller asks for more.
                    connection.observe { [weak self, weak connection] event in
                        guard let self, let connection else { return }
                        ingest(event, connection, key, id)
                    }
                }
            ) { origin, now in
                isTaken = true
                origin.dials[id] = nil
                origin.connections[id] = connection
                return origin.machine.dialed(
                    id, connection.protocolName == .http1 ? .http1 : .http2, over: report?.path ?? "",
                    changesPaths: connection.connection.transport.isMPTCP, at: now)
            }
            // The client was closed meanwhile, and nothing is left of the origin.
            if !isTaken { connection.close() }
        }

        private func dialFailed(_ error: any Error, _ key: PoolKey, _ id: Int) {
            handle(key) { origin, now in
                origin.dials[id] = nil
                origin.failures[id] = error
                return origin.machine.dialFailed(id, at: now)
            }
        }

        // MARK: Actions

        /// - Parameters:
        ///   - connecting: how connections of a new origin are opened, and nothing is done where the pool is closed; nil where only a
        ///     known one is meant.
        ///   - beforeEffects: what is done between the decisions and what follows from them.
        private func handle(
            _ key: PoolKey, _ connecting: ConnectionConfiguration? = nil, beforeEffects: () -> Void = {},
            _ body: (inout Origin, MonotonicTime) -> [PoolMachine.Action]
        ) {
            let now = MonotonicTime.now
            let effects = state.withLock { state -> [Effect] in
                if connecting != nil, state.isClosed { return [] }
                if state.origins[key] == nil {
                    guard let connecting else { return [] }
                    state.origins[key] = Origin(
                        machine: PoolMachine(
                            configuration, knownProtocol: key.origin.isSecure ? nil : .http1),
                        configuration: connecting)
                }
                guard let place = state.origins.index(forKey: key) else { return [] }
                if let connecting { state.origins.values[place].configuration = connecting }
                let effects = Self.effects(key, &state.origins.values[place], now, body)
                if state.origins.values[place].machine.isEmpty,
                    state.origins.values[place].connections.isEmpty
                {
                    state.origins.remove(at: place)
                } else {
                    arm(&state, state.origins.values[place].machine.nextDeadline)
                }
                return effects
            }
            beforeEffects()
            for effect in effects { perform(effect) }
        }

        private static func effects(
            _ key: PoolKey, _ origin: inout Origin, _ now: MonotonicTime,
            _ body: (inout Origin, MonotonicTime) -> [PoolMachine.Action]
        ) -> [Effect] {
            let actions = body(&origin, now)
            // Kept as long as actions name them.
            defer { if !origin.failures.isEmpty { origin.failures = [:] } }
            return actions.compactMap { action in
                switch action {
                case .dial(let id): return .dial(key, id, origin.configuration)
                case .cancelDial(let id): return .cancel(origin.dials.removeValue(forKey: id))
                case .lease(let request, let id):
                    guard let ticket = origin.tickets.removeValue(forKey: request),
                        let connection = origin.connections[id]
                    else { return nil }
                    let isReused = !origin.used.insert(id).inserted
                    return .resolve(
                        ticket, .success(Lease(connection: connection, key: key, id: id, isReused: isReused)))
                case .fail(let request, let id):
                    guard let ticket = origin.tickets.removeValue(forKey: request) else { return nil }
                    return .resolve(ticket, .failure(origin.failures[id] ?? CancellationError()))
                case .supersede(let id): return origin.connections[id].map { .supersede($0) }
                case .close(let id): return origin.connections[id].map { .close($0) }
                case .breakOff(let id): return origin.connections[id].map { .breakOff($0) }
                }
            }
        }

        private func perform(_ effect: Effect) {
            switch effect {
            case .resolve(let ticket, let result):
                if ticket.resolve(result) { return }
                // Its task was cancelled at the same time: the place on the connection is free again.
                if case .success(let lease) = result { giveBack(lease) }
            case .dial(let key, let id, let configuration): dial(key, id, configuration)
            case .cancel(let task): task?.cancel()
            case .supersede(let connection): connection.supersede()
            case .close(let connection): connection.close()
            case .breakOff(let connection): connection.breakOff()
            }
        }

        private func dial(_ key: PoolKey, _ id: Int, _ configuration: ConnectionConfiguration) {
            let open = open
            let task = Task { [weak self] in
                do {
                    let connection = try await open(key, configuration)
                    if let self { dialed(connection, key, id) } else { connection.close() }
                } catch {
                    self?.dialFailed(error, key, id)
                }
            }
            state.withLock { state in
                // It may be over already.
                guard state.origins[key]?.connections[id] == nil else { return }
                if state.isClosed { return task.cancel() }
                state.origins[key]?.dials[id] = task
            }
        }

        // MARK: Time

        private func arm(_ state: inout State, _ deadline: MonotonicTime?) {
            // A timer that is due earlier does no harm.
            guard let deadline, !state.isClosed, state.timer.map({ deadline < $0.deadline }) ?? true else {
                return
            }
            state.timer?.task.cancel()
            let delay = max(MonotonicTime.now.duration(to: deadline), .milliseconds(1))
            let task = loop.scheduleTask(in: .nanoseconds(delay.wholeNanoseconds)) { [weak self] in
                guard let self else { return }
                timeReached()
            }
            state.timer = (task, deadline)
        }

        private func timeReached() {
            let keys = state.withLock { state in
                state.timer = nil
                return Array(state.origins.keys)
            }
            for key in keys { handle(key) { $0.machine.timeReached($1) } }
        }
    }
#endif
