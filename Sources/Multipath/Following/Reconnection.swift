import LinuxNet

/// One call of a client's work: the connection it works on, and why it was called.
public struct ReconnectionSession<Connection: Sendable, Output: Sendable>: Sendable {
    /// The connection for this call.
    public let connection: Connection
    /// What the `channelInitializer` returned for it; nothing for a connection of `Connector`.
    public let output: Output
    /// Why there is a new connection.
    public let cause: ReconnectionCause

    let migration: OneShot
    let progressed: @Sendable () -> Void

    /// Whether the next connection is there: the work does well to return `.reconnect` at the next good moment. A
    /// connection that still works is left alone for the grace period (2 s unless set); then, and at once where
    /// it does not work, the work is cancelled.
    public var shouldMigrate: Bool { migration.isFired }

    /// Waits until `shouldMigrate` is true, or the task is cancelled.
    public func waitForMigration() async { await migration.wait() }

    /// Says that the work got somewhere: bytes of a download, an answer. It is what ends a row of failures.
    public func madeProgress() { progressed() }
}

/// How one call of a client's work ended.
public enum ReconnectionStep: Sendable {
    /// The work is done; its result stands in the progress.
    case finished
    /// Call again with another connection: the next one if it is there, or a new one.
    case reconnect
    /// The connection broke: wait a little, then as `reconnect`.
    case failed(any Error)
}

/// There is no connection any more, and the budget for getting one is spent.
public struct ReconnectionError: Error, CustomStringConvertible {
    /// What failed last, in its own words.
    public var reason: String
    /// What the last attempt to connect threw: mostly a `ConnectionError`, which lists all that was tried.
    public var underlying: (any Error)?

    public var description: String { "gave up reconnecting: \(reason)" }
}

/// How a client wants to be reconnected.
public struct ReconnectionOptions: Sendable {
    /// What may be spent on getting a connection again.
    public var budget = ReconnectionBudget()
    /// The pauses between failures.
    public var backoff = Backoff()
    /// How long the work may go on with a connection that works, once one over a better path is there.
    public var grace: Duration = .seconds(2)
    /// Which errors of the work mean that its connection broke. Every other one ends it all, and is thrown.
    public var isBreak: @Sendable (any Error) -> Bool = { _ in false }

    /// The defaults.
    public init() {}

    package var machine: ReconnectionMachine.Configuration {
        var configuration = ReconnectionMachine.Configuration()
        configuration.budget = budget
        configuration.backoff = backoff
        configuration.grace = grace
        return configuration
    }
}

/// A connection of `Connector.withReconnection`. The descriptor stays this object's, which closes it when the
/// work has returned.
public final class LeasedSocket: Sendable {
    /// How the connection came about.
    public let report: EstablishmentReport
    /// Counts the connection's bytes by path, and watches its path. Tell it `didSend` after writing; set `expectsData`
    /// while bytes are awaited.
    public let follower: ConnectionFollower
    /// Connected and non-blocking. Not to be closed, nor to be kept. When the connection is left both directions
    /// are shut down, which wakes every wait: an end that is read while `shouldMigrate` is true is no end.
    public var descriptor: CInt { number }

    private let socket: Locked<StreamSocket?>
    private let number: CInt

    init(_ connected: consuming ConnectedSocket, policy: PathPolicy) throws {
        follower = try connected.follow(hasHints: false, policy: policy)
        report = connected.report
        let socket = StreamSocket(owning: Descriptor(owning: connected.takeDescriptor()))
        number = socket.descriptor.number
        self.socket = Locked(consume socket)
    }

    /// Ends both directions, so that a task that waits on the descriptor wakes up.
    func interrupt() { socket.withLock { $0?.shutDown() } }

    func close() {
        follower.stop()
        socket.withLock { $0 = nil }
    }

    deinit { close() }
}

extension Connector {
    /// Does a client's work on one connection after another, until it is done: each next one is opened before
    /// the one before is given up, as soon as that one's path fails or a better path is there.
    ///
    /// ```swift
    /// try await connector.withReconnection(host: "media.example", port: 7000, progress: 0) { session, offset in
    ///     try ask(session.connection.descriptor, from: offset)
    ///     session.connection.follower.didSend(request.count)
    ///     session.connection.follower.expectsData = true
    ///     while let bytes = try await receive(session.connection.descriptor) {
    ///         offset += bytes.count
    ///         session.madeProgress()
    ///     }
    ///     return .finished
    /// }
    /// ```
    ///
    /// MPTCP connections change paths by themselves; they are replaced when they break, or no path is left.
    ///
    /// - Parameters:
    ///   - host: a name or an address.
    ///   - port: from 1 to 65535.
    ///   - progress: what the work knows of how far it got, and in the end its result; handed from each call to the
    ///     next.
    ///   - options: the budget, the pauses between attempts, and which errors mean a broken connection.
    ///   - configure: mode, allowed paths, timeout of each connection.
    ///   - body: the work. One call at a time; it is cancelled when its connection must be left.
    /// - Returns: the progress as the work left it when it had finished.
    /// - Throws: what the work throws; `ReconnectionError` when the budget is spent; `CancellationError`.
    public func withReconnection<Progress: Sendable>(
        host: String, port: Int, progress: Progress,
        options: ReconnectionOptions = ReconnectionOptions(),
        configure: (inout ConnectionConfiguration) -> Void = { _ in },
        body:
            @escaping @Sendable (ReconnectionSession<LeasedSocket, Void>, inout Progress) async throws
            -> ReconnectionStep
    ) async throws -> Progress {
        var configuration = ConnectionConfiguration()
        configure(&configuration)
        let base = configuration
        let runner = ReconnectionRunner<LeasedSocket, Void, Progress>(
            options: options, monitor: monitor, body: body
        ) { route in
            let configuration = base.over(route)
            let socket = try await connect(host: host, port: port, configuration)
            // The follower judges by what the caller allows, not by what this one attempt was allowed.
            let leased = try LeasedSocket(socket, policy: base.policy)
            return DialedConnection(
                connection: leased, output: (), path: leased.report.path,
                observe: { leased.follower.observe($0) },
                interrupt: { leased.interrupt() }, close: { leased.close() })
        }
        return try await runner.run(progress)
    }
}

extension ConnectionConfiguration {
    /// The same for one attempt of a reconnection.
    package func over(_ route: ReconnectionMachine.Route) -> ConnectionConfiguration {
        var copy = self
        switch route {
        case .any: break
        case .avoiding(let path): copy.policy.prohibitedInterfaces.insert(path.name)
        case .over(let path):
            // A path that is required already is the only one there is.
            if copy.policy.requiredInterface == nil { copy.policy.requiredInterface = path.name }
        }
        return copy
    }
}
