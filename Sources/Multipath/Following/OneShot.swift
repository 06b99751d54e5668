import LinuxNet

/// Something that happens once, and that any number of tasks wait for.
final class OneShot: Sendable {
    private struct State {
        var isFired = false
        var waiters: [UInt64: CheckedContinuation<Void, Never>] = [:]
        /// Waits that were cancelled before they began.
        var cancelled: Set<UInt64> = []
        var nextID: UInt64 = 0
    }

    private let state = Locked(State())

    var isFired: Bool { state.withLock { $0.isFired } }

    func fire() {
        let waiters = state.withLock { state in
            state.isFired = true
            defer { state.waiters = [:] }
            return Array(state.waiters.values)
        }
        for waiter in waiters { waiter.resume() }
    }

    /// Returns when it has happened, or the task is cancelled.
    func wait() async {
        let id = state.withLock { state in
            defer { state.nextID += 1 }
            return state.nextID
        }
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isOver = state.withLock { state in
                    if state.isFired || state.cancelled.remove(id) != nil { return true }
                    state.waiters[id] = continuation
                    return false
                }
                if isOver { continuation.resume() }
            }
        } onCancel: {
            let waiter = state.withLock { state in
                let waiter = state.waiters.removeValue(forKey: id)
                if waiter == nil, !state.isFired { state.cancelled.insert(id) }
                return waiter
            }
            waiter?.resume()
        }
        state.withLock { _ = $0.cancelled.remove(id) }
    }
}

/// Runs a body to its end; the body is cancelled when `stop` is fired.
func stoppable<Value: Sendable>(
    by stop: OneShot, _ body: @escaping @Sendable () async -> Value
) async -> Value {
    await withTaskGroup(of: Value?.self) { group in
        group.addTask { await body() }
        group.addTask {
            await stop.wait()
            return nil
        }
        var value: Value?
        for await result in group {
            if let result { value = result }
            group.cancelAll()
        }
        guard let value else { preconditionFailure("a body that ended has a value") }
        return value
    }
}

/// Messages from anywhere for one task, in order.
final class Mailbox<Message: Sendable>: Sendable {
    private struct State {
        var messages: [Message] = []
        var arrival = OneShot()
    }

    private let state = Locked(State())

    func post(_ message: Message) {
        let arrival = state.withLock { state in
            state.messages.append(message)
            return state.arrival
        }
        arrival.fire()
    }

    /// What has come; none where the task was cancelled.
    func next() async -> [Message] {
        await state.withLock { $0.arrival }.wait()
        return state.withLock { state in
            defer {
                state.messages = []
                state.arrival = OneShot()
            }
            return state.messages
        }
    }
}

/// A timer on the event thread that is set again and again.
actor Alarm: EventThreadActor {
    nonisolated var unownedExecutor: UnownedSerialExecutor { thread.asUnownedSerialExecutor() }
    nonisolated let thread: EventThread

    private let body: @Sendable () -> Void
    private var token: EventThread.Token?

    init(on thread: EventThread, _ body: @escaping @Sendable () -> Void) {
        self.thread = thread
        self.body = body
    }

    /// The body is called at the deadline, or never for nil. What was set before counts no more.
    nonisolated func set(_ deadline: MonotonicTime?) {
        submit { $0.apply(deadline) }
    }

    private func apply(_ deadline: MonotonicTime?) {
        if let token { thread.cancelTimer(token) }
        token = deadline.map { deadline in
            thread.schedule(at: deadline) { self.onEventThread { $0.body() } }
        }
    }
}
