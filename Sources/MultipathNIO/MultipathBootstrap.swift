public import Multipath
public import NIOCore
import NIOPosix

/// Connects SwiftNIO channels over the best of this machine's paths.
///
/// ```swift
/// let channel = try await MultipathBootstrap(group: group).mode(.interactive)
///     .connect(host: "media.example", port: 443).get()
/// ```
///
/// It stands where a `ClientBootstrap` stood, in a `NIOClientTCPBootstrap` too. Each method that sets
/// something returns a changed copy. TCP_NODELAY is on unless an option turns it off.
public struct MultipathBootstrap: Sendable {
    let connector: Connector
    private(set) var configuration = ConnectionConfiguration()
    private var recipe: ChannelRecipe

    /// - Parameters:
    ///   - group: a group of SwiftNIO's POSIX event loops, or one of its loops.
    ///   - connector: runs the race; the process's own unless given.
    public init(group: any EventLoopGroup, connector: Connector = .shared) {
        recipe = ChannelRecipe(group: group)
        self.connector = connector
    }

    /// What to do when a path goes bad; `.handover` unless set.
    public func mode(_ mode: MultipathMode) -> MultipathBootstrap {
        configure { $0.mode = mode }
    }

    /// Sets what else a connection can be told: which paths it may use, MPTCP or not, the race's times.
    public func configure(_ body: (inout ConnectionConfiguration) -> Void) -> MultipathBootstrap {
        var copy = self
        body(&copy.configuration)
        return copy
    }

    /// Lets the first attempt win that reaches a milestone: with `.tlsHandshakeCompleted` the first whose TLS is up,
    /// and not the first whose TCP is. Until then the other attempts go on (RFC 8305 section 5), each connected one with a
    /// channel of its own, and so with handlers of its own: initializers run for each. When one has won, the
    /// channels of the others are closed at once.
    ///
    /// An attempt that can't reach it (a certificate that is not trusted, say) lets the others go on; its
    /// error is in the report.
    public func raceUntil(_ milestone: RaceMilestone) -> MultipathBootstrap {
        with { $0.milestone = milestone }
    }

    private func with(_ change: (inout ChannelRecipe) -> Void) -> MultipathBootstrap {
        var copy = self
        change(&copy.recipe)
        return copy
    }

    /// Connects to a host by name or address.
    ///
    /// - Parameters:
    ///   - host: a name, or an address without brackets.
    ///   - port: 1 to 65535.
    ///   - channelInitializer: runs after the bootstrap's own, before the first byte is read: the place for handlers,
    ///     or to wrap the channel into a `NIOAsyncChannel`.
    /// - Throws: `ConnectionError`, which lists every attempt.
    public func connect<Output: Sendable>(
        host: String, port: Int,
        channelInitializer: @escaping @Sendable (any Channel) -> EventLoopFuture<Output>
    ) async throws -> ConnectedChannel<Output> {
        try await connect(host: host, port: port, configuration, channelInitializer)
    }

    /// Connects to an address, over the best path that leads there.
    ///
    /// - Parameters:
    ///   - endpoint: the address and port.
    ///   - channelInitializer: as with `connect(host:port:channelInitializer:)`.
    /// - Throws: `ConnectionError`, which lists every attempt.
    public func connect<Output: Sendable>(
        to endpoint: IPEndpoint,
        channelInitializer: @escaping @Sendable (any Channel) -> EventLoopFuture<Output>
    ) async throws -> ConnectedChannel<Output> {
        try await connect(
            host: "\(endpoint.address)", port: Int(endpoint.port), channelInitializer: channelInitializer)
    }

    /// - Parameter attempt: what this one attempt may do, where that is less than what the connection may.
    func connect<Output: Sendable>(
        host: String, port: Int, _ attempt: ConnectionConfiguration,
        _ initializer: @escaping @Sendable (any Channel) -> EventLoopFuture<Output>
    ) async throws -> ConnectedChannel<Output> {
        let (recipe, policy) = (recipe, configuration.policy)
        guard recipe.milestone != nil else {
            let opening = OpeningChannel(recipe, on: recipe.group.next(), initializer)
            // A connection that has won is opened, cancelled or not: its owner closes it.
            guard let race = try connector.directRace(host: host, port: port, attempt) else {
                let taken = try TakenConnection(
                    await connector.connect(host: host, port: port, attempt), policy)
                return try await withCheckedThrowingContinuation { continuation in
                    opening.open({ taken }) { continuation.resume(with: $0) }
                }
            }
            return try await withTaskCancellationHandler {
                try await withCheckedThrowingContinuation { continuation in
                    race.start { finished in
                        opening.open({ try TakenConnection(finished.socket(), policy) }) {
                            continuation.resume(with: $0)
                        }
                    }
                }
            } onCancel: {
                race.cancel()
            }
        }
        let (connected, report) = try await connector.connect(host: host, port: port, attempt) { pending in
            try await OpeningChannel(recipe, on: recipe.group.next(), initializer)
                .opened(TakenConnection(pending, policy))
        } discard: {
            $0.discard()
        }
        connected.connection.begin(report)
        return connected
    }
}

