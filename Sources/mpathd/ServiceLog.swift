import LinuxNet
import PathBroker
import PathCore

/// Writes what the broker tells to the journal, so many lines a minute: what clients cause must not fill a disk.
final class ServiceLog: Sendable {
    static let shared = ServiceLog()

    private static let mostInMinute = 60
    private let written = Locked((since: MonotonicTime.zero, count: 0))

    func write(_ log: BrokerLog) {
        let now = MonotonicTime.now
        let count = written.withLock { written in
            if written.since.duration(to: now) >= .seconds(60) { written = (now, 0) }
            written.count += 1
            return written.count
        }
        guard count <= Self.mostInMinute else { return }
        let last = count == Self.mostInMinute ? " (more of this minute is left out)" : ""
        switch log {
        case .dropped(let process, let user):
            ServiceManager.log(
                "dropped process \(process) of user \(user)\(last)", priority: 5,
                fields("dropped", process, user))
        case .heldUp(let process, let user):
            ServiceManager.log(
                "process \(process) of user \(user) held its socket; the path manager's setting was put back\(last)",
                priority: 4, fields("held_up", process, user))
        case .note(let text): ServiceManager.log(text + last, priority: 4)
        }
    }

    private func fields(_ event: String, _ process: Int32, _ user: UInt32) -> [(name: String, value: String)]
    {
        [("MPATHD_EVENT", event), ("MPATHD_CLIENT_PID", "\(process)"), ("MPATHD_CLIENT_UID", "\(user)")]
    }
}
