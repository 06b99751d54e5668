import LinuxNet
import Synchronization

/// The stream of a monitor's snapshots: the current one first, then each change. Every iterator is a
/// consumer of its own; a slow one skips to the newest snapshot, whose `changes` tell all that it missed.
public struct PathUpdates: AsyncSequence, Sendable {
    public typealias Element = PathSnapshot
    public typealias Failure = Never

    let channel: PathChannel
    /// Keeps the monitor running while this is iterated.
    let lifetime: PathMonitor.Lifetime

    public func makeAsyncIterator() -> Iterator {
        lifetime.start()
        return Iterator(consumer: Consumer(channel), lifetime: lifetime)
    }

    /// An iterator is for one task. It ends when that task is cancelled, or if the monitor could not start.
    public struct Iterator: AsyncIteratorProtocol {
        let consumer: Consumer
        let lifetime: PathMonitor.Lifetime

        public mutating func next() async -> PathSnapshot? {
            await consumer.channel.next(consumer.id)
        }

        public mutating func next(isolation actor: isolated (any Actor)?) async -> PathSnapshot? {
            await consumer.channel.next(consumer.id)
        }
    }

    /// A consumer's place in the channel, given back when the iterator goes.
    final class Consumer: Sendable {
        let channel: PathChannel
        let id: UInt64

        init(_ channel: PathChannel) {
            self.channel = channel
            id = channel.state.withLock { $0.machine.addConsumer() }
        }

        deinit { channel.state.withLock { $0.machine.removeConsumer(id) } }
    }
}

/// What lives on the event thread and is told of each snapshot there.
protocol PathListener: AnyObject {
    func ingest(_ snapshot: PathSnapshot)
}

/// Calls a closure with each snapshot, on the event thread.
final class SnapshotListener: PathListener {
    private let body: (PathSnapshot) -> Void
    init(_ body: @escaping (PathSnapshot) -> Void) { self.body = body }
    func ingest(_ snapshot: PathSnapshot) { body(snapshot) }
}

/// Runs `LatestPath`: the lock around it, and the continuations resumed outside of it.
final class PathChannel: BudgetListener {
    typealias Machine = LatestPath<CheckedContinuation<PathSnapshot?, Never>>

    /// A source that fails to start may be started again: each start is a run of its own.
    struct State {
        var machine = Machine()
        var run = 0
        /// Why the run ended, if by an error.
        var failure: PathMonitorError?
    }

    let runtime: Runtime
    let number = PathChannel.numbers.wrappingAdd(1, ordering: .relaxed).newValue
    private static let numbers = Atomic<UInt64>(0)
    /// Whether the user's budgets count here: a test's paths have none but its own.
    let hasBudgets: Bool
    let state = Locked(State())
    private let observers = Locked(Observers())
    /// Only the event thread uses it.
    private let listeners = Listeners()
    private let delivery = Locked(Delivery())

    /// What the source said last, and what this process's budgets add to it.
    private struct Delivery {
        var told: PathSnapshot?
        var spent: Set<PathBudget> = []
        /// What was delivered last because of a budget: it has counted the generations on.
        var respent: PathSnapshot?
    }

    private struct Observers {
        var bodies: [UInt64: @Sendable (PathSnapshot) -> Void] = [:]
        var nextID: UInt64 = 0
        /// Whether there are listeners.
        var hasListeners = false
    }

    private final class Listeners: @unchecked Sendable {
        var all: [ObjectIdentifier: any PathListener] = [:]
    }

    init(_ runtime: Runtime, hasBudgets: Bool = true) {
        self.runtime = runtime
        self.hasBudgets = hasBudgets
    }

    /// Whether snapshots tell of a policy's budget already.
    func isPrepared(for policy: PathPolicy) -> Bool {
        policy.budget == nil || !hasBudgets || runtime.budgets.isReady(policy, for: self)
    }

    /// Has snapshots tell of a policy's budget from now on. Mostly it returns at once, and after a second at most.
    func prepare(for policy: PathPolicy) async {
        if !isPrepared(for: policy) { await runtime.budgets.prepare(policy, for: self) }
    }

    /// Why it ended, if by an error.
    var failure: PathMonitorError? { state.withLock { $0.failure } }

    /// The run that is under way, or was the last.
    var run: Int { state.withLock { $0.run } }

