import LinuxNet
import Synchronization

/// What one connection has used of its budget: the bytes of the same counters as the reports', of the paths that the budget
/// covers as they are carried.
final class ConnectionBudget: BudgetMeter {
    let budget: PathBudget
    private let channel: PathChannel
    private let state = Locked(State())
    /// Whether the connection's user says when data moves.
    private let isTold = Atomic(false)
    /// Whether the book waits for that, and does not look before.
    private let isAwaited = Atomic(false)

    private struct State {
        weak var follower: ConnectionFollower?
        /// By path: the bytes that were counted last, and whether the budget covered it then.
        var counted: [PathID: (bytes: UInt64, isCovered: Bool)] = [:]
    }

    init(_ budget: PathBudget, in channel: PathChannel) {
        self.budget = budget
        self.channel = channel
    }

    func follow(_ follower: ConnectionFollower) { state.withLock { $0.follower = follower } }

    func look() -> BudgetLook {
        var look = lookOnce()
        guard look.bytes == 0, isTold.load(ordering: .relaxed) else { return look }
        isAwaited.store(true, ordering: .sequentiallyConsistent)
        // What has moved just before that has told nothing.
        look = lookOnce()
        if look.bytes > 0 { isAwaited.store(false, ordering: .relaxed) }
        look.willTell = look.bytes == 0
        return look
    }

    private func lookOnce() -> BudgetLook {
        guard let carried = state.withLock({ $0.follower })?.carriedBytes() else {
            return BudgetLook(bytes: 0)
        }
        return BudgetLook(bytes: count(carried.paths), roundTrip: carried.roundTrip)
    }

    /// The connection's user has sent or received.
    ///
    /// - Returns: whether the book waits to hear it.
    func dataMoves() -> Bool {
        if !isTold.load(ordering: .relaxed) { isTold.store(true, ordering: .relaxed) }
        return isAwaited.load(ordering: .relaxed)
            && isAwaited.exchange(false, ordering: .sequentiallyConsistent)
    }

    /// - Parameter carried: all that each path has carried up to now.
    /// - Returns: the bytes since the last count that the budget covers.
    func count(_ carried: [(path: PathID, bytes: UInt64)]) -> UInt64 {
        let snapshot = channel.latest
        return state.withLock { state in
            var used: UInt64 = 0
            for (path, bytes) in carried {
                let before = state.counted[path]
                // What a path whose interface is gone has carried last counts as it did.
                let isCovered =
                    snapshot?.interface(path).map(budget.covers) ?? before?.isCovered ?? false
                if isCovered, bytes > before?.bytes ?? 0 { used += bytes - (before?.bytes ?? 0) }
                state.counted[path] = (max(bytes, before?.bytes ?? 0), isCovered)
            }
            return used
        }
    }
}
