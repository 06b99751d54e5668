import LinuxNet

/// The thread and the time that heartbeats live on.
package protocol HeartbeatClock: AnyObject, Sendable {
    var now: MonotonicTime { get }
    /// Runs a closure after those that were submitted before, and never beside another or an alarm.
    func submit(_ body: @escaping @Sendable () -> Void)
    /// Calls a closure at a time, or soon after it; it replaces the alarm that was set before. Called where closures run.
    func setAlarm(at time: MonotonicTime?, _ body: @escaping @Sendable () -> Void)
}

/// The process's event thread.
final class EventThreadClock: HeartbeatClock, @unchecked Sendable {
    private let thread: EventThread
    private var alarm: EventThread.Token?

    init(_ thread: EventThread) { self.thread = thread }

    var now: MonotonicTime { .now }

    func submit(_ body: @escaping @Sendable () -> Void) { thread.submit(body) }

    func setAlarm(at time: MonotonicTime?, _ body: @escaping @Sendable () -> Void) {
        if let alarm { thread.cancelTimer(alarm) }
        alarm = time.map { time in
            thread.schedule(at: time) { [self] in
                alarm = nil
                body()
            }
        }
    }
}
