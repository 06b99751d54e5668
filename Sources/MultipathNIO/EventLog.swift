import Multipath
import NIOConcurrencyHelpers

/// A connection's events, and what it came about with. A stream is made of them when somebody asks for it: most
/// connections are opened and closed unwatched, and the stream would cost as much as their channel's pipeline.
final class EventLog: Sendable {
    private struct State {
        var hasBegun = false
        var isClosed = false
        var establishment: EstablishmentReport?
        var applicationProtocol: String?
        /// What happened between beginning and end, while nobody asked.
        var unheard: [ConnectionEvent] = []
        var listener: (events: AsyncStream<ConnectionEvent>, ear: AsyncStream<ConnectionEvent>.Continuation)?
    }

    private let follower: ConnectionFollower
    private let state = NIOLockedValueBox(State())

    /// - Parameter meter: tells the last event. It has finished when `close` is called.
    init(_ follower: ConnectionFollower) { self.follower = follower }

    /// Whether the channel has closed.
    var isClosed: Bool { state.withLockedValue { $0.isClosed } }

    var establishment: EstablishmentReport? { state.withLockedValue { $0.establishment } }

    var applicationProtocol: String? { state.withLockedValue { $0.applicationProtocol } }

    func agreed(on applicationProtocol: String?) {
        state.withLockedValue { $0.applicationProtocol = applicationProtocol }
    }

    /// The same stream each time. Under the lock, so that the events keep their order.
    var events: AsyncStream<ConnectionEvent> {
        state.withLockedValue { state in
            if let listener = state.listener { return listener.events }
            let (events, ear) = AsyncStream.makeStream(of: ConnectionEvent.self)
            state.listener = (events, ear)
            if state.hasBegun { Self.tell(ear, beginning: state.establishment) }
            for event in state.unheard { ear.yield(event) }
            state.unheard = []
            if state.hasBegun, state.isClosed { tellEnd(ear) }
            return events
        }
    }

    func begin(_ establishment: EstablishmentReport?) {
        state.withLockedValue { state in
            state.hasBegun = true
            state.establishment = establishment
            guard let ear = state.listener?.ear else { return }
            Self.tell(ear, beginning: establishment)
            if state.isClosed { tellEnd(ear) }
        }
    }

    func add(_ event: ConnectionEvent) {
        state.withLockedValue { state in
            guard !state.isClosed else { return }
            if let ear = state.listener?.ear { ear.yield(event) } else { state.unheard.append(event) }
        }
    }

    func close() {
        state.withLockedValue { state in
            state.isClosed = true
            if state.hasBegun, let ear = state.listener?.ear { tellEnd(ear) }
        }
    }

    private static func tell(
        _ ear: AsyncStream<ConnectionEvent>.Continuation, beginning establishment: EstablishmentReport?
    ) {
        guard let establishment else { return }
        ear.yield(.established(establishment))
        if let reason = establishment.transport.fallbackReason { ear.yield(.fellBack(reason)) }
    }

    private func tellEnd(_ ear: AsyncStream<ConnectionEvent>.Continuation) {
        ear.yield(.closed(follower.transferReport()))
        ear.finish()
    }
}
