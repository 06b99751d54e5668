import LinuxNet

/// What a connector's connections have learnt about its paths, for the next one.
final class ConnectionHistory: Sendable {
    fileprivate struct State {
        var history = PathHistory()
        var addresses = AddressHistory()
        /// The snapshot whose networks were kept last.
        var generation: UInt64?
    }

    private let state = Locked(State())

    /// When a SYN is sent again (RFC 6298 section 2).
    fileprivate static let initialRTO = Duration.seconds(1)

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

    /// How earlier connections to an address went.
    func standing(
        _ network: PathHistory.Network, _ endpoint: IPEndpoint, at now: MonotonicTime
    ) -> AddressHistory.Standing {
        state.withLock { $0.addresses.standing(network, endpoint, at: now) }
    }

    /// Takes in how the attempts of a race went that has a winner.
    ///
    /// - Parameter hasChoice: whether the destination has more addresses than one: of the only one there is nothing to
    ///   learn that would matter.
    func record(
        _ attempts: [RaceMachine.Attempt], _ destination: PathHistory.Destination, over paths: CandidatePaths,
        hasChoice: Bool, delays: ShortDictionary<InterfaceIndex, Duration>, at now: MonotonicTime
    ) {
        let winner = attempts.first { $0.outcome == .won }?.candidate.interface
        state.withLock { state in
            // What is known of networks that are gone is of no use on the next.
            if state.generation != paths.snapshot.generation {
                state.generation = paths.snapshot.generation
                state.history.keep(paths.networks)
                state.addresses.keep(paths.networks)
            }
            if hasChoice { state.recordAddresses(of: attempts, over: paths, delays: delays, at: now) }
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

extension ConnectionHistory.State {
    /// Takes in which addresses answered. Each counts once in a race, however often it was attempted. One that was silent says
    /// something only where another one answered over the same path: otherwise it may be the path's fault.
    fileprivate mutating func recordAddresses(
        of attempts: [RaceMachine.Attempt], over paths: CandidatePaths,
        delays: ShortDictionary<InterfaceIndex, Duration>, at now: MonotonicTime
    ) {
        for (place, attempt) in attempts.enumerated() {
            let (interface, endpoint) = (attempt.candidate.interface, attempt.candidate.endpoint)
            let same = attempts.filter {
                $0.candidate.interface == interface && $0.candidate.endpoint == endpoint
            }
            let isFirst = !attempts[..<place].contains {
                $0.candidate.interface == interface && $0.candidate.endpoint == endpoint
            }
            guard isFirst, let network = paths.network(of: interface) else { continue }
            if let winner = same.first(where: { $0.outcome == .won }) {
                let time = winner.connected.map { winner.started.duration(to: $0) }
                let rtt = time.flatMap { $0 < ConnectionHistory.initialRTO ? $0 : nil }
                addresses.succeeded(network, endpoint, rtt: rtt, at: now)
            } else if same.contains(where: \.hasFailed) {
                addresses.failed(network, endpoint, at: now)
            } else if same.allSatisfy({ $0.connected == nil }),
                attempt.started.duration(to: now) >= delays[interface] ?? .seconds(2),
                attempts.contains(where: { $0.candidate.interface == interface && $0.connected != nil })
            {
                addresses.failed(network, endpoint, at: now)
            }
        }
    }
}

extension RaceMachine.Attempt {
    fileprivate var hasFailed: Bool { if case .failed = outcome { true } else { false } }
}
