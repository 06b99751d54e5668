import LinuxNet

/// What a connector's connections have learnt about its paths, for the next one.
final class ConnectionHistory: Sendable {
    private struct State {
        var history = PathHistory()
        /// The snapshot whose networks were kept last.
        var generation: UInt64?
    }

    private let state = Locked(State())

    /// When a SYN is sent again (RFC 6298 section 2).
    private static let initialRTO = Duration.seconds(1)

    /// The delay for a path, where something is known of it.
    func attemptDelay(
        _ path: PathInterface, _ destination: PathHistory.Destination, at now: MonotonicTime
    ) -> Duration? {
        state.withLock { $0.history.attemptDelay(PathHistory.Network(path), destination, at: now) }
    }

    /// Whether the last attempts over a path got no answer.
    func wasSilent(
        _ path: PathInterface, _ destination: PathHistory.Destination, at now: MonotonicTime
    ) -> Bool {
        state.withLock { $0.history.wasSilent(PathHistory.Network(path), destination, at: now) }
    }

    /// Takes in how the attempts of a race went that has a winner.
    func record(
        _ attempts: [RaceMachine.Attempt], _ destination: PathHistory.Destination, in snapshot: PathSnapshot,
        delays: ShortDictionary<InterfaceIndex, Duration>, at now: MonotonicTime
    ) {
        let winner = attempts.first { $0.outcome == .won }?.candidate.interface
        state.withLock { state in
            // What is known of networks that are gone is of no use on the next.
            if state.generation != snapshot.generation {
                state.generation = snapshot.generation
                state.history.keep(Set(snapshot.interfaces.map { PathHistory.Network($0) }))
            }
            var silent: Set<InterfaceIndex> = []
            for attempt in attempts {
                guard let path = snapshot.path(attempt.candidate.interface) else { continue }
                let network = PathHistory.Network(path)
                let time = attempt.connected.map { attempt.started.duration(to: $0) }
                if let time, time < Self.initialRTO {
                    state.history.handshake(network, destination, took: time, at: now)
                } else if time != nil {
                    // A SYN was lost on the way. How long an answer takes is not told by that (RFC 6298 section
                    // 3), but that the path loses packets is.
                    state.history.silence(network, destination, at: now)
                } else if attempt.outcome == .cancelled, path.index != winner,
                    attempt.started.duration(to: now) >= delays[path.index] ?? .seconds(2),
                    silent.insert(path.index).inserted
                {
                    state.history.silence(network, destination, at: now)
                }
            }
        }
    }
}
