import LinuxNet
import PathCore

/// A connection that takes its turn to be looked at, on the event thread.
protocol GlancedConnection: AnyObject {
    func glance()
}

/// Connections whose data moves while nothing is wrong and many others are active: each is looked at when its turn comes,
/// and until then nothing is done for it. They take their turns together, by one timer for all. Only the event thread may
/// use it.
final class GlanceList: @unchecked Sendable {
    private struct Turn {
        let time: MonotonicTime
        var connections: [any GlancedConnection]
    }

    private let thread: EventThread
    /// The next one first.
    private var turns: [Turn] = []
    private var timer: (deadline: MonotonicTime, token: EventThread.Token)?

    init(_ thread: EventThread) { self.thread = thread }

    /// Has a connection looked at, at a time or a few milliseconds later.
    func add(_ connection: any GlancedConnection, at time: MonotonicTime) {
        let time = WakeList.round(time)
        // Mostly it is the last one.
        var place = turns.endIndex
        while place > 0, turns[place - 1].time > time { place -= 1 }
        if place > 0, turns[place - 1].time == time {
            turns[place - 1].connections.append(connection)
        } else {
            turns.insert(Turn(time: time, connections: [connection]), at: place)
        }
        setTimer()
    }

    private func setTimer() {
        // An earlier timer does no harm: it finds nothing to do, and sets the next.
        guard let deadline = turns.first?.time, timer.map({ deadline < $0.deadline }) ?? true else { return }
        if let timer { thread.cancelTimer(timer.token) }
        timer = (deadline, thread.schedule(at: deadline) { [self] in look() })
    }

    private func look() {
        timer = nil
        let now = MonotonicTime.now
        while let turn = turns.first, turn.time <= now {
            turns.removeFirst()
            for connection in turn.connections { connection.glance() }
        }
        setTimer()
    }
}
