import LinuxNet

/// Runs a `ConnectionEventMachine` for one connection: the lock around it, and the continuations resumed outside
/// of it. While the events have no consumer, an event costs the lock and one comparison.
package final class ConnectionEventChannel: Sendable {
    private typealias Machine = ConnectionEventMachine<CheckedContinuation<ConnectionEvent?, Never>>

    private struct State {
        var machine = Machine()
        var applicationProtocol: String?
        /// Makes the report of all that the connection carried, where a consumer asks for it; nil before its end.
        var ending: (@Sendable () -> TransferReport)?

        var closing: () -> TransferReport {
            {
                guard let ending else { preconditionFailure("a connection that has ended has its books") }
                return ending()
            }
        }
    }

    private let state = Locked(State())

    init() {}

    /// A sequence of the events; each of its iterators is a consumer of its own.
    package var events: ConnectionEvents { ConnectionEvents(channel: self) }

    /// Whether `close` was called.
    package var isClosed: Bool { state.withLock { $0.machine.isClosed } }

    /// What `begin` was called with.
    package var establishment: EstablishmentReport? { state.withLock { $0.machine.establishment } }

    /// The protocol that both ends agreed on in TLS (ALPN, RFC 7301).
    package var applicationProtocol: String? {
        get { state.withLock { $0.applicationProtocol } }
        set { state.withLock { $0.applicationProtocol = newValue } }
    }

    /// The connection has come about.
    ///
    /// - Parameter report: nil for a connection that was accepted.
    package func begin(_ report: EstablishmentReport?) {
        resume(state.withLock { $0.machine.begin(report, closing: $0.closing) })
    }

    /// Something has happened to the connection.
    package func add(_ event: ConnectionEvent) {
        resume(state.withLock { $0.machine.add(event) })
    }

    /// The connection has ended.
    ///
    /// - Parameter ending: makes the report of all that it carried.
    func close(_ ending: @escaping @Sendable () -> TransferReport) {
        let wakes = state.withLock { state in
            state.ending = ending
            return state.machine.close(state.closing)
        }
        resume(wakes)
    }

    func addConsumer() -> UInt64 { state.withLock { $0.machine.addConsumer() } }

    func removeConsumer(_ id: UInt64) { state.withLock { $0.machine.removeConsumer(id) } }

    func next(_ id: UInt64) async -> ConnectionEvent? {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let wake = state.withLock { $0.machine.next(id, continuation, closing: $0.closing) }
                if let wake { resume([wake]) }
            }
        } onCancel: {
            if let wake = state.withLock({ $0.machine.cancel(id) }) { resume([wake]) }
        }
    }

    private func resume(_ wakes: [Machine.Wake]) {
        for wake in wakes { wake.waiter.resume(returning: wake.event) }
    }
}
