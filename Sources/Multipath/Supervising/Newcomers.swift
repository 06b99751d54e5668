import LinuxNet
import PathCore

/// What follows a connection from soon after its beginning.
protocol Newcomer: AnyObject, Sendable {
    /// Begins to follow it. On the event thread.
    func takeOn()
}

/// Connections that have come about and that nobody follows yet.
///
/// To follow one costs more than to open and close it, and many are closed as soon as they were opened. So each is
/// taken on a moment later, or as soon as there is something to see: its data moves, the kernel says something of it,
/// the paths change, another connection has found one dead. Nothing is found later for that.
final class Newcomers: Sendable {
    static let shared = Newcomers()

    /// How long a connection waits to which nothing happens.
    static let pause = Duration.milliseconds(20)

    private struct State {
        var waiting: [ObjectIdentifier: (newcomer: any Newcomer, since: MonotonicTime)] = [:]
        /// Whether the event thread looks here soon.
        var isTimed = false
    }

    private let state = Locked(State())

    // MARK: From any thread

    func add(_ newcomer: any Newcomer) {
        let wasTimed = state.withLock { state in
            state.waiting[ObjectIdentifier(newcomer)] = (newcomer, .now)
            defer { state.isTimed = true }
            return state.isTimed
        }
        if !wasTimed { EventThread.shared.submit { [self] in setTimer(at: .now.advanced(by: Self.pause)) } }
    }

    /// - Returns: whether it was still waiting. Whoever is told so has it for himself.
    func remove(_ newcomer: any Newcomer) -> Bool {
        state.withLock { $0.waiting.removeValue(forKey: ObjectIdentifier(newcomer)) != nil }
    }

    /// There is something to see for each of them: at once, where this is the event thread.
    func hurry() {
        guard state.withLock({ !$0.waiting.isEmpty }) else { return }
        if EventThread.shared.isIsolatingCurrentContext() == true { return takeOn { _ in true } }
        EventThread.shared.submit { [self] in takeOn { _ in true } }
    }

    // MARK: On the event thread

    func takeOn(where isTurn: (any Newcomer) -> Bool) {
        let newcomers: [any Newcomer] = state.withLock { state in
            guard !state.waiting.isEmpty else { return [] }
            let turn = state.waiting.filter { isTurn($0.value.newcomer) }
            for key in turn.keys { state.waiting[key] = nil }
            return turn.values.map(\.newcomer)
        }
        for newcomer in newcomers { newcomer.takeOn() }
    }

    private func setTimer(at deadline: MonotonicTime) {
        _ = EventThread.shared.schedule(at: deadline) { [self] in timeReached() }
    }

    private func timeReached() {
        let now = MonotonicTime.now
        let (due, next) = state.withLock { state in
            let due = state.waiting.filter { $0.value.since.duration(to: now) >= Self.pause }
            for key in due.keys { state.waiting[key] = nil }
            state.isTimed = !state.waiting.isEmpty
            return (due.values.map(\.newcomer), state.waiting.values.map(\.since).min())
        }
        if let next { setTimer(at: next.advanced(by: Self.pause)) }
        for newcomer in due { newcomer.takeOn() }
    }
}
