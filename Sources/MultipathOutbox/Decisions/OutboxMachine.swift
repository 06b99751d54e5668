#if Outbox
    import Multipath

    /// Decides which request of an outbox is attempted when, and what becomes of it. It knows no clock, no disk and no network.
    ///
    ///     submitted ──► ready ──(a path, and room)──► running ──► delivered, refused, given up
    ///                     ▲                              │
    ///                     │     the time has come,       ▼
    ///                     └──── or a path appears ──── waiting
    ///
    /// - At most `width` requests run at a time. Of those that are ready, the most urgent goes first, and among equals the one
    ///   that was submitted first.
    /// - *Must arrive*: waits after a failure, at random up to a limit that doubles to `backoff.longest`; a path that appears
    ///   ends the wait, but not within `minimumPause` of the last attempt, nor before the time that the server asked for. It
    ///   keeps its place in the queue. An answer that says that the request itself is wrong sets it aside.
    /// - *Important*: is tried again after time-outs and the agreed statuses only, `importantTries` times in all,
    ///   `importantPause` apart, each time from the end of the queue. It waits for a path, which costs no try.
    /// - *Best effort*: is tried once, and not at all where there is no path.
    ///
    /// Call order: inputs as they happen, `timeReached` at `nextDeadline`. Perform the actions in their order.
    struct OutboxMachine: Sendable {
        struct Configuration: Sendable, Hashable {
            /// How many requests run at a time.
            var width = 4
            /// The pauses after failures of a request that must arrive.
            var backoff = Backoff(base: .seconds(1), longest: .seconds(60))
            /// The shortest time between two attempts at a request that must arrive, however often paths come and go.
            var minimumPause = Duration.milliseconds(500)
            /// How often an important request is tried.
            var importantTries = 3
            /// The time between those tries.
            var importantPause = Duration.seconds(5)
            /// The answers after which an important request is tried again.
            var agreedStatuses: Set<Int> = [408, 425, 429, 502, 503, 504]
            /// The answers that say that no repetition of the request can succeed.
            var hopelessStatuses: Set<Int> = [
                400, 405, 406, 410, 411, 413, 414, 415, 417, 422, 426, 428, 431, 451, 501, 505,
            ]
        }

        enum Action: Sendable, Equatable {
            /// Attempts the request; attempts count from 1.
            case start(OutboxID, attempt: Int)
            /// Forgets a request that must arrive: it has, or it is not wanted any more.
            case delete(OutboxID)
            /// Keeps a request that must arrive, but doesn't try it again by itself, not after a restart either.
            case setAside(OutboxID, status: Int)
            /// The request is at its end.
            case report(OutboxID, OutboxResult)
        }

        /// What is known of a request; its content is its runner's.
        struct Item: Sendable, Hashable {
            var id: OutboxID
            var requestClass: OutboxRequestClass
            /// 0, the most urgent, to 7.
            var urgency: Int
        }

        /// Where a request stands among those that are ready.
        private struct Place: Sendable, Hashable, Comparable {
            var urgency: Int
            var order: UInt64
            var id: OutboxID

            static func < (left: Place, right: Place) -> Bool {
                (left.urgency, left.order) < (right.urgency, right.order)
            }
        }

        private struct Pause: Sendable, Hashable, Comparable {
            var due: MonotonicTime
            var place: Place

            static func < (left: Pause, right: Pause) -> Bool {
                (left.due, left.place) < (right.due, right.place)
            }
        }

        private struct Record: Sendable {
            var item: Item
            var order: UInt64
            var attempts = 0
            var backoff: BackoffMachine
            /// When the last attempt ended.
            var ended: MonotonicTime?
            /// Until when the server asked not to be asked again.
            var heldUntil: MonotonicTime?

            var place: Place { Place(urgency: item.urgency, order: order, id: item.id) }
        }

        /// What a request would take.
        private enum Route: Sendable, Hashable {
            /// Not known yet, or the sending is stopped: everything waits.
            case unknown
            case none
            case interface(Int)

            var isThere: Bool { if case .interface = self { true } else { false } }
        }

        private let configuration: Configuration
        private var records: [OutboxID: Record] = [:]
        /// Both sorted.
        private var ready: [Place] = []
        private var waiting: [Pause] = []
        private var running: Set<OutboxID> = []
        private var route = Route.unknown
        private var nextOrder: UInt64 = 0

        init(_ configuration: Configuration = Configuration()) { self.configuration = configuration }

        /// When `timeReached` is due; nil for never.
        var nextDeadline: MonotonicTime? { waiting.first?.due }

        /// How many requests are not at their end.
        var count: Int { records.count }

        // MARK: Inputs

        /// A request was submitted, or read from the disk; in the order in which that was.
        mutating func submit(_ item: Item) -> [Action] {
            guard records[item.id] == nil else { return [] }
            if item.requestClass == .bestEffort, route == .none { return [.report(item.id, .noPath)] }
            let record = Record(
                item: item, order: takeOrder(), backoff: BackoffMachine(configuration.backoff))
            records[item.id] = record
            ready.insertSorted(record.place)
            return startReady()
        }

        /// The path that a request would take is another one.
        ///
        /// - Parameter path: the interface's number; nil where none is allowed.
        mutating func pathChanged(_ path: Int?, at now: MonotonicTime) -> [Action] {
            let route = path.map { Route.interface($0) } ?? .none
            guard route != self.route else { return [] }
            self.route = route
            guard route.isThere else {
                let dropped = ready.filter { records[$0.id]?.item.requestClass == .bestEffort }
                ready.removeAll { records[$0.id]?.item.requestClass == .bestEffort }
                return dropped.flatMap { end($0.id, .noPath) }
            }
            let paused = waiting
            waiting = []
            for pause in paused {
                var pause = pause
                if let record = records[pause.place.id], record.item.requestClass == .mustArrive {
                    let earliest = record.ended?.advanced(by: configuration.minimumPause) ?? now
                    pause.due = min(pause.due, max(earliest, record.heldUntil ?? earliest))
                }
                waiting.insertSorted(pause)
            }
            return timeReached(now)
        }

        /// An attempt has ended.
        ///
        /// - Parameter random: from 0 up to 1, not including it.
        mutating func attemptEnded(
            _ id: OutboxID, _ outcome: OutboxOutcome, random: Double, at now: MonotonicTime
        ) -> [Action] {
            guard running.remove(id) != nil, var record = records[id] else { return startReady() }
            record.ended = now
            let actions: [Action]
            switch (outcome, record.item.requestClass) {
            case (.answered(let status, _), .mustArrive) where Self.isDone(status):
                actions = [.delete(id)] + end(id, .delivered(status: status))
            case (.answered(let status, _), _) where Self.isDone(status):
                actions = end(id, .delivered(status: status))
            case (.answered(let status, _), .mustArrive) where configuration.hopelessStatuses.contains(status):
                actions = [.setAside(id, status: status)] + end(id, .setAside(status: status))
            case (_, .mustArrive):
                pauseMustArrive(&record, outcome, random: random, at: now)
                actions = []
            case (_, .important) where mayRetry(outcome) && record.attempts < configuration.importantTries:
                record.order = takeOrder()
                records[id] = record
                waiting.insertSorted(
                    Pause(due: now.advanced(by: configuration.importantPause), place: record.place))
                actions = []
            case (_, .important), (_, .bestEffort):
                actions = end(id, .failed(outcome))
            }
            return actions + startReady()
        }

        /// `nextDeadline` has come.
        mutating func timeReached(_ now: MonotonicTime) -> [Action] {
            let due = waiting.prefix { $0.due <= now }
            waiting.removeFirst(due.count)
            for pause in due { ready.insertSorted(pause.place) }
            return startReady()
        }

        /// A request is not wanted any more. One that is running may still arrive.
        mutating func remove(_ id: OutboxID) -> [Action] {
            guard let record = records[id] else { return [] }
            drop(record.place)
            let actions: [Action] = record.item.requestClass == .mustArrive ? [.delete(id)] : []
            return actions + end(id, .removed)
        }

        /// No attempt runs any more, and none may begin until there is a path again: those that ran are not counted.
        mutating func stop() {
            route = .unknown
            for id in running {
                guard var record = records[id] else { continue }
                record.attempts -= 1
                records[id] = record
                ready.insertSorted(record.place)
            }
            running = []
        }

        // MARK: Steps

        private mutating func startReady() -> [Action] {
            guard route.isThere else { return [] }
            var actions: [Action] = []
            while running.count < configuration.width, let place = ready.first {
                ready.removeFirst()
                running.insert(place.id)
                guard var record = records[place.id] else { continue }
                record.attempts += 1
                records[place.id] = record
                actions.append(.start(place.id, attempt: record.attempts))
            }
            return actions
        }

        private mutating func pauseMustArrive(
            _ record: inout Record, _ outcome: OutboxOutcome, random: Double, at now: MonotonicTime
        ) {
            var pause = max(record.backoff.failed(random: random), configuration.minimumPause)
            record.heldUntil = nil
            if case .answered(_, let retryAfter?) = outcome, retryAfter > .zero {
                // Not longer than a path may be there without an attempt.
                let wish = min(retryAfter, configuration.backoff.longest)
                record.heldUntil = now.advanced(by: wish)
                pause = max(pause, wish)
            }
            records[record.item.id] = record
            waiting.insertSorted(Pause(due: now.advanced(by: pause), place: record.place))
        }

        /// Whether the server has done it: 303 names a page about that (RFC 9110 section 15.4.4).
        private static func isDone(_ status: Int) -> Bool { 200..<300 ~= status || status == 303 }

        private func mayRetry(_ outcome: OutboxOutcome) -> Bool {
            switch outcome {
            case .timedOut: true
            case .answered(let status, _): configuration.agreedStatuses.contains(status)
            case .failed: false
            }
        }

        private mutating func end(_ id: OutboxID, _ result: OutboxResult) -> [Action] {
            records[id] = nil
            return [.report(id, result)]
        }

        private mutating func drop(_ place: Place) {
            ready.removeAll { $0 == place }
            waiting.removeAll { $0.place == place }
        }

        private mutating func takeOrder() -> UInt64 {
            defer { nextOrder += 1 }
            return nextOrder
        }
    }

    extension Array where Element: Comparable {
        /// Inserts into a sorted array, behind its equals.
        fileprivate mutating func insertSorted(_ element: Element) {
            // Mostly it belongs to the end.
            guard let last, element < last else { return append(element) }
            var (low, high) = (0, count)
            while low < high {
                let middle = (low + high) / 2
                if element < self[middle] { high = middle } else { low = middle + 1 }
            }
            insert(element, at: low)
        }
    }
#endif
