import LinuxNet

/// A connection of another program's, as far as its subflows' ends go. Everything happens on the event thread.
protocol LentMember: AnyObject {
    /// Whether it is followed no more.
    var isStopped: Bool { get }
    /// One of its TCP sockets has ended; its last counters are all that is left of it.
    func subflowEnded(_ cookie: UInt64, _ last: SubflowSample)
    /// Whether it goes on without any subflow; where it does not go on it stops.
    func isWithoutSubflows() -> Bool
}

/// The connections of other programs that this process follows by their names in the kernel. It brings each the last counters of
/// its subflows, and looks whether it goes on when one has ended. It lives on the event thread.
final class LentConnections: @unchecked Sendable {
    private final class Entry {
        weak var follower: (any LentMember)?
        /// Nil while none of its subflows has ended lately.
        var pause: Duration?

        init(_ follower: any LentMember) { self.follower = follower }
    }

    private let thread: EventThread
    private let ends: SocketEnds
    /// By the cookies of their subflows' sockets.
    private var entries: [UInt64: Entry] = [:]
    private var entriesByOwner: [ObjectIdentifier: Entry] = [:]

    /// How long after a subflow's end it is first looked whether that was the connection's, and at the latest.
    private static let firstPause = Duration.milliseconds(5)
    private static let longestPause = Duration.seconds(1)

    init(_ thread: EventThread) {
        self.thread = thread
        ends = SocketEnds(on: thread)
    }

    /// A follower has found a subflow.
    func add(_ cookies: [UInt64], of follower: any LentMember) {
        thread.checkIsolated()
        let known = entriesByOwner[ObjectIdentifier(follower)] ?? Entry(follower)
        entriesByOwner[ObjectIdentifier(follower)] = known
        for cookie in cookies { entries[cookie] = known }
        // Without it the books lack what was carried after the last sample.
        if !ends.isListening { try? listen() }
    }

    /// A follower has stopped.
    func remove(_ cookies: [UInt64], of owner: ObjectIdentifier) {
        thread.checkIsolated()
        entriesByOwner[owner] = nil
        for cookie in cookies { entries[cookie] = nil }
        if entriesByOwner.isEmpty { ends.stop() }
    }

    private func listen() throws(SystemError) {
        try ends.start { [unowned self] cookie in
            entries[cookie] != nil
        } _: { [unowned self] cookie, sample in
            guard let entry = entries.removeValue(forKey: cookie) else { return }
            entry.follower?.subflowEnded(cookie, sample)
            look(at: entry)
        } loss: { [unowned self] in
            entries = entries.filter { $0.value.follower?.isStopped == false }
            for entry in entries.values { look(at: entry) }
        }
    }

    /// Looks until the connection has ended, or has a subflow again.
    private func look(at entry: Entry) {
        guard entry.pause == nil else { return }
        entry.pause = Self.firstPause
        schedule(entry)
    }

    private func schedule(_ entry: Entry) {
        guard let pause = entry.pause else { return }
        _ = thread.schedule(at: .now.advanced(by: pause)) { [self] in
            guard let follower = entry.follower, !follower.isStopped, follower.isWithoutSubflows() else {
                entry.pause = nil
                return
            }
            entry.pause = min(pause * 2, Self.longestPause)
            schedule(entry)
        }
    }
}