    func publish(_ snapshot: PathSnapshot) {
        // First: what changes is told to them as well.
        runtime.deferredStarts.hurry()
        resume(state.withLock { $0.machine.publish(snapshot) })
        let (bodies, hasListeners) = observers.withLock { (Array($0.bodies.values), $0.hasListeners) }
        for body in bodies { body(snapshot) }
        guard hasListeners else { return }
        runtime.thread.submit { [listeners] in
            for listener in listeners.all.values { listener.ingest(snapshot) }
        }
    }

    /// Delivers what a source found: under a new number, or, where nothing differs that consumers are woken for, in
    /// the place of the one before.
    /// - Returns: the snapshot as it was delivered.
    func deliver(_ snapshot: PathSnapshot, after before: PathSnapshot?) -> PathSnapshot {
        delivery.withLock { delivery in
            delivery.told = snapshot
            guard !delivery.spent.isEmpty || delivery.respent != nil else {
                return send(snapshot, after: before)
            }
            var last = before
            if let respent = delivery.respent, respent.generation >= before?.generation ?? 0 {
                last = respent
            }
            return send(snapshot.withSpent(delivery.spent), after: last)
        }
    }

    /// The budgets that are spent have changed.
    func setSpent(_ budgets: Set<PathBudget>) {
        delivery.withLock { delivery in
            guard delivery.spent != budgets else { return }
            delivery.spent = budgets
            // Before the first snapshot there is nothing to tell.
            guard let told = delivery.told, let latest else { return }
            delivery.respent = send(told.withSpent(budgets), after: latest)
        }
    }

    private func send(_ snapshot: PathSnapshot, after before: PathSnapshot?) -> PathSnapshot {
        var next = snapshot
        next.changes = []
        next.generation = before?.generation ?? 0
        if before?.hasSameContent(as: next) == true {
            replace(next)
        } else {
            next.generation += 1
            publish(next)
        }
        return next
    }

    /// Calls `body` with each snapshot that is published from now on: for the library's own parts, to which a
    /// task for each would cost too much.
    func observe(_ body: @escaping @Sendable (PathSnapshot) -> Void) -> UInt64 {
        observers.withLock { observers in
            defer { observers.nextID += 1 }
            observers.bodies[observers.nextID] = body
            return observers.nextID
        }
    }

    /// Tells an object of each snapshot that is published from now on, until `detach`. Both on the event thread, where
    /// the object is told too.
    func attach(_ listener: any PathListener) {
        runtime.thread.checkIsolated()
        listeners.all[ObjectIdentifier(listener)] = listener
        observers.withLock { $0.hasListeners = true }
    }

    func detach(_ listener: any PathListener) {
        runtime.thread.checkIsolated()
        listeners.all[ObjectIdentifier(listener)] = nil
        if listeners.all.isEmpty { observers.withLock { $0.hasListeners = false } }
    }

    func endObservation(_ id: UInt64) {
        observers.withLock { _ = $0.bodies.removeValue(forKey: id) }
    }

    func replace(_ snapshot: PathSnapshot) {
        state.withLock { $0.machine.replace(snapshot) }
    }

    /// The run is over: no snapshot follows. The end and its reason are there at once, so that a restart comes before both or
    /// after both.
    ///
    /// - Parameter run: an earlier one's end is none any more.
    func end(_ run: Int, because failure: PathMonitorError? = nil) {
        resume(
            state.withLock { state in
                guard run == state.run else { return [] }
                if let failure { state.failure = failure }
                return state.machine.end()
            })
    }

    /// Begins another run where the last one ended by an error.
    ///
    /// - Returns: whether it did.
    func reopen() -> Bool {
        state.withLock { state in
            guard state.failure != nil else { return false }
            state.failure = nil
            state.run += 1
            state.machine.reopen()
            return true
        }
    }

    var latest: PathSnapshot? { state.withLock { $0.machine.latest } }

    func next(_ id: UInt64) async -> PathSnapshot? {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                if let wake = state.withLock({ $0.machine.next(id, continuation) }) { resume([wake]) }
            }
        } onCancel: {
            if let wake = state.withLock({ $0.machine.cancel(id) }) { resume([wake]) }
        }
    }

    private func resume(_ wakes: [Machine.Wake]) {
        for wake in wakes { wake.waiter.resume(returning: wake.snapshot) }
    }
}
