#if HTTP
    import Multipath

    // Which connection of one origin (and one set of rules about paths) carries which request, and which connections are opened
    // and closed for that.
    //
    // Rules:
    //  1. A request takes a connection that has room, one whose path is good before others; else it waits. Requests that wait
    //     share what is being dialed: one dial until the protocol is known, one for HTTP/2, as many as wait for HTTP/1.1, six
    //     connections at most (RFC 9112 section 9.4 leaves the number to the client).
    //  2. A dial that fails takes those requests along that no other connection can serve.
    //  3. A connection whose path has failed, is not allowed any more, or waits for one takes no request. An idle one that has
    //     failed or is refused is closed; one in use is closed when its last answer is in, and where its path has failed the
    //     requests without an answer are broken off, so that they can be sent again where that is safe.
    //  4. A connection that has moved, or for which there is a better path, carries on until there is another one: that is
    //     dialed at once where requests came lately, else the connection is closed. The replacement counts when it came about
    //     over another path, or when the old one had moved; else it is closed, and the next try waits ever longer. What an old one
    //     carries that waits for a path is broken off as soon as there is another one.
    //  5. A connection that others' silence makes suspect takes no request until that has passed, and is kept.
    //  6. An idle connection is closed after a while.
    //  7. A request that is sent again is the caller's decision; here it is a new request.
    //
    // Call order: any, with times that don't go back. After each call the actions are to be performed in order.

    /// Decides about the connections of one origin.
    struct PoolMachine: Sendable {
        typealias ConnectionID = Int
        typealias RequestID = Int

        private enum Stage: Sendable {
            case dialing(replaces: Bool)
            case open(OpenConnection)
        }

        let configuration: Configuration
        private var connections: [ConnectionID: Stage] = [:]
        private var nextID: ConnectionID = 0
        private var waiting: [RequestID] = []
        /// What the origin spoke last; nil before it is known.
        private(set) var knownProtocol: ProtocolKind?
        /// No replacement is dialed before.
        private var nextReplacement = MonotonicTime.zero
        private var replacementPause: Duration
        private var isClosed = false

        /// - Parameter knownProtocol: what will be spoken, where that is known beforehand.
        init(_ configuration: Configuration = Configuration(), knownProtocol: ProtocolKind? = nil) {
            self.configuration = configuration
            self.knownProtocol = knownProtocol
            replacementPause = configuration.replacementPause
        }

        // MARK: Looking

        /// Whether there is nothing that would have to be kept.
        var isEmpty: Bool { connections.isEmpty && waiting.isEmpty }

        /// When it wants `timeReached`; nil for not before something happens.
        var nextDeadline: MonotonicTime? {
            var next: MonotonicTime?
            for case .open(let connection) in connections.values {
                if connection.active == 0 {
                    let due = connection.lastUse.advanced(by: configuration.idleTimeout)
                    next = min(next ?? due, due)
                }
                if connection.isStale, nextReplacement > .zero, dialing == 0, !isClosed {
                    next = min(next ?? nextReplacement, nextReplacement)
                }
            }
            return next
        }

        /// Whether a connection takes no request because its path is suspect.
        var hasSuspects: Bool {
            connections.values.contains {
                if case .open(let connection) = $0 { connection.isSuspect } else { false }
            }
        }

        // MARK: Requests

        mutating func request(_ id: RequestID, at now: MonotonicTime) -> [Action] {
            if let connection = roomiest() { return [lease(id, connection, at: now)] }
            waiting.append(id)
            return dialForWaiting(at: now)
        }

        /// The request is not wanted any more, and has not been leased.
        mutating func cancel(_ id: RequestID) -> [Action] {
            waiting.removeAll { $0 == id }
            // A dial that is under way is of use to the next request.
            return []
        }

        /// A connection for requests to come, where there is none.
        mutating func preconnect(at now: MonotonicTime) -> [Action] {
            guard connections.isEmpty, !isClosed else { return [] }
            return [dial(replaces: false)]
        }

        // MARK: Connections

        mutating func dialed(
            _ id: ConnectionID, _ kind: ProtocolKind, over path: PathID, changesPaths: Bool = false,
            at now: MonotonicTime
        ) -> [Action] {
            guard case .dialing(let replaces)? = connections[id] else { return [.close(id)] }
            knownProtocol = kind
            let capacity = kind == .http1 ? 1 : configuration.assumedStreams
            let new = OpenConnection(
                kind: kind, capacity: capacity, path: path, changesPaths: changesPaths, lastUse: now
            )
            let stale = connections.keys.filter { isStale($0) }.sorted()
            // No replacement was dialed for any while this one was under way, whatever it was dialed for.
            let worse = stale.filter { isBetter(new, than: $0) }
            if replaces {
                guard !worse.isEmpty || stale.isEmpty || !waiting.isEmpty else {
                    connections[id] = nil
                    backOff(at: now)
                    // The better path is none to this peer: as good as before.
                    return [.close(id)]
                }
                replacementPause = configuration.replacementPause
                nextReplacement = .zero
            }
            connections[id] = .open(new)
            var actions = worse.flatMap { isWaiting($0) ? breakOff($0) : supersede($0) }
            actions += leaseWaiting(at: now)
            return actions + dialForWaiting(at: now)
        }

        mutating func dialFailed(_ id: ConnectionID, at now: MonotonicTime) -> [Action] {
            guard case .dialing(let replaces)? = connections[id] else { return [] }
            connections[id] = nil
            if replaces { backOff(at: now) }
            // Others may still serve those that wait.
            let canBeServed = connections.keys.contains { id in
                switch connections[id] {
                case .dialing: true
                case .open(let connection): connection.isUsable
                case nil: false
                }
            }
            guard !canBeServed else { return replace(at: now) }
            defer { waiting = [] }
            return waiting.map { .fail($0, because: id) } + replace(at: now)
        }

        mutating func exchangeEnded(_ id: ConnectionID, isReusable: Bool, at now: MonotonicTime) -> [Action] {
            guard case .open(var connection)? = connections[id] else { return [] }
            connection.active = max(connection.active - 1, 0)
            connection.lastUse = now
            if !isReusable { connection.isDraining = true }
            connections[id] = .open(connection)
            var actions = closeIfDone(id)
            actions += leaseWaiting(at: now)
            return actions + dialForWaiting(at: now)
        }

        /// How many requests an HTTP/2 connection takes at a time.
        mutating func maximumStreams(_ id: ConnectionID, _ count: Int, at now: MonotonicTime) -> [Action] {
            guard case .open(var connection)? = connections[id], connection.kind == .http2 else { return [] }
            connection.capacity = count
            connections[id] = .open(connection)
            return leaseWaiting(at: now)
        }

        /// The connection takes no more requests: GOAWAY, or an answer that says that it is the wrong one (421).
        mutating func retire(_ id: ConnectionID, at now: MonotonicTime) -> [Action] {
            guard case .open? = connections[id] else { return [] }
            return drain(id) + dialForWaiting(at: now)
        }

        mutating func closed(_ id: ConnectionID, at now: MonotonicTime) -> [Action] {
            guard case .open? = connections[id] else { return [] }
            connections[id] = nil
            return dialForWaiting(at: now)
        }

        // MARK: Paths

        mutating func path(_ id: ConnectionID, is standing: PathStanding, at now: MonotonicTime) -> [Action] {
            guard case .open(var connection)? = connections[id], connection.standing != standing else {
                return []
            }
            connection.standing = standing
            connections[id] = .open(connection)
            switch standing {
            case .good: return leaseWaiting(at: now)
            case .failed:
                connections[id] = nil
                return [.breakOff(id)] + dialForWaiting(at: now)
            case .refused: return drain(id) + dialForWaiting(at: now)
            // It may be one that can't leave its path (it died before the peer had acknowledged a byte): what waits on it goes to
            // a new connection as soon as there is one over another path.
            case .moved, .bettered, .waiting: return (isForsaken(id) ? breakOff(id) : []) + replace(at: now)
            }
        }

        /// Others have found these paths silent.
        mutating func suspect(_ paths: Set<PathID>, at now: MonotonicTime) -> [Action] {
            for (id, stage) in connections {
                guard case .open(var connection) = stage else { continue }
                connection.isSuspect = !connection.changesPaths && paths.contains(connection.path)
                connections[id] = .open(connection)
            }
            return leaseWaiting(at: now) + dialForWaiting(at: now)
        }

        // MARK: Time and end

        mutating func timeReached(_ now: MonotonicTime) -> [Action] {
            var actions: [Action] = []
            for id in connections.keys.sorted() {
                guard case .open(let connection)? = connections[id], connection.active == 0,
                    connection.lastUse.advanced(by: configuration.idleTimeout) <= now
                else { continue }
                connections[id] = nil
                actions.append(.close(id))
            }
            // One that takes no request at all (SETTINGS_MAX_CONCURRENT_STREAMS of 0) has kept those waiting.
            return actions + replace(at: now) + dialForWaiting(at: now)
        }

        /// Closes what is idle, and each other connection when its last answer is in. Requests that wait are the caller's to fail.
        mutating func close() -> [Action] {
            isClosed = true
            waiting = []
            var actions: [Action] = []
            for (id, stage) in connections.sorted(by: { $0.key < $1.key }) {
                switch stage {
                case .dialing:
                    connections[id] = nil
                    actions.append(.cancelDial(id))
                case .open: actions += drain(id)
                }
            }
            return actions
        }

        // MARK: What is common

        private mutating func lease(_ request: RequestID, _ id: ConnectionID, at now: MonotonicTime) -> Action
        {
            if case .open(var connection)? = connections[id] {
                connection.active += 1
                connection.lastUse = now
                connections[id] = .open(connection)
            }
            return .lease(request, id)
        }

        /// The connection that the next request takes: a good one before one that is to be replaced, the one used last before others,
        /// so that idle ones grow old.
        private func roomiest() -> ConnectionID? {
            var best: (id: ConnectionID, connection: OpenConnection)?
            for (id, stage) in connections {
                guard case .open(let connection) = stage, connection.hasRoom else { continue }
                if let old = best, !connection.isPreferred(to: old.connection, id < old.id) { continue }
                best = (id, connection)
            }
            return best?.id
        }

        private mutating func leaseWaiting(at now: MonotonicTime) -> [Action] {
            var actions: [Action] = []
            while !waiting.isEmpty, let id = roomiest() {
                actions.append(lease(waiting.removeFirst(), id, at: now))
            }
            return actions
        }

        private mutating func dial(replaces: Bool) -> Action {
            let id = nextID
            nextID += 1
            connections[id] = .dialing(replaces: replaces)
            return .dial(id)
        }

        /// Whether it waits for a path.
        private func isWaiting(_ id: ConnectionID) -> Bool {
            if case .open(let connection)? = connections[id] {
                connection.standing == .waiting
            } else {
                false
            }
        }

        /// Whether its answers wait for a path, and it takes no requests any more because there is a better connection.
        private func isForsaken(_ id: ConnectionID) -> Bool {
            guard isWaiting(id), case .open(let old)? = connections[id], old.isDraining else { return false }
            return connections.values.contains {
                if case .open(let other) = $0 { other.isUsable && isBetter(other, than: id) } else { false }
            }
        }

        private mutating func breakOff(_ id: ConnectionID) -> [Action] {
            connections[id] = nil
            return [.breakOff(id)]
        }

        /// Its answers may go on over the new one, those that do not are its last.
        private mutating func supersede(_ id: ConnectionID) -> [Action] {
            let closing = drain(id)
            return closing.isEmpty ? [.supersede(id)] : closing
        }

        private mutating func dialForWaiting(at now: MonotonicTime) -> [Action] {
            guard !waiting.isEmpty, !isClosed else { return [] }
            let wanted: Int
            switch knownProtocol {
            case .http1:
                wanted = min(
                    waiting.count - dialing, configuration.maximumHTTP1Connections - dialing - openCount)
            case .http2, nil:
                // A full connection is no reason for a second one.
                let isFull = connections.values.contains {
                    if case .open(let connection) = $0 { connection.isUsable } else { false }
                }
                wanted = isFull || dialing > 0 ? 0 : 1
            }
            return (0..<max(wanted, 0)).map { _ in dial(replaces: false) }
        }

        private var dialing: Int {
            connections.values.count { if case .dialing = $0 { true } else { false } }
        }

        /// Those that can carry a request, now or later.
        private var openCount: Int {
            connections.values.count {
                if case .open(let connection) = $0 { connection.isUsable } else { false }
            }
        }

        private mutating func drain(_ id: ConnectionID) -> [Action] {
            guard case .open(var connection)? = connections[id] else { return [] }
            connection.isDraining = true
            connections[id] = .open(connection)
            return closeIfDone(id)
        }

        private mutating func closeIfDone(_ id: ConnectionID) -> [Action] {
            guard case .open(let connection)? = connections[id], connection.isDraining, connection.active == 0
            else { return [] }
            connections[id] = nil
            return [.close(id)]
        }

        private func isStale(_ id: ConnectionID) -> Bool {
            guard case .open(let connection)? = connections[id] else { return false }
            return connection.isStale
        }

        private func isBetter(_ new: OpenConnection, than id: ConnectionID) -> Bool {
            guard case .open(let old)? = connections[id] else { return false }
            return old.standing == .moved || old.path != new.path
        }

        private mutating func backOff(at now: MonotonicTime) {
            nextReplacement = now.advanced(by: replacementPause)
            replacementPause = min(replacementPause * 2, configuration.longestReplacementPause)
        }

        /// Sees to another connection for each that is stale: one dial for all of them.
        private mutating func replace(at now: MonotonicTime) -> [Action] {
            var (actions, isWarm) = ([Action](), false)
            for id in connections.keys.sorted() where isStale(id) {
                guard case .open(let connection)? = connections[id] else { continue }
                if connection.active > 0 || connection.lastUse.advanced(by: configuration.warmth) > now {
                    isWarm = true
                } else {
                    actions += drain(id)
                }
            }
            guard isWarm, !isClosed, dialing == 0, now >= nextReplacement else { return actions }
            return actions + [dial(replaces: true)]
        }
    }
#endif
