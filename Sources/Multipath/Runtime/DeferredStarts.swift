import LinuxNet
import PathCore

/// What follows a connection from soon after its beginning.
protocol DeferredStart: AnyObject, Sendable {
    /// By which the kernel's path manager names the connection; nil for plain TCP.
    var token: ConnectionToken? { get }
    /// Begins to follow the connection. On the event thread.
    func startFollowing()
}

/// Connections that have come about and are not followed yet.
///
/// To follow a connection costs more than to open and close it, and many are closed as soon as they were opened. So
/// each start waits a moment, and comes earlier where there is something to see: the connection's data moves, the
/// kernel reports something about it, the paths change, another connection has found a path dead. Nothing is
/// detected later for that.
final class DeferredStarts: Sendable {
    /// How long a start waits while nothing happens to its connection.
    static let pause = Duration.milliseconds(20)

    private struct State {
        var waiting: [ObjectIdentifier: (connection: any DeferredStart, since: MonotonicTime)] = [:]
        /// Whether the event thread looks here soon.
        var isTimed = false
    }

    private let thread: EventThread
    private let state = Locked(State())

    init(_ thread: EventThread) { self.thread = thread }

    // MARK: From any thread

    func add(_ connection: any DeferredStart) {
        let wasTimed = state.withLock { state in
            state.waiting[ObjectIdentifier(connection)] = (connection, .now)
            defer { state.isTimed = true }
            return state.isTimed
        }
        if !wasTimed { thread.submit { [self] in setTimer(at: .now.advanced(by: Self.pause)) } }
    }

    /// - Returns: whether the start was still waiting. Of several callers one gets true.
    func remove(_ connection: any DeferredStart) -> Bool {
        state.withLock { $0.waiting.removeValue(forKey: ObjectIdentifier(connection)) != nil }
    }

    /// Starts all that wait, because there is something to see for each: before this returns where the caller is on
    /// the event thread.
    func hurry() {
        guard state.withLock({ !$0.waiting.isEmpty }) else { return }
        if thread.isIsolatingCurrentContext() == true { return startAll() }
        thread.submit { [self] in startAll() }
    }

    // MARK: On the event thread

    func startAll() { start { _ in true } }

    /// Starts the connection that the kernel's path manager names so.
    func start(_ token: ConnectionToken) { start { $0.token == token } }

    private func start(where isTurn: (any DeferredStart) -> Bool) {
        let due: [any DeferredStart] = state.withLock { state in
            guard !state.waiting.isEmpty else { return [] }
            let turn = state.waiting.filter { isTurn($0.value.connection) }
            for key in turn.keys { state.waiting[key] = nil }
            return turn.values.map(\.connection)
        }
        for connection in due { connection.startFollowing() }
    }

    private func setTimer(at deadline: MonotonicTime) {
        _ = thread.schedule(at: deadline) { [self] in timeReached() }
    }

    private func timeReached() {
        let now = MonotonicTime.now
        let (due, next) = state.withLock { state in
            let due = state.waiting.filter { $0.value.since.duration(to: now) >= Self.pause }
            for key in due.keys { state.waiting[key] = nil }
            state.isTimed = !state.waiting.isEmpty
            return (due.values.map(\.connection), state.waiting.values.map(\.since).min())
        }
        if let next { setTimer(at: next.advanced(by: Self.pause)) }
        for connection in due { connection.startFollowing() }
    }
}
