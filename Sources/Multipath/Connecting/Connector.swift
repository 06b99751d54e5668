import LinuxNet
public import Logging

/// Connects over the best of this machine's paths: races interfaces, addresses and protocols, and returns
/// the first connection that works.
///
/// ```swift
/// let socket = try await Connector().connect(host: "media.example", port: 443) { $0.mode = .interactive }
/// let descriptor = socket.takeDescriptor()
/// ```
public struct Connector: Sendable {
    /// Where it learns of paths. Connectors that live at the same time do well to share one.
    public let monitor: PathMonitor
    let logger: Logger
    /// Nil for the system's, which needs no task.
    private(set) var resolver: (any Resolver)?
    private let observers: [any ConnectionObserver]
    /// What this connector's connections have learnt.
    let history = ConnectionHistory()

    /// The process's own: the default wherever a connector is wanted.
    public static let shared = Connector()

    /// - Parameters:
    ///   - monitor: where it learns of paths; one of its own unless given.
    ///   - resolver: finds the addresses of names; the system's unless given.
    ///   - logger: gets a line at debug level for each connection and each failure; none unless given.
    ///   - observers: hear of each connection.
    public init(
        monitor: PathMonitor = PathMonitor(), resolver: (any Resolver)? = nil,
        logger: Logger? = nil, observers: [any ConnectionObserver] = []
    ) {
        self.monitor = monitor
        self.resolver = resolver
        self.observers = observers
        self.logger = logger ?? Logger(label: "multipath") { _ in SwiftLogNoOpLogHandler() }
    }

    /// The same with another resolver: it shares its monitor, and what its connections have learnt.
    package func resolving(by resolver: any Resolver) -> Connector {
        var copy = self
        copy.resolver = resolver
        return copy
    }

    /// Connects to a host by name or address.
    ///
    /// - Parameters:
    ///   - host: a name, or an address without brackets.
    ///   - port: 1 to 65535.
    ///   - configure: mode, allowed paths, timeouts.
    /// - Throws: `ConnectionError`, which lists every attempt.
    public func connect(
        host: String, port: Int, configure: @Sendable (inout ConnectionConfiguration) -> Void = { _ in }
    ) async throws(ConnectionError) -> ConnectedSocket {
        var configuration = ConnectionConfiguration()
        configure(&configuration)
        return try await connect(host: host, port: port, configuration)
    }

    /// Connects to an address, over the best path that leads there.
    ///
    /// - Parameters:
    ///   - endpoint: the address and port.
    ///   - configure: mode, allowed paths, timeouts.
    /// - Throws: `ConnectionError`, which lists every attempt.
    public func connect(
        to endpoint: IPEndpoint, configure: @Sendable (inout ConnectionConfiguration) -> Void = { _ in }
    ) async throws(ConnectionError) -> ConnectedSocket {
        try await connect(host: "\(endpoint.address)", port: Int(endpoint.port), configure: configure)
    }

    /// Connects to a host by name or address.
    ///
    /// - Parameters:
    ///   - host: a name, or an address without brackets.
    ///   - port: 1 to 65535.
    ///   - configuration: mode, allowed paths, timeouts.
    /// - Throws: `ConnectionError`, which lists every attempt.
    public func connect(
        host: String, port: Int, _ configuration: ConnectionConfiguration
    ) async throws(ConnectionError) -> ConnectedSocket {
        try await race(host, Self.number(of: port, host), configuration).socket()
    }

    /// - Throws: `ConnectionError` for what is no port.
    private static func number(of port: Int, _ host: String) throws(ConnectionError) -> UInt16 {
        guard let number = UInt16(exactly: port), number != 0 else {
            throw ConnectionError(invalidPort: port, host: host)
        }
        return number
    }

