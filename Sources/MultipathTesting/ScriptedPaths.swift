// For its lock: Synchronization's is invisible to ThreadSanitizer.
import LinuxNet
import Multipath

/// A path monitor without a network: a test says what happens, and what it tests sees it at once.
///
/// ```swift
/// let paths = ScriptedPaths([.wifi("wlan0"), .cellular("wwan0")])
/// let player = Player(monitor: paths.monitor)
/// paths.lose("wlan0")
/// ```
///
/// When a method returns, `monitor` has the new state: it is what `currentPath()` returns, and the next
/// element of `updates` for a consumer that waits for one. Nothing is gathered or delayed; a consumer that
/// was busy meanwhile skips to the newest state, as it does with the real monitor. Naming an interface that
/// is not there is an error of the test, and ends it.
public final class ScriptedPaths: Sendable {
    /// To be handed to what is tested.
    public let monitor: PathMonitor
    private let source: Source

    /// A monitor of a machine with these interfaces, and loopback.
    public init(_ paths: [ScriptedPath] = []) {
        source = Source(ScriptedMachine(paths))
        monitor = PathMonitor(source: source, hasBudgets: false)
    }

    /// The state now, as the monitor tells it.
    public var snapshot: PathSnapshot { source.state.withLock { $0.machine.snapshot } }

    /// Several changes at once: no consumer sees one without the others.
    public func change(_ body: (inout ScriptedMachine) -> Void) { source.change(body) }

    /// Plugs an interface in.
    public func add(_ path: ScriptedPath) { change { $0.add(path) } }

    /// Unplugs it. One that is added under the same name later is another interface.
    public func remove(_ name: String) { change { $0.remove(name) } }

    /// Takes its carrier away: the cable, the access point, the cell.
    public func lose(_ name: String) { change { $0.lose(name) } }

    /// Gives its carrier back.
    public func restore(_ name: String) { change { $0.restore(name) } }

    /// Changes an interface in place.
    public func update(_ name: String, _ change: (inout ScriptedPath) -> Void) {
        self.change { $0.update(name, change) }
    }

    /// Wakes the machine from sleep.
    public func wake() { change { $0.wake() } }

    /// Spends a budget: the paths that it covers are refused by policies that have just this budget. Nothing is read from or
    /// written to the user's state folder.
    public func spend(_ budget: PathBudget) { change { $0.spentBudgets.insert(budget) } }

    /// Begins a budget's next period, or resets it.
    public func refill(_ budget: PathBudget) { change { $0.spentBudgets.remove(budget) } }

    /// Ends the streams of updates, once their consumers have seen the last state.
    public func end() { source.end(.none) }

    /// Ends the streams, and has `currentPath()` throw from now on.
    public func fail(_ error: PathMonitorError) { source.end(error) }

    private final class Source: PathSource {
        struct State {
            var machine: ScriptedMachine
            var sink: PathSink?
            /// How it ended before the monitor was used.
            var end: PathMonitorError??
        }

        let state: Locked<State>

        init(_ machine: ScriptedMachine) { state = Locked(State(machine: machine)) }

        func start(_ sink: PathSink) {
            state.withLock { state in
                state.sink = sink
                sink.send(state.machine.snapshot)
                if let end = state.end { Self.end(sink, end) }
            }
        }

        func stop() { state.withLock { $0.sink = nil } }

        func change(_ body: (inout ScriptedMachine) -> Void) {
            // Sent within the lock, so that two threads' changes are told in the order they were made in.
            state.withLock { state in
                body(&state.machine)
                state.sink?.send(state.machine.snapshot)
            }
        }

        func end(_ error: PathMonitorError?) {
            state.withLock { state in
                if let sink = state.sink { Self.end(sink, error) } else { state.end = .some(error) }
            }
        }

        private static func end(_ sink: PathSink, _ error: PathMonitorError?) {
            if let error { sink.fail(error) } else { sink.end() }
        }
    }
}
