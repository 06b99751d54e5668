// Which consumer gets which snapshot: the machine behind `PathMonitor.updates`.
//
// Rules: a consumer gets the current snapshot first, then each newer one; one that is slow skips to the
// newest. It is told what changed since the one it saw, so skipping loses no reason. Equal states are not
// delivered twice.

/// Holds the newest snapshot and the consumers that wait for a newer one.
struct LatestPath<Waiter> {
    typealias ConsumerID = UInt64

    /// What a waiter is woken with: a snapshot, or nil for the end.
    struct Wake {
        var waiter: Waiter
        var snapshot: PathSnapshot?
    }

    private struct Consumer {
        var seen: PathSnapshot?
        var waiter: Waiter?
        var isEnded = false
    }

    private(set) var latest: PathSnapshot?
    private(set) var isEnded = false
    private var consumers: [ConsumerID: Consumer] = [:]
    private var nextID: ConsumerID = 0

    mutating func addConsumer() -> ConsumerID {
        defer { nextID += 1 }
        consumers[nextID] = Consumer()
        return nextID
    }

    mutating func removeConsumer(_ id: ConsumerID) {
        consumers[id] = nil
    }

    /// A newer snapshot.
    mutating func publish(_ snapshot: PathSnapshot) -> [Wake] {
        latest = snapshot
        var wakes: [Wake] = []
        for id in consumers.keys.sorted() {
            guard let waiter = consumers[id]?.waiter, let news = news(for: id) else { continue }
            consumers[id]?.waiter = nil
            wakes.append(Wake(waiter: waiter, snapshot: news))
        }
        return wakes
    }

    /// Takes a newest snapshot whose differences are told to no consumer. A new consumer sees them.
    mutating func replace(_ snapshot: PathSnapshot) {
        latest = snapshot
    }

    /// A consumer asks for its next snapshot.
    /// - Returns: the answer, or nil where it must wait.
    mutating func next(_ id: ConsumerID, _ waiter: Waiter) -> Wake? {
        precondition(consumers[id]?.waiter == nil, "an iterator of path updates is used by two tasks at once")
        if consumers[id]?.isEnded != false { return Wake(waiter: waiter, snapshot: nil) }
        if let news = news(for: id) { return Wake(waiter: waiter, snapshot: news) }
        if isEnded { return Wake(waiter: waiter, snapshot: nil) }
        consumers[id]?.waiter = waiter
        return nil
    }

    /// A consumer's task was cancelled: its sequence ends here.
    mutating func cancel(_ id: ConsumerID) -> Wake? {
        consumers[id]?.isEnded = true
        guard let waiter = consumers[id]?.waiter else { return nil }
        consumers[id]?.waiter = nil
        return Wake(waiter: waiter, snapshot: nil)
    }

    /// No snapshot follows. A consumer that has not seen the newest one still gets it.
    mutating func end() -> [Wake] {
        isEnded = true
        return consumers.keys.sorted().compactMap { id in
            guard let waiter = consumers[id]?.waiter else { return nil }
            consumers[id]?.waiter = nil
            return Wake(waiter: waiter, snapshot: nil)
        }
    }

    /// More may follow after all. Consumers that were told of the end stay at it.
    mutating func reopen() { isEnded = false }

    private mutating func news(for id: ConsumerID) -> PathSnapshot? {
        guard var snapshot = latest, let consumer = consumers[id] else { return nil }
        if let seen = consumer.seen {
            guard snapshot.generation > seen.generation else { return nil }
            snapshot.changes = snapshot.changes(since: seen)
            consumers[id]?.seen = snapshot
            // Changed and changed back while the consumer was busy: nothing to tell.
            return snapshot.hasSameContent(as: seen) ? nil : snapshot
        }
        snapshot.changes = snapshot.changes(since: nil)
        consumers[id]?.seen = snapshot
        return snapshot
    }
}