    /// The same race where it needs no task. It is worth two changes of the thread and an estimated 15,000 instructions of a
    /// connection; the rows `connections-64`, `instructions-channel` and `instructions-channel-name` of the benchmark count
    /// them all.
    ///
    /// - Returns: nil where a task is needed: something is observed, the paths or the policy's budget are not known yet, or
    ///   another resolver than the system's is asked. Then `connect(host:port:_:)` does the same.
    /// - Throws: `ConnectionError` for what is no port.
    package func directRace(
        host: String, port: Int, _ configuration: ConnectionConfiguration
    ) throws(ConnectionError) -> DirectRace? {
        let begun = MonotonicTime.now
        let number = try Self.number(of: port, host)
        guard observers.isEmpty, resolver == nil,
            monitor.channel.isPrepared(for: configuration.policy),
            let snapshot = monitor.latestPath
        else { return nil }
        let request = ConnectRequest(self, host, number, configuration)
        return DirectRace(request: request, runner: request.runner(snapshot, begun: begun))
    }

    /// Connects, and lets the first attempt win for which `confirm` comes back: with TLS, the first whose
    /// handshake is complete. Until then the other attempts go on (RFC 8305 section 5).
    ///
    /// - Parameters:
    ///   - confirm: takes over an attempt whose transport is connected, and returns what it made of it. It is
    ///     cancelled when another attempt has won or the race is over; then, as when it throws, it closes what
    ///     it holds, and without delay: the race's result waits for it.
    ///   - discard: closes what `confirm` returned for an attempt that came second.
    /// - Throws: `ConnectionError`, which lists every attempt, with the errors of `confirm` among them.
    package func connect<Value: Sendable>(
        host: String, port: Int, _ configuration: ConnectionConfiguration,
        confirm: @escaping @Sendable (consuming PendingConnection) async throws -> Value,
        discard: @escaping @Sendable (Value) -> Void
    ) async throws(ConnectionError) -> (value: Value, report: EstablishmentReport) {
        let number = try Self.number(of: port, host)
        let confirmation = RaceRunner.Confirmation { attempt, facts in
            guard let socket = attempt.take() else { throw CancellationError() }
            let end = facts.makeEnd()
            return try await Confirmed(
                value: confirm(PendingConnection(socket, facts, end)), facts: facts, end: end)
        } discard: { confirmed in
            if let confirmed = confirmed as? Confirmed<Value> { discard(confirmed.value) }
        }
        let race = await race(host, number, configuration, confirmation)
        let (winner, result) = try race.winner()
        guard let confirmed = winner.value as? Confirmed<Value> else {
            preconditionFailure("a confirmed winner has a value")
        }
        let report = result.report(race.request, confirmed.facts)
        race.request.connected(report, confirmed.end)
        return (confirmed.value, report)
    }

    private struct Confirmed<Value: Sendable>: Sendable {
        var value: Value
        var facts: PendingConnection.Facts
        var end: ConnectionEnd?
    }

    private func race(
        _ host: String, _ port: UInt16, _ configuration: ConnectionConfiguration,
        _ confirmation: RaceRunner.Confirmation? = nil
    ) async -> FinishedRace {
        let begun = MonotonicTime.now
        let request = ConnectRequest(
            self, host, port, configuration,
            observations: observers.compactMap { $0.connecting(host: host, port: Int(port), configuration) })
        await monitor.channel.prepare(for: configuration.policy)
        do throws(ConnectionError) {
            let snapshot = try await firstSnapshot(host, port, since: begun, configuration.connectTimeout)
            let result = await request.runner(snapshot, begun: begun, confirmation).run()
            return FinishedRace(request: request, result: .success(result))
        } catch {
            return FinishedRace(request: request, result: .failure(error))
        }
    }

    /// The paths now. That, too, must not take longer than the caller waits.
    private func firstSnapshot(
        _ host: String, _ port: UInt16, since begun: MonotonicTime, _ limit: Duration
    ) async throws(ConnectionError) -> PathSnapshot {
        if let latest = monitor.latestPath { return latest }
        let monitor = monitor
        do {
            return try await withThrowingTaskGroup(of: PathSnapshot?.self) { group in
                group.addTask { try await monitor.currentPath() }
                group.addTask {
                    try await Task.sleep(for: limit)
                    return nil
                }
                defer { group.cancelAll() }
                guard let first = try await group.next() ?? nil else {
                    throw PathMonitorError("nothing is known of this machine's paths after \(limit)")
                }
                return first
            }
        } catch {
            throw ConnectionError(
                error is CancellationError ? .cancelled : .paths, host: host, port: port, reason: "\(error)",
                duration: begun.duration(to: .now))
        }
    }
}
