// Which consumer of a connection's events gets what.
//
// Rules:
// 1. A consumer first gets what holds at that moment (established, fallback, not viable, waiting, a better path,
//    another carrier or other tags, a path that is not allowed), then each fact in order, and `closed` last. Before the connection has begun it waits.
// 2. A consumer that lets more than `limit` events pile up loses them all, is told how many those were, and starts
//    again with what holds then (rule 1). So nothing grows, and no consumer keeps a stale state.
// 3. Without consumers only the current state is kept.

/// Keeps the current state of one connection, and what each consumer has not read yet. It performs nothing: what
/// is to be resumed is returned.
///
/// Order of calls: `begin` once, `add` any number of times, `close` once; the consumers' calls at any time.
struct ConnectionEventMachine<Waiter> {
    typealias ConsumerID = UInt64

    /// How many events one consumer may leave unread: some minutes of a bad network.
    static var limit: Int { 256 }

    /// A waiter to be resumed, with its event; nil is the end of the sequence.
    struct Wake {
        var waiter: Waiter
        var event: ConnectionEvent?
    }

    private struct Consumer {
        /// Oldest first, from `next` on.
        var unread: [ConnectionEvent]
        var next = 0
        /// Events lost since the last one that was read.
        var dropped = 0
        var waiter: Waiter?
        var isEnded = false

        mutating func takeUnread() -> ConnectionEvent? {
            guard next < unread.count else { return nil }
            defer {
                next += 1
                if next == unread.count { (unread, next) = ([], 0) }
            }
            return unread[next]
        }
    }

    private(set) var hasBegun = false
    private(set) var isClosed = false
    private(set) var establishment: EstablishmentReport?
    private var fallback: FallbackReason?
    /// Whether the connection's path carries it, and why not. (Kept as it is and not as an event: those have room for a
    /// whole report, and there is one of these for every connection.)
    private var isViable = true
    private var trouble: PathTrouble?
    private var betterPath: PathID?
    /// Why the connection waits for a path; nil while it has one.
    private var omissions: [PathOmission]?
    /// The path that carries the connection, where that or its tags have changed; empty where not. (An array, which takes a
    /// word where it is empty.)
    private var path: [ConnectionPath] = []
    /// Why the path is not allowed; empty where it is.
    private var refusal: [PathRefusal] = []
    private var consumers: [ConsumerID: Consumer] = [:]
    private var nextID: ConsumerID = 0

    /// What holds now, as events.
    private var state: [ConnectionEvent] {
        guard hasBegun else { return [] }
        var events: [ConnectionEvent] = []
        if let establishment { events.append(.established(establishment)) }
        if let fallback { events.append(.fallback(fallback)) }
        if !isViable { events.append(.viabilityChanged(isViable: false, reason: trouble)) }
        if let omissions { events.append(.waiting(omissions)) }
        if let betterPath { events.append(.betterPathAvailable(betterPath)) }
        events += path.map { .pathChanged($0) } + refusal.map { .pathNotAllowed($0) }
        return events
    }

    // MARK: The connection

    /// The connection has come about.
    ///
    /// - Parameter report: nil for a connection that was accepted.
    mutating func begin(_ report: EstablishmentReport?, closing: () -> TransferReport) -> [Wake] {
        (hasBegun, establishment) = (true, report)
        if let reason = report?.transport.fallbackReason { fallback = reason }
        guard !consumers.isEmpty else { return [] }
        let state = state
        for id in consumers.keys { consumers[id]?.unread = state }
        return wakeAll(closing)
    }

    /// Something has happened. Events after the end are ignored.
    mutating func add(_ event: ConnectionEvent) -> [Wake] {
        guard !isClosed else { return [] }
        note(event)
        guard hasBegun, !consumers.isEmpty else { return [] }
        var wakes: [Wake] = []
        for id in consumers.keys {
            guard var consumer = consumers[id], !consumer.isEnded else { continue }
            if let waiter = consumer.waiter {
                consumer.waiter = nil
                wakes.append(Wake(waiter: waiter, event: event))
            } else if consumer.dropped > 0 {
                consumer.dropped += 1
            } else if consumer.unread.count - consumer.next >= Self.limit {
                consumer.dropped = consumer.unread.count - consumer.next + 1
                (consumer.unread, consumer.next) = ([], 0)
            } else {
                consumer.unread.append(event)
            }
            consumers[id] = consumer
        }
        return wakes
    }

    /// The connection has ended.
    ///
    /// - Parameter closing: makes its last report; called only where a consumer waits for it.
    mutating func close(_ closing: () -> TransferReport) -> [Wake] {
        isClosed = true
        return consumers.isEmpty ? [] : wakeAll(closing)
    }

    private mutating func note(_ event: ConnectionEvent) {
        switch event {
        case .viabilityChanged(let isViable, let trouble):
            (self.isViable, self.trouble) = (isViable, trouble)
            if isViable { omissions = nil }
        case .waiting(let omissions): self.omissions = omissions
        case .steering(.joined), .steering(.moved), .steering(.answered): omissions = nil
        case .fallback(let reason): (fallback, omissions) = (reason, nil)
        case .betterPathAvailable(let path): betterPath = path
        case .pathChanged(let path):
            self.path = [path]
            if path.refusal == nil { refusal = [] }
        case .pathNotAllowed(let refusal): self.refusal = [refusal]
        case .established, .steering, .dropped, .closed: break
        }
    }

    // MARK: The consumers

    /// A new consumer, for which what holds now is kept.
    mutating func addConsumer() -> ConsumerID {
        defer { nextID += 1 }
        consumers[nextID] = Consumer(unread: state)
        return nextID
    }

    mutating func removeConsumer(_ id: ConsumerID) { consumers[id] = nil }

    /// A consumer asks for its next event.
    ///
    /// - Returns: the answer; nil where the consumer must wait.
    mutating func next(_ id: ConsumerID, _ waiter: Waiter, closing: () -> TransferReport) -> Wake? {
        precondition(
            consumers[id]?.waiter == nil, "an iterator of connection events is used by two tasks at once")
        guard let event = nextEvent(id, closing) else {
            if consumers[id]?.isEnded != false { return Wake(waiter: waiter, event: nil) }
            consumers[id]?.waiter = waiter
            return nil
        }
        return Wake(waiter: waiter, event: event)
    }

    /// A consumer's task was cancelled: its sequence ends here.
    mutating func cancel(_ id: ConsumerID) -> Wake? {
        consumers[id]?.isEnded = true
        guard let waiter = consumers[id]?.waiter else { return nil }
        consumers[id]?.waiter = nil
        return Wake(waiter: waiter, event: nil)
    }

    private mutating func nextEvent(_ id: ConsumerID, _ closing: () -> TransferReport) -> ConnectionEvent? {
        guard var consumer = consumers[id], !consumer.isEnded else { return nil }
        defer { consumers[id] = consumer }
        if consumer.dropped > 0 {
            consumer.unread = [.dropped(consumer.dropped)] + state
            consumer.dropped = 0
        }
        if let event = consumer.takeUnread() { return event }
        guard hasBegun, isClosed else { return nil }
        consumer.isEnded = true
        return .closed(closing())
    }

    private mutating func wakeAll(_ closing: () -> TransferReport) -> [Wake] {
        var wakes: [Wake] = []
        for id in consumers.keys {
            guard let waiter = consumers[id]?.waiter, let event = nextEvent(id, closing) else { continue }
            consumers[id]?.waiter = nil
            wakes.append(Wake(waiter: waiter, event: event))
        }
        return wakes
    }
}
