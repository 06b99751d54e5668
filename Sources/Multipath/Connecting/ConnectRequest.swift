import LinuxNet

/// What a caller asked of a connector, and what observes it.
final class ConnectRequest: Sendable {
    let host: String
    let port: UInt16
    let configuration: ConnectionConfiguration
    let observations: [any ConnectionObservation]
    let connector: Connector

    init(
        _ connector: Connector, _ host: String, _ port: UInt16, _ configuration: ConnectionConfiguration,
        observations: [any ConnectionObservation] = []
    ) {
        self.connector = connector
        self.host = host
        self.port = port
        self.configuration = configuration
        self.observations = observations
    }

    func runner(
        _ snapshot: PathSnapshot, begun: MonotonicTime, _ confirmation: RaceRunner.Confirmation? = nil
    ) -> RaceRunner {
        RaceRunner(self, snapshot, begun: begun, confirmation: confirmation)
    }

    /// Tells the observations why the race waits for a path; nil where there are none.
    var waiting: (@Sendable ([PathOmission]) -> Void)? {
        guard !observations.isEmpty else { return nil }
        return { [observations] omissions in
            for observation in observations { observation.waiting(omissions) }
        }
    }

    func failed(_ error: ConnectionError) -> ConnectionError {
        connector.logger.debug("not connected", metadata: ["error": "\(error)"])
        return observations.failed(error)
    }

    func connected(_ report: EstablishmentReport, _ end: ConnectionEnd?) {
        connector.logger.debug(
            "connected",
            metadata: [
                "host": "\(report.host)", "remote": "\(report.remote)", "interface": "\(report.path)",
                "transport": "\(report.transport)", "attempts": "\(report.attempts.count)",
            ])
        observations.connected(report, end)
    }

    func error(_ result: RaceRunner.Result) -> ConnectionError {
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

/// A race that needs no task.
package struct DirectRace: Sendable {
    let request: ConnectRequest
    let runner: RaceRunner

    /// Starts the race, once.
    ///
    /// - Parameter completion: called once, on the thread that runs every race; it must not block.
    package func start(_ completion: @escaping @Sendable (FinishedRace) -> Void) {
        runner.start { [request] in completion(FinishedRace(request: request, result: .success($0))) }
    }

    /// Ends the race without a winner, unless it is over. It may not have started yet.
    package func cancel() { runner.submit { $0.cancel() } }
}

/// A race that is over. Its caller asks for the winner; the connection's observers are told there, and never on the
/// thread that runs every race.
package struct FinishedRace: Sendable {
    let request: ConnectRequest
    let result: Result<RaceRunner.Result, ConnectionError>

    /// The winner. Asked once.
    /// - Throws: why there is none.
    func winner() throws(ConnectionError) -> (winner: RaceRunner.Winner, result: RaceRunner.Result) {
        switch result {
        case .failure(let error): throw request.failed(error)
        case .success(let result):
            guard let winner = result.winner else { throw request.failed(request.error(result)) }
            return (winner, result)
        }
    }

    /// The winner's socket. It is taken once.
    package func socket() throws(ConnectionError) -> ConnectedSocket {
        let (winner, result) = try winner()
        guard let socket = winner.attempt.take() else {
            preconditionFailure("a winner's socket is taken once")
        }
        let facts = winner.facts
        let (report, end) = (result.report(request, facts), facts.makeEnd())
        request.connected(report, end)
        return ConnectedSocket(report: report, pending: PendingConnection(socket, facts, end))
    }
}

extension RaceRunner.Result {
    func report(_ request: ConnectRequest, _ facts: PendingConnection.Facts) -> EstablishmentReport {
        EstablishmentReport(
            host: request.host, port: request.port, transport: facts.transport,
            control: facts.transport.isMPTCP ? facts.level : .observeOnly(because: .plainTCP),
            mode: request.configuration.mode, path: facts.candidate.path,
            local: facts.local, remote: facts.candidate.endpoint,
            resolution: resolution, addresses: addresses, duration: duration,
            handshakeRTT: facts.handshakeRTT,
            attempts: attempts, omissions: omissions, serviceRecords: serviceRecords,
            refutedAnswers: refutedAnswers, marking: facts.marking)
    }
}

extension [any ConnectionObservation] {
    func connected(_ report: EstablishmentReport, _ end: ConnectionEnd?) {
        for observation in self { observation.connected(report) }
        end?.observe(self)
    }

    func failed(_ error: ConnectionError) -> ConnectionError {
        for observation in self { observation.failed(error) }
        return error
    }
}
