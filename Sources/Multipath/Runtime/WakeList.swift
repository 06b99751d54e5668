import LinuxNet
import PathCore

/// Connections whose data moves, on their way to the event thread.
///
/// Waking a thread costs more than what it then does for one connection, and nothing is due before a round trip
/// has passed. So while many connections are active the thread is woken for none of them: it looks into the list
/// now and then, until it finds it empty.
final class WakeList: Sendable {
    private struct State {
        var connections: [SteeringRunner] = []
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

    private let state = Locked(State())

    /// From any thread.
    func add(_ connection: SteeringRunner) {
        let wasWatched = state.withLock { state in
            state.connections.append(connection)
            defer { state.isWatched = true }
            return state.isWatched
        }
        if !wasWatched { EventThread.shared.submit { [self] in look() } }
    }

    /// On the event thread.
    private func look() {
        let isCrowded = SteeringRegistry.shared.onEventThread { $0.isCrowded }
        let awake = state.withLock { state in
            let awake = state.connections
            state.connections = []
            state.isWatched = isCrowded && !awake.isEmpty
            return (connections: awake, isWatched: state.isWatched)
        }
        for connection in awake.connections { connection.wake() }
        guard awake.isWatched else { return }
        _ = EventThread.shared.schedule(at: Self.round(.now)) { [self] in look() }
    }
}
