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

    /// The delay for a path by its network, where something is known of it.
    func attemptDelay(
        _ network: PathHistory.Network, _ destination: PathHistory.Destination, at now: MonotonicTime
    ) -> Duration? {
        state.withLock { $0.history.attemptDelay(network, destination, at: now) }
    }

    /// Whether the last attempts over a path got no answer.
    func wasSilent(
        _ network: PathHistory.Network, _ destination: PathHistory.Destination, at now: MonotonicTime
    ) -> Bool {
        state.withLock { $0.history.wasSilent(network, destination, at: now) }
    }

    /// Takes in how the attempts of a race went that has a winner.
    func record(
        _ attempts: [RaceMachine.Attempt], _ destination: PathHistory.Destination, over paths: CandidatePaths,
        delays: ShortDictionary<InterfaceIndex, Duration>, at now: MonotonicTime
    ) {
        let winner = attempts.first { $0.outcome == .won }?.candidate.interface
        state.withLock { state in
            // What is known of networks that are gone is of no use on the next.
            if state.generation != paths.snapshot.generation {
                state.generation = paths.snapshot.generation
                state.history.keep(paths.networks)
            }
            var silent: Set<InterfaceIndex> = []
            for attempt in attempts {
                let interface = attempt.candidate.interface
                guard let network = paths.network(of: interface) else { continue }
                let time = attempt.connected.map { attempt.started.duration(to: $0) }
                if let time, time < Self.initialRTO {
                    state.history.handshake(network, destination, took: time, at: now)
                } else if time != nil {
                    // A SYN was lost on the way. How long an answer takes is not told by that (RFC 6298 section
                    // 3), but that the path loses packets is.
                    state.history.silence(network, destination, at: now)
                } else if attempt.outcome == .cancelled, interface != winner,
                    attempt.started.duration(to: now) >= delays[interface] ?? .seconds(2),
                    silent.insert(interface).inserted
                {
                    state.history.silence(network, destination, at: now)
                }
            }
        }
    }
}
