#if Outbox
    import LinuxNet
    public import Multipath

    /// Requests that are to be done even if there is no network just now, or if the process ends in between.
    ///
    /// ```swift
    /// let outbox = try await Outbox.open(at: "/var/lib/meter/outbox.sqlite", transport: transport)
    /// try await withThrowingTaskGroup { group in
    ///     group.addTask { try await outbox.run() }
    ///     try await outbox.submit(OutboxRequest(.mustArrive, url: "https://meter.example/readings", body: reading))
    /// }
    /// ```
    ///
    /// At most four requests run at a time, the most urgent first, and among equals the one that was submitted first.
    /// Submitting works whether `run()` runs or not; sending takes `run()`.
    ///
    /// One outbox at a time may have a file open, of whichever process, until `close()` or its last reference goes.
    public actor Outbox {
        private enum Work: Sendable {
            case attempt(OutboxID, number: Int)
            case wake(at: MonotonicTime)
        }

        private let store: OutboxStore
        private let transport: any OutboxTransport
        private let monitor: PathMonitor
        private let options: OutboxOptions

        private var machine: OutboxMachine
        /// The content of requests that are not on the disk; their numbers are negative.
        private var transient: [OutboxID: OutboxRequest] = [:]
        private var nextTransient: Int64 = -1
        private var observers: [Int: AsyncStream<OutboxEvent>.Continuation] = [:]
        private var nextObserver = 0
        /// Those that wait for the end of a request: they miss none, however many there are.
        private var senders: [OutboxID: [Int: AsyncStream<OutboxResult>.Continuation]] = [:]
        /// Those that are about to wait while the disk is asked, and what has ended meanwhile.
        private var beginning: [Int: [OutboxID: OutboxResult]] = [:]
        /// Takes what `run()` has to do while it runs.
        private var work: AsyncStream<Work>.Continuation?
        /// The earliest wake-up that is under way.
        private var nextWake: MonotonicTime?
        /// Ends `run()` when it finishes.
        private var running: AsyncStream<Never>.Continuation?
        /// Those that wait for the end of `run()`.
        private var closers: [CheckedContinuation<Void, Never>] = []
        private var isClosed = false

        /// Opens an outbox's file, and makes it where there is none, readable by its owner alone. Beside it SQLite keeps one of the
        /// same name with `-wal`.
        ///
        /// - Parameters:
        ///   - path: the file.
        ///   - transport: sends the requests.
        ///   - monitor: tells of paths; the process's own unless given.
        ///   - options: which paths will do, and for how long an attempt may take.
        /// - Throws: `OutboxError.inUse`, `.storage`.
        public static func open(
            at path: String, transport: any OutboxTransport, monitor: PathMonitor = Connector.shared.monitor,
            options: OutboxOptions = OutboxOptions()
        ) async throws -> Outbox {
            let store = try await OutboxStore.open(path)
            return Outbox(store, transport, monitor, options, pending: try await store.pending())
        }

        private init(
            _ store: OutboxStore, _ transport: any OutboxTransport, _ monitor: PathMonitor,
            _ options: OutboxOptions,
            pending: [OutboxMachine.Item]
        ) {
            self.store = store
            self.transport = transport
            self.monitor = monitor
            self.options = options
            var machine = OutboxMachine()
            for item in pending { _ = machine.submit(item) }
            self.machine = machine
        }

        // MARK: Requests

        /// Submits a request. One that must arrive is on the disk when this returns.
        ///
        /// - Returns: the request's number; of one whose idempotency key the file has already that one's.
        /// - Throws: `OutboxError.storage`. The request is then not in the outbox.
        @discardableResult
        public func submit(_ request: OutboxRequest) async throws -> OutboxID {
            try await submit([request])[0]
        }

        /// Submits requests, all or none of those that must arrive: one write to the disk for all of them.
        ///
        /// - Returns: their numbers, in their order.
        /// - Throws: `OutboxError.storage`. None of the requests is then in the outbox.
        @discardableResult
        public func submit(_ requests: [OutboxRequest]) async throws -> [OutboxID] {
            let accepted = try await accept(requests)
            try await perform(accepted.flatMap(\.actions))
            return accepted.map(\.id)
        }

        /// A request that is in the outbox.
        private struct Accepted {
            var id: OutboxID
            /// What the machine wants now.
            var actions: [OutboxMachine.Action] = []
            /// Its end, where an earlier one with its key has come to one.
            var result: OutboxResult?
        }

        /// Nothing is awaited between the disk's answer and the return.
        private func accept(_ requests: [OutboxRequest]) async throws -> [Accepted] {
            var stored = try await store.insert(requests.filter { $0.requestClass == .mustArrive })[...]
            return requests.map { request in
                let known = request.requestClass == .mustArrive ? stored.popFirst() : nil
                var accepted = Accepted(id: known?.id ?? keep(request))
                if known?.isNew ?? true {
                    accepted.actions = machine.submit(
                        OutboxMachine.Item(
                            id: accepted.id, requestClass: request.requestClass,
                            urgency: min(max(request.urgency, 0), 7)))
                } else {
                    accepted.result = known?.setAsideStatus.map { .setAside(status: $0) }
                }
                return accepted
            }
        }

        /// Keeps the content of a request that is not on the disk.
        private func keep(_ request: OutboxRequest) -> OutboxID {
            let id = OutboxID(nextTransient)
            nextTransient -= 1
            transient[id] = request
            return id
        }

        /// Submits a request, and waits until it is at its end. Cancelling the task ends the waiting, not the request.
        ///
        /// - Throws: `OutboxError.storage`; `CancellationError`.
        public func send(_ request: OutboxRequest) async throws -> OutboxResult {
            let sender = nextObserver
            nextObserver += 1
            beginning[sender] = [:]
            defer { beginning[sender] = nil }
            let accepted = try await accept([request])[0]
            let number = accepted.id
            let (results, continuation) = AsyncStream.makeStream(of: OutboxResult.self)
            senders[number, default: [:]][sender] = continuation
            defer {
                senders[number]?[sender] = nil
                if senders[number]?.isEmpty == true { senders[number] = nil }
            }
            // An earlier one with the same key may have come to its end while the disk was asked.
            if let result = accepted.result ?? beginning[sender]?[number] { continuation.yield(result) }
            beginning[sender] = nil
            if isClosed { continuation.finish() }
            try await perform(accepted.actions)
            for await result in results { return result }
            if isClosed { throw OutboxError.closed }
            throw CancellationError()
        }

        /// The requests that must arrive and have not yet, in the order in which they were submitted.
        ///
        /// - Throws: `OutboxError.storage`.
        public func entries() async throws -> [OutboxEntry] { try await store.entries() }

        /// Tries a request again that was set aside.
        ///
        /// - Throws: `OutboxError.unknownRequest`, `.storage`.
        public func retry(_ id: OutboxID) async throws {
            guard let request = try await store.request(id), try await store.setAside(id, status: nil) else {
                throw OutboxError.unknownRequest(id)
            }
            for sender in beginning.keys { beginning[sender]?[id] = nil }
            try await perform(
                machine.submit(
                    OutboxMachine.Item(
                        id: id, requestClass: .mustArrive, urgency: min(max(request.urgency, 0), 7))))
        }

        /// Takes a request out. One that is being sent may still arrive.
        ///
        /// - Throws: `OutboxError.storage`.
        public func remove(_ id: OutboxID) async throws {
            let actions = machine.remove(id)
            try await perform(actions)
            // One that was set aside is the disk's alone.
            if actions.isEmpty { try await store.delete(id) }
        }

        /// What happens to the requests from now on. A consumer that falls behind by more than 1,024 events misses the oldest.
        public func events() -> AsyncStream<OutboxEvent> {
            let (stream, continuation) = AsyncStream.makeStream(
                of: OutboxEvent.self, bufferingPolicy: .bufferingNewest(1024))
            if isClosed { continuation.finish() }
            observers[nextObserver] = continuation
            nextObserver += 1
            return stream
        }

        // MARK: Sending

        /// Sends the requests, until the task is cancelled or `close()` is called. What is being sent then is cancelled, and sent again by the next call.
        ///
        /// - Throws: `CancellationError`; `OutboxError.storage` where the file can't be written any more, `.alreadyRunning`,
        ///   `.closed`; `PathMonitorError` where this machine's paths can't be read, or no more are told.
        public func run() async throws {
            guard !isClosed else { throw OutboxError.closed }
            guard work == nil else { throw OutboxError.alreadyRunning }
            let (items, continuation) = AsyncStream.makeStream(of: Work.self)
            let (closing, running) = AsyncStream.makeStream(of: Never.self)
            (work, self.running) = (continuation, running)
            defer {
                machine.stop()
                (work, nextWake, self.running) = (nil, nil, nil)
                for closer in closers { closer.resume() }
                closers = []
            }
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { for await _ in closing {} }
                group.addTask { try await self.watchPaths() }
                group.addTask {
                    try await withThrowingDiscardingTaskGroup { group in
                        for await item in items {
                            group.addTask { try await self.perform(item) }
                        }
                    }
                }
                defer { group.cancelAll() }
                // The others end only by an error.
                _ = try await group.next()
                try Task.checkCancellation()
            }
        }

        /// Ends `run()`, which returns, and lets go of the file: another outbox may open it as soon as this returns. What must arrive
        /// and is being sent just now is sent again by that one. Every later call throws `OutboxError.closed`, `events()` ends.
        public func close() async {
            isClosed = true
            if let running {
                running.finish()
                await withCheckedContinuation { closers.append($0) }
            }
            for observer in observers.values { observer.finish() }
            observers = [:]
            for sender in senders.values.flatMap(\.values) { sender.finish() }
            await store.close()
        }

        private func watchPaths() async throws {
            for await path in monitor.updates(allowedBy: options.policy) {
                try await perform(machine.pathChanged(path.map { Int($0.index) }, at: .now))
            }
            try Task.checkCancellation()
            _ = try await monitor.currentPath()
            throw PathMonitorError("the path monitor has stopped")
        }

        private func perform(_ item: Work) async throws {
            switch item {
            case .attempt(let id, let number): try await attempt(id, number)
            case .wake(let time):
                try? await Task.sleep(for: MonotonicTime.now.duration(to: time))
                guard !Task.isCancelled else { return }
                if nextWake == time { nextWake = nil }
                try await perform(machine.timeReached(.now))
            }
        }

        private func attempt(_ id: OutboxID, _ number: Int) async throws {
            var request = transient[id]
            if request == nil { request = try await store.request(id) }
            var outcome = OutboxOutcome.failed("there is no such request")
            if let request {
                guard let answer = await ask(request) else { return }
                outcome = answer
            }
            tell(.attempted(id, number: number, outcome))
            try await perform(machine.attemptEnded(id, outcome, random: .random(in: 0..<1), at: .now))
        }

        /// - Returns: nil where the task was cancelled before there was an answer.
        private nonisolated func ask(_ request: OutboxRequest) async -> OutboxOutcome? {
            let (transport, limit) = (transport, options.attemptTimeout)
            return await withTaskGroup(of: OutboxOutcome?.self) { group in
                group.addTask {
                    do {
                        let answer = try await transport.send(request)
                        return .answered(status: answer.status, retryAfter: answer.retryAfter)
                    } catch is OutboxTimeout {
                        return .timedOut
                    } catch {
                        return Task.isCancelled ? nil : .failed("\(error)")
                    }
                }
                group.addTask {
                    try? await Task.sleep(for: limit)
                    return Task.isCancelled ? nil : .timedOut
                }
                // An answer that comes at the last moment counts.
                var outcome: OutboxOutcome?
                for await found in group {
                    group.cancelAll()
                    if case .answered? = found { return found }
                    outcome = outcome ?? found
                }
                return outcome
            }
        }

        private func perform(_ actions: [OutboxMachine.Action]) async throws {
            for action in actions {
                // Starts are known to the machine already: none may wait for the disk.
                if case .start(let id, let attempt) = action { work?.yield(.attempt(id, number: attempt)) }
            }
            for action in actions {
                switch action {
                case .start: break
                case .delete(let id): try await store.delete(id)
                case .setAside(let id, let status): try await store.setAside(id, status: status)
                case .report(let id, let result):
                    transient[id] = nil
                    tell(.ended(id, result))
                }
            }
            setWake()
        }

        private func tell(_ event: OutboxEvent) {
            if case .ended(let id, let result) = event {
                // Only what is on the disk has a key that others may have.
                if id.number > 0 { for sender in beginning.keys { beginning[sender]?[id] = result } }
                for sender in senders[id]?.values ?? [:].values { sender.yield(result) }
            }
            for (id, observer) in observers {
                if case .terminated = observer.yield(event) { observers[id] = nil }
            }
        }

        /// A wake-up that comes too early does no harm, so that only an earlier one is set beside one that is under way.
        private func setWake() {
            guard let work, let deadline = machine.nextDeadline,
                deadline < nextWake ?? MonotonicTime(nanoseconds: .max)
            else { return }
            nextWake = deadline
            work.yield(.wake(at: deadline))
        }
    }

    /// How an outbox sends.
    public struct OutboxOptions: Sendable {
        /// Which paths will do; any unless set.
        public var policy = PathPolicy()
        /// How long an attempt may take; 60 s unless set.
        public var attemptTimeout: Duration = .seconds(60)

        /// The defaults.
        public init() {}
    }

    /// What happens to a request of an outbox.
    public enum OutboxEvent: Sendable, Hashable {
        /// It was attempted; `number` counts its attempts since the process started, from 1.
        case attempted(OutboxID, number: Int, OutboxOutcome)
        /// It is at its end.
        case ended(OutboxID, OutboxResult)
    }
#endif
