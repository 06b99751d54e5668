import LinuxNet
public import Logging

/// Connects over the best of this machine's paths: races interfaces, addresses and protocols, and returns
/// the first connection that works.
///
/// ```swift
/// let socket = try await Connector().connect(to: "media.example", port: 443) { $0.mode = .interactive }
/// let descriptor = socket.takeDescriptor()
/// ```
public struct Connector: Sendable {
    /// Where it learns of paths. Connectors that live at the same time do well to share one.
    public let monitor: PathMonitor
    fileprivate let logger: Logger
    fileprivate let resolver: any Resolver
    private let observers: [any ConnectionObserver]
    /// What this connector's connections have learnt.
    fileprivate let history = ConnectionHistory()

    /// The process's own, for all who don't bring one.
    public static let shared = Connector()

    /// - Parameters:
    ///   - monitor: where it learns of paths; one of its own unless given.
    ///   - resolver: finds the addresses of names; the system's unless given.
    ///   - logger: gets a line at debug level for each connection and each failure; nobody does unless given.
    ///   - observers: hear of each connection.
    public init(
        monitor: PathMonitor = PathMonitor(), resolver: any Resolver = SystemResolver(),
        logger: Logger? = nil, observers: [any ConnectionObserver] = []
    ) {
        self.monitor = monitor
        self.resolver = resolver
        self.observers = observers
        self.logger = logger ?? Logger(label: "multipath") { _ in SwiftLogNoOpLogHandler() }
    }

    /// Connects to a host by name or address.
    ///
    /// - Throws: `ConnectionError`, which lists every attempt.
    public func connect(
        to host: String, port: UInt16, configure: @Sendable (inout ConnectionConfiguration) -> Void = { _ in }
    ) async throws(ConnectionError) -> ConnectedSocket {
        var configuration = ConnectionConfiguration()
        configure(&configuration)
        return try await connect(to: host, port: port, configuration)
    }

    /// Connects to a host by name or address.
    ///
    /// - Throws: `ConnectionError`, which lists every attempt.
    public func connect(
        to host: String, port: UInt16, _ configuration: ConnectionConfiguration
    ) async throws(ConnectionError) -> ConnectedSocket {
        try await race(to: host, port: port, configuration).socket()
    }

    /// Connects without a task, where that takes none: nobody observes, the paths are known, and the system's
    /// resolver is asked.
    ///
    /// - Parameter completion: called once, on the thread that runs every race; it must not block.
    /// - Returns: false where it takes a task: then nothing has been begun.
    package func connectWithoutTask(
        to host: String, port: UInt16, _ configuration: ConnectionConfiguration,
        completion: @escaping @Sendable (Result<WonRace, ConnectionError>) -> Void
    ) -> Bool {
        guard observers.isEmpty, let snapshot = monitor.latestPath else { return false }
        let wish = ConnectRequest(self, host, port, configuration, observations: [])
        let runner = wish.runner(snapshot, begun: .now)
        guard runner.jobs == nil else { return false }
        runner.start { completion(wish.outcome(of: $0)) }
        return true
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
        to host: String, port: UInt16, _ configuration: ConnectionConfiguration,
        confirm: @escaping @Sendable (consuming PendingConnection) async throws -> Value,
        discard: @escaping @Sendable (Value) -> Void
    ) async throws(ConnectionError) -> (value: Value, report: EstablishmentReport) {
        let isObserved = !observers.isEmpty
        let confirmation = RaceRunner.Confirmation { attempt, facts in
            guard let socket = attempt.take() else { throw CancellationError() }
            let facts = facts.observed(isObserved)
            return try await Confirmed(
                value: confirm(PendingConnection(socket: socket, facts: facts)), facts: facts)
        } discard: { confirmed in
            if let confirmed = confirmed as? Confirmed<Value> { discard(confirmed.value) }
        }
        let race = try await race(to: host, port: port, configuration, confirmation)
        guard let confirmed = race.winner.value as? Confirmed<Value> else {
            preconditionFailure("a confirmed winner has a value")
        }
        let report = race.report(confirmed.facts)
        race.wish.connected(report, confirmed.facts.end)
        return (confirmed.value, report)
    }

    private struct Confirmed<Value: Sendable>: Sendable {
        var value: Value
        var facts: PendingConnection.Facts
    }

