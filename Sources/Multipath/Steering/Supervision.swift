import LinuxNet
import Synchronization

/// A connection whose subflows are steered by its mode. It ends when this goes, or with `stop`.
///
/// It holds a second descriptor of the socket. Whoever closes the first one calls `stop` at once: until then the
/// connection stays open.
public final class Supervision: Sendable {
    private let connection: SteeringRunner
    private let isStopped = Atomic(false)

    /// How far this connection can be steered, and why no further.
    public var level: ControlLevel { connection.meter.level }

    init(_ connection: SteeringRunner) { self.connection = connection }

    deinit { stop() }

    /// Begins to steer.
    package func start() { connection.begin() }

    /// Calls a closure with what happens from now on, on a thread that must not be held up.
    public func observe(_ body: @escaping @Sendable (SteeringEvent) -> Void) {
        connection.observe(body)
    }

    /// The connection's user has written something. It costs next to nothing, and makes a dead path known tens
    /// of milliseconds later instead of a second.
    public func dataWasSent() { connection.dataWasSent() }

    /// The connection's user has read something.
    public func dataWasReceived() { connection.dataMoves() }

    /// Ends the steering and lets go of the socket. The subflows stay as they are.
    public func stop() {
        guard !isStopped.exchange(true, ordering: .relaxed), !connection.stop() else { return }
        EventThread.shared.submit { [connection] in
            connection.end()
            SteeringRegistry.shared.onEventThread { $0.remove(connection) }
        }
    }
}
