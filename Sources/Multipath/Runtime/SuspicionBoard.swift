import LinuxNet

/// What the connections that share a monitor suspect of its paths, for the races that share it too.
final class SuspicionBoard: Sendable {
    private struct State {
        var suspicions = PathSuspicions()
        var observers: [UInt64: @Sendable () -> Void] = [:]
        var nextObserver: UInt64 = 0
    }

    private let state = Locked(State())

    func silent(_ path: PathInterface, at now: MonotonicTime) {
        tell { state in
            state.suspicions.silent(path, at: now)
            return true
        }
    }

    func alive(_ interface: InterfaceIndex, since earliest: MonotonicTime) {
        tell { $0.suspicions.alive(interface, since: earliest) }
    }

    /// What a steered connection finds out about its paths.
    func ingest(_ event: SteeringEvent, in snapshot: PathSnapshot?) {
        switch event {
        case .failed(let path, let trouble) where trouble.isSilence:
            if let interface = snapshot?.interface(path) { silent(interface, at: .now) }
        case .answered(let path):
            if let interface = snapshot?.interface(path) { alive(interface.index, since: .now) }
        default: break
        }
    }

    func suspects(in snapshot: PathSnapshot, at now: MonotonicTime) -> Set<InterfaceIndex> {
        state.withLock { $0.suspicions.suspects(in: snapshot, at: now) }
    }

    /// Calls a closure whenever a suspicion arises or ends, on the thread that brought it.
    func observe(_ body: @escaping @Sendable () -> Void) -> UInt64 {
        state.withLock { state in
            state.nextObserver += 1
            state.observers[state.nextObserver] = body
            return state.nextObserver
        }
    }

    func endObservation(_ id: UInt64) { state.withLock { _ = $0.observers.removeValue(forKey: id) } }

    private func tell(_ change: (inout State) -> Bool) {
        let observers = state.withLock { state in change(&state) ? Array(state.observers.values) : [] }
        for observer in observers { observer() }
    }
}
