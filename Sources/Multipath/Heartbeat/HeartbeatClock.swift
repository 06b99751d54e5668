import LinuxNet

/// The thread and the time that heartbeats live on.
package protocol HeartbeatClock: AnyObject, Sendable {
    var now: MonotonicTime { get }
    /// Runs a closure after those that were submitted before, and never beside another or an alarm.
    func submit(_ body: @escaping @Sendable () -> Void)
    /// Calls a closure at a time, or soon after it; it replaces the alarm that was set before. Called where closures run.
    func setAlarm(at time: MonotonicTime?, _ body: @escaping @Sendable () -> Void)
    /// Calls a closure, where closures run, whenever the machine has slept. Called where closures run, once.
    func watchSleep(_ body: @escaping @Sendable () -> Void)
}

extension HeartbeatClock {
    /// A clock on which no machine sleeps.
    package func watchSleep(_ body: @escaping @Sendable () -> Void) {}
}

/// The process's event thread.
final class EventThreadClock: HeartbeatClock, @unchecked Sendable {
    private let thread: EventThread
    private var alarm: EventThread.Token?
    private var sleepWatch: WakeWatch?

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

    /// The alarm's clock stands still while the machine sleeps, so that what is due meanwhile would come late.
    func watchSleep(_ body: @escaping @Sendable () -> Void) {
        // Without a descriptor for it, it is noticed with the next alarm.
        guard let watch = try? WakeWatch(on: thread), (try? watch.start(onResume: body)) != nil else {
            return
        }
        sleepWatch = watch
    }
}
