import LinuxNet
import PathCore

/// A connection that wants to be told, on the event thread, that its data moves.
protocol WakeableConnection: AnyObject, Sendable {
    func wake()
}

/// Connections whose data moves, on their way to the event thread.
///
/// Waking a thread costs more than what it then does for one connection, and nothing is due before a round trip
/// has passed. So while many connections are active the thread is woken for none of them: it looks into the list
/// now and then, until it finds it empty.
final class WakeList: Sendable {
    private struct State {
        var connections: [any WakeableConnection] = []
        /// Whether the event thread will look without being woken.
        var isWatched = false
    }

    /// How long a connection may wait to be noticed while there are many.
    static let pause = Duration.milliseconds(8)

    /// The next moment at which several connections are looked at together.
    static func round(_ deadline: MonotonicTime) -> MonotonicTime {
        let step = pause.wholeNanoseconds
        return MonotonicTime(nanoseconds: (deadline.nanoseconds / step + 1) * step)
    }

    private let thread: EventThread
    private let load: SamplingLoad
    private let state = Locked(State())

    init(_ thread: EventThread, _ load: SamplingLoad) {
        self.thread = thread
        self.load = load
    }

    /// From any thread.
    func add(_ connection: any WakeableConnection) {
        let wasWatched = state.withLock { state in
            state.connections.append(connection)
            defer { state.isWatched = true }
            return state.isWatched
        }
        if !wasWatched { thread.submit { [self] in look() } }
    }

    /// On the event thread.
    private func look() {
        let isCrowded = load.isCrowded
        let awake = state.withLock { state in
            let awake = state.connections
            state.connections = []
            state.isWatched = isCrowded && !awake.isEmpty
            return (connections: awake, isWatched: state.isWatched)
        }
        for connection in awake.connections { connection.wake() }
        guard awake.isWatched else { return }
        _ = thread.schedule(at: Self.round(.now)) { [self] in look() }
    }
}
