// What connections find out about paths by themselves, for what keeps connections for later.

extension PathMonitor {
    /// The paths that connections have found silent lately.
    package var suspectedPaths: Set<PathID> {
        guard let snapshot = latestPath else { return [] }
        return Set(
            suspicions.suspects(in: snapshot, at: .now).compactMap { snapshot.interface($0)?.id })
    }

    /// Calls a closure whenever a suspicion arises or is cleared, on a thread that must not be held up. One that merely
    /// grows old is not told.
    ///
    /// - Returns: ends the observation when it goes.
    package func observeSuspicions(_ body: @escaping @Sendable () -> Void) -> SuspicionObservation {
        SuspicionObservation(board: suspicions, id: suspicions.observe(body))
    }
}

/// An observation of suspicions, which ends with this.
package final class SuspicionObservation: Sendable {
    private let board: SuspicionBoard
    private let id: UInt64

    init(board: SuspicionBoard, id: UInt64) {
        self.board = board
        self.id = id
    }

    deinit { board.endObservation(id) }
}
