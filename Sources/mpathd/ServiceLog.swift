import Dispatch
import LinuxNet
import PathBroker
import PathCore

/// Writes what the broker tells to the journal, so many lines a minute: what clients cause must not fill a disk.
///
/// A thread of its own writes, because a journal or a terminal that takes nothing more would stop the one that writes: then
/// lines are dropped, and their number is told when it goes on.
final class ServiceLog: Sendable {
    static let shared = ServiceLog()

    private struct State {
        var since = MonotonicTime.zero
        var count = 0
        var waiting: [BrokerLog] = []
        var dropped = 0
        var hasThread = false
    }

    private static let mostInMinute = 60
    /// Lines that wait for the thread.
    private static let mostWaiting = 64
    private let state = Locked(State())
    private let signal = DispatchSemaphore(value: 0)

    /// From any thread: never waits.
    func write(_ log: BrokerLog) {
        let (isNew, needsThread) = state.withLock { state -> (Bool, Bool) in
            let now = MonotonicTime.now
            if state.since.duration(to: now) >= .seconds(60) { (state.since, state.count) = (now, 0) }
            guard state.count < Self.mostInMinute, state.waiting.count < Self.mostWaiting else {
                state.dropped += 1
                return (false, false)
            }
            state.count += 1
            state.waiting.append(log)
            defer { state.hasThread = true }
            return (true, !state.hasThread)
        }
        if needsThread, (try? OwnThread.start("log") { [self] in run() }) == nil {
            // Without a thread the lines wait for the next one that can be made.
            state.withLock { $0.hasThread = false }
        }
        if isNew { signal.signal() }
    }

    private func run() -> Never {
        while true {
            signal.wait()
            let (log, dropped) = state.withLock { state -> (BrokerLog?, Int) in
                guard !state.waiting.isEmpty else { return (nil, 0) }
                defer { state.dropped = 0 }
                return (state.waiting.removeFirst(), state.dropped)
            }
            guard let log else { continue }
            if dropped > 0 { ServiceManager.log("\(dropped) lines were left out", priority: 5) }
            write(now: log)
        }
    }

    private func write(now log: BrokerLog) {
        switch log {
        case .dropped(let process, let user):
            ServiceManager.log(
                "dropped process \(process) of user \(user)", priority: 5, fields("dropped", process, user))
        case .heldUp(let process, let user):
            ServiceManager.log(
                "process \(process) of user \(user) held its socket; the path manager's setting was put back",
                priority: 4, fields("held_up", process, user))
        case .note(let text): ServiceManager.log(text, priority: 4)
        }
    }

    private func fields(_ event: String, _ process: Int32, _ user: UInt32) -> [(name: String, value: String)]
    {
        [("MPATHD_EVENT", event), ("MPATHD_CLIENT_PID", "\(process)"), ("MPATHD_CLIENT_UID", "\(user)")]
    }
}