extension MultipathBootstrap: NIOClientTCPBootstrapProtocol {
    /// How long connecting may take, name resolution and confirmation included.
    public func connectTimeout(_ timeout: TimeAmount) -> MultipathBootstrap {
        configure { $0.connectTimeout = .nanoseconds(timeout.nanoseconds) }
    }

    /// Adds handlers before the first byte is read. Runs for each attempt that is to be confirmed.
    public func channelInitializer(
        _ initializer: @escaping @Sendable (any Channel) -> EventLoopFuture<Void>
    ) -> MultipathBootstrap {
        with { $0.initializer = initializer }
    }

    /// Adds handlers at the front of the pipeline, after the initializer has run: the place for TLS.
    public func protocolHandlers(
        _ handlers: @escaping @Sendable () -> [any ChannelHandler]
    ) -> MultipathBootstrap {
        with { $0.protocolHandlers = handlers }
    }

    /// Sets an option of the channel.
    public func channelOption<Option: ChannelOption>(
        _ option: Option, value: Option.Value
    ) -> MultipathBootstrap {
        with { recipe in
            var options = recipe.options ?? ChannelOptions.Storage()
            options.append(key: option, value: value)
            recipe.options = options
        }
    }

    /// Connects to a host by name or address.
    ///
    /// - Returns: the channel, or a `ConnectionError` that lists every attempt.
    public func connect(host: String, port: Int) -> EventLoopFuture<any Channel> {
        // As with ClientBootstrap the future and the channel are on one loop, where a callback may touch the
        // pipeline at once.
        let loop = recipe.group.next()
        guard recipe.milestone == nil,
            let race = try? connector.directRace(host: host, port: port, configuration)
        else {
            let bootstrap = with { $0.group = loop }
            return loop.makeFutureWithTask {
                try await bootstrap.connect(host: host, port: port) { $0.eventLoop.makeSucceededVoidFuture() }
                    .channel
            }
        }
        let opening = OpeningChannel(recipe, on: loop)
        let (promise, policy) = (loop.makePromise(of: (any Channel).self), configuration.policy)
        race.start { finished in
            opening.open({ try TakenConnection(finished.socket(), policy) }) {
                promise.completeWith($0.map(\.channel))
            }
        }
        return promise.futureResult
    }

    /// Connects to an address, over the best path that leads there. One of a Unix domain socket has no paths
    /// to choose from, and is connected to as `ClientBootstrap` does.
    ///
    /// - Returns: the channel, or a `ConnectionError` that lists every attempt.
    public func connect(to address: SocketAddress) -> EventLoopFuture<any Channel> {
        guard let host = address.numericHost, let port = address.port else {
            return recipe.clientBootstrap(configuration).connect(to: address)
        }
        return connect(host: host, port: port)
    }

    /// Connects to a Unix domain socket as `ClientBootstrap` does, with this bootstrap's options, handlers and
    /// timeout: there is one path, and nothing to race or to confirm.
    public func connect(unixDomainSocketPath: String) -> EventLoopFuture<any Channel> {
        recipe.clientBootstrap(configuration).connect(unixDomainSocketPath: unixDomainSocketPath)
    }

    /// Makes a channel of a connected stream socket, with this bootstrap's options and handlers. The
    /// socket's path was chosen when it was connected; nothing is confirmed.
    ///
    /// - Parameter socket: the channel becomes its owner.
    public func withConnectedSocket(_ socket: NIOBSDSocket.Handle) -> EventLoopFuture<any Channel> {
        recipe.clientBootstrap(configuration).withConnectedSocket(socket)
    }
}

extension SocketAddress {
    /// The address as text, with the zone of a link-local one; nil for a Unix domain socket.
    fileprivate var numericHost: String? {
        guard case .v6(let address) = self, address.address.sin6_scope_id != 0 else { return ipAddress }
        return ipAddress.map { "\($0)%\(address.address.sin6_scope_id)" }
    }
}