    private func race(
        to host: String, port: UInt16, _ configuration: ConnectionConfiguration,
        _ confirmation: RaceRunner.Confirmation? = nil
    ) async throws(ConnectionError) -> WonRace {
        let begun = MonotonicTime.now
        let wish = ConnectRequest(
            self, host, port, configuration,
            observations: observers.compactMap { $0.connecting(to: host, port: port, configuration) })
        let snapshot: PathSnapshot
        do throws(ConnectionError) {
            snapshot = try await firstSnapshot(host, port, since: begun, configuration.connectTimeout)
        } catch {
            throw wish.failed(error)
        }
        let result = await wish.runner(snapshot, begun: begun, confirmation).run()
        return try wish.outcome(of: result).get()
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

/// What somebody asked of a connector, and who follows it.
final class ConnectRequest: Sendable {
    let host: String
    let port: UInt16
    let configuration: ConnectionConfiguration
    fileprivate let observations: [any ConnectionObservation]
    fileprivate let connector: Connector

    init(
        _ connector: Connector, _ host: String, _ port: UInt16, _ configuration: ConnectionConfiguration,
        observations: [any ConnectionObservation]
    ) {
        self.connector = connector
        self.host = host
        self.port = port
        self.configuration = configuration
        self.observations = observations
    }

    fileprivate func runner(
        _ snapshot: PathSnapshot, begun: MonotonicTime, _ confirmation: RaceRunner.Confirmation? = nil
    ) -> RaceRunner {
        RaceRunner(
            host: host, port: port, configuration: configuration, snapshot: snapshot,
            resolver: connector.resolver, history: connector.history, monitor: connector.monitor,
            begun: begun, confirmation: confirmation)
    }

    fileprivate func outcome(of race: RaceRunner.Result) -> Result<WonRace, ConnectionError> {
        race.winner == nil ? .failure(failed(error(race))) : .success(WonRace(wish: self, result: race))
    }

    fileprivate func failed(_ error: ConnectionError) -> ConnectionError {
        connector.logger.debug("not connected", metadata: ["error": "\(error)"])
        return observations.failed(error)
    }

    fileprivate func connected(_ report: EstablishmentReport, _ end: ConnectionEnd?) {
        connector.logger.debug(
            "connected",
            metadata: [
                "host": "\(report.host)", "remote": "\(report.remote)", "interface": "\(report.interface)",
                "transport": "\(report.transport)", "attempts": "\(report.attempts.count)",
            ])
        observations.connected(report, end)
    }

    private func error(_ result: RaceRunner.Result) -> ConnectionError {
        let snapshot = result.snapshot
        func make(_ code: ConnectionError.Code, _ reason: String) -> ConnectionError {
            ConnectionError(
                code, host: host, port: port, reason: reason, duration: result.duration,
                attempts: result.attempts, omissions: result.omissions)
        }
        switch result.failure ?? .cancelled {
        // Where there is no path at all, no resolver could be asked either: the paths are the reason.
        case .resolution where snapshot.status != .satisfied:
            return make(.noRoute, noRouteReason(snapshot, result.addresses))
        case .resolution(let failure): return make(.resolution, failure.reason)
        case .cancelled: return make(.cancelled, "cancelled")
        case .timedOut
        where configuration.waitsForPath && result.attempts.isEmpty
            && !configuration.policy.allowsAny(in: snapshot):
            let refused = result.omissions.contains { $0.refusal != nil }
            return make(
                refused ? .noAllowedPath : .noRoute, "no allowed path within \(configuration.connectTimeout)")
        case .timedOut:
            let what = result.addresses.isEmpty ? "no answer from the resolver" : "no answer"
            return make(.timedOut, "\(what) within \(configuration.connectTimeout)")
        case .allFailed:
            // The attempts of one destination mostly fail alike: then that is the reason.
            let reasons = Set(
                result.attempts.compactMap {
                    if case .failed(let reason) = $0.outcome { reason } else { nil }
                })
            return make(.allAttemptsFailed, reasons.count == 1 ? reasons.first ?? "" : "every attempt failed")
        case .noCandidate:
            if result.omissions.contains(where: { $0.refusal != nil }) {
                let required = configuration.policy.requiredInterface
                return make(.noAllowedPath, missing(required, snapshot) ?? "no allowed path")
            }
            return make(.noRoute, noRouteReason(snapshot, result.addresses))
        }
    }

    private func missing(_ required: String?, _ snapshot: PathSnapshot) -> String? {
        guard let required, snapshot.interface(named: required) == nil else { return nil }
        return "no interface is named \(required)"
    }

    private func noRouteReason(_ snapshot: PathSnapshot, _ addresses: [IPAddress]) -> String {
        guard snapshot.status == .satisfied else {
            return "no path: this machine has no usable default route"
        }
        let families = Set(addresses.map(\.family))
        guard families.count == 1, let family = families.first else { return "no path leads there" }
        return snapshot.supports(family)
            ? "no path leads there" : "no path for \(family == .ipv4 ? "IPv4" : "IPv6")"
    }
}

/// A race that somebody won.
package struct WonRace: Sendable {
    fileprivate let wish: ConnectRequest
    fileprivate let result: RaceRunner.Result

    fileprivate var winner: RaceRunner.Winner {
        guard let winner = result.winner else { preconditionFailure("a race that is won has a winner") }
        return winner
    }

    /// The winner's socket. It is taken once.
    package func socket() throws(ConnectionError) -> ConnectedSocket {
        let winner = winner
        guard let socket = winner.attempt.take() else {
            preconditionFailure("a winner's socket is taken once")
        }
        let facts = winner.facts.observed(!wish.observations.isEmpty)
        let report = report(facts)
        wish.connected(report, facts.end)
        return ConnectedSocket(report: report, pending: PendingConnection(socket: socket, facts: facts))
    }

    fileprivate func report(_ facts: PendingConnection.Facts) -> EstablishmentReport {
        EstablishmentReport(
            host: wish.host, port: wish.port, transport: facts.transport,
            control: facts.transport.isMPTCP ? facts.level : .observeOnly(because: .plainTCP),
            mode: wish.configuration.mode, interface: facts.candidate.interfaceName,
            local: facts.local, remote: facts.candidate.endpoint,
            resolution: result.resolution, addresses: result.addresses, duration: result.duration,
            handshakeRTT: facts.handshakeRTT,
            attempts: result.attempts, omissions: result.omissions)
    }
}

extension PendingConnection.Facts {
    /// The same, and the connection's end is told to observers where there are some.
    fileprivate func observed(_ isObserved: Bool) -> PendingConnection.Facts {
        guard isObserved else { return self }
        var facts = self
        var meter = TransferMeter(
            transport: transport, level: level, interface: candidate.interfaceName, started: established)
        if let sample { meter.ingest(sample, naming: .all) { nil } }
        facts.end = ConnectionEnd(meter)
        return facts
    }
}

extension [any ConnectionObservation] {
    fileprivate func connected(_ report: EstablishmentReport, _ end: ConnectionEnd?) {
        for observation in self { observation.connected(report) }
        end?.observe(self)
    }

    fileprivate func failed(_ error: ConnectionError) -> ConnectionError {
        for observation in self { observation.failed(error) }
        return error
    }
}
