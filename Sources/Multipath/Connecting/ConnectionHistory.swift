import LinuxNet

/// What a process's connections have learnt about its paths, for the next one. Shared by connectors.
final class ConnectionHistory: Sendable {
    private let state = Locked(PathHistory())

    /// The delay for a path, where something is known of it.
    func attemptDelay(
        _ path: PathInterface, _ destination: PathHistory.Destination, at now: MonotonicTime
    ) -> Duration? {
        state.withLock { $0.attemptDelay(PathHistory.Network(path), destination, at: now) }
    }

    /// Takes in how the attempts of a race went that has a winner.
    func record(
        _ attempts: [RaceMachine.Attempt], _ destination: PathHistory.Destination, in snapshot: PathSnapshot,
        delays: [InterfaceIndex: Duration], at now: MonotonicTime
    ) {
        let winner = attempts.first { $0.outcome == .won }?.candidate.interface
        state.withLock { history in
            // What is known of networks that are gone is of no use on the next.
            history.keep(Set(snapshot.interfaces.map { PathHistory.Network($0) }))
            var silent: Set<InterfaceIndex> = []
            for attempt in attempts {
                guard let path = snapshot.path(attempt.candidate.interface) else { continue }
                let network = PathHistory.Network(path)
                if let connected = attempt.connected {
                    history.handshake(
                        network, destination, took: attempt.started.duration(to: connected), at: now)
                } else if attempt.outcome == .cancelled, path.index != winner,
                    attempt.started.duration(to: now) >= delays[path.index] ?? .seconds(2),
                    silent.insert(path.index).inserted
                {
                    history.silence(network, destination, at: now)
                }
            }
        }
    }
}
