import LinuxNet

/// Tells a connection's observers of its end: at once where it has ended before they are known.
final class ConnectionEnd: Sendable {
    private struct State {
        var observations: [any ConnectionObservation] = []
        /// What the connection carried; nil until its end.
        var report: TransferReport?
        var isTold = false
    }

    private let state: Locked<State>
    /// What is told of a connection that is dropped and never followed.
    private let beginning: TransferMeter

    init(_ beginning: TransferMeter) {
        self.beginning = beginning
        state = Locked(State())
    }

    deinit {
        if state.withLock({ !$0.observations.isEmpty && !$0.isTold }) { ended(beginning.report()) }
    }

    func observe(_ observations: [any ConnectionObservation]) {
        tell { $0.observations = observations }
    }

    /// The connection has ended; only the first report counts.
    func ended(_ report: TransferReport) {
        tell { $0.report = $0.report ?? report }
    }

    private func tell(_ change: (inout State) -> Void) {
        let (observations, report) = state.withLock {
            state -> ([any ConnectionObservation], TransferReport?) in
            change(&state)
            guard let report = state.report, !state.observations.isEmpty, !state.isTold else {
                return ([], nil)
            }
            state.isTold = true
            return (state.observations, report)
        }
        guard let report else { return }
        for observation in observations { observation.closed(report) }
    }
}
