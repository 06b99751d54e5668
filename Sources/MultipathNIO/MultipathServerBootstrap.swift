public import Multipath
public import NIOCore
import NIOPosix

/// Listens for MPTCP and TCP on one port, and tells of each accepted connection which it is.
///
/// ```swift
/// let server = try await MultipathServerBootstrap(group: group)
///     .bind(host: "::", port: 7000) { channel in
///         channel.eventLoop.makeCompletedFuture {
///             try NIOAsyncChannel<ByteBuffer, ByteBuffer>(wrappingChannelSynchronously: channel)
///         }
///     }
/// try await server.executeThenClose { connections in
///     for try await accepted in connections { print(accepted.connection.transport) }
/// }
/// ```
///
/// Each method that sets something returns a changed copy. TCP_NODELAY is on for accepted channels unless an option
/// turns it off.
public struct MultipathServerBootstrap: Sendable {
    private let group: any EventLoopGroup
    private let connector: Connector
    private var steeringMode = MultipathMode.handover
    /// What to set on SwiftNIO's own bootstrap, which is no value.
    private var settings: [@Sendable (ServerBootstrap) -> Void] = []
    private var childInitializer: (@Sendable (any Channel) -> EventLoopFuture<Void>)?

    /// - Parameters:
    ///   - group: a group of SwiftNIO's POSIX event loops, or one of its loops.
    ///   - connector: its monitor names the interfaces; the process's own unless given.
    public init(
        group: any EventLoopGroup = .singletonMultiThreadedEventLoopGroup, connector: Connector = .shared
    ) {
        self.group = group
        self.connector = connector
        settings.append { _ = $0.childChannelOption(.tcpOption(.tcp_nodelay), value: 1) }
    }

    private func with(_ change: (inout Self) -> Void) -> MultipathServerBootstrap {
        var copy = self
        change(&copy)
        return copy
    }

    /// What to do when a path of an accepted connection goes bad; `.handover` unless set. The end that connects makes
    /// the subflows; this one gives up those that are dead. It takes CAP_NET_ADMIN, and the network namespace's path
    /// manager set to `userspace` (`net.mptcp.path_manager`), which the kernel gives to accepted connections.
    public func mode(_ mode: MultipathMode) -> MultipathServerBootstrap { with { $0.steeringMode = mode } }

    /// Sets an option of the listening channel.
    public func serverChannelOption<Option: ChannelOption>(
        _ option: Option, value: Option.Value
    ) -> MultipathServerBootstrap {
        with { $0.settings.append { _ = $0.serverChannelOption(option, value: value) } }
    }

    /// Sets an option of each accepted channel.
    public func childChannelOption<Option: ChannelOption>(
        _ option: Option, value: Option.Value
    ) -> MultipathServerBootstrap {
        with { $0.settings.append { _ = $0.childChannelOption(option, value: value) } }
    }

    /// Runs for each accepted channel, before the initializer that `bind` is given.
    public func childChannelInitializer(
        _ initializer: @escaping @Sendable (any Channel) -> EventLoopFuture<Void>
    ) -> MultipathServerBootstrap {
        with { $0.childInitializer = initializer }
    }

    /// Listens on an address, or on the first address of a name.
    ///
    /// - Parameters:
    ///   - host: `::` takes IPv4 and IPv6, `0.0.0.0` IPv4 alone.
    ///   - port: 0 lets the kernel choose.
    ///   - childChannelInitializer: runs for each accepted channel before its first byte is read. What it returns is
    ///     handed over with the connection.
    /// - Throws: `ListenError` with the kernel's words, also for a name without an address and a port out of range;
    ///   `PathMonitorError` where this machine's paths can't be read.
    public func bind<Output: Sendable>(
        host: String, port: Int,
        childChannelInitializer: @escaping @Sendable (any Channel) -> EventLoopFuture<Output>
    ) async throws -> MultipathServerChannel<Output> {
        let endpoint = try await ListeningSocket.endpoint(host: host, port: port)
        return try await bind(to: endpoint, childChannelInitializer: childChannelInitializer)
    }

    /// Listens on an address and port.
    ///
    /// - Parameters:
    ///   - endpoint: `::` takes IPv4 and IPv6. Port 0 lets the kernel choose.
    ///   - childChannelInitializer: runs for each accepted channel before its first byte is read.
    /// - Throws: `ListenError` with the kernel's words; `PathMonitorError` where this machine's paths can't be read.
    public func bind<Output: Sendable>(
        to endpoint: IPEndpoint,
        childChannelInitializer: @escaping @Sendable (any Channel) -> EventLoopFuture<Output>
    ) async throws -> MultipathServerChannel<Output> {
        let listening = try await ListeningSocket(on: endpoint, monitor: connector.monitor)
        let bound = listening.endpoint
        let (accepted, mode) = (listening.acceptedConnections, steeringMode)
        let childInitializer = childInitializer
        let bootstrap = ServerBootstrap(group: group)
        for set in settings { set(bootstrap) }
        let channel = try await bootstrap.bind(listening.takeDescriptor()) { channel in
            channel.eventLoop.makeCompletedFuture {
                let follower = try channel.withDescriptor { try accepted.makeFollower($0, mode) }
                let connection = try MultipathConnection(channel: channel, follower: follower)
                connection.begin(nil)
                return connection
            }.flatMap { connection in
                let ready = childInitializer?(channel) ?? channel.eventLoop.makeSucceededVoidFuture()
                return ready.flatMap { childChannelInitializer(channel) }
                    .map { ConnectedChannel(connection: connection, output: $0) }
            }
        }
        return MultipathServerChannel(endpoint: bound, channel: channel)
    }
}

/// A listening channel, and the connections that it accepts.
public struct MultipathServerChannel<Output: Sendable>: Sendable {
    /// Where it listens, with the port the kernel chose where 0 was asked for.
    public let endpoint: IPEndpoint
    let channel: NIOAsyncChannel<ConnectedChannel<Output>, Never>

    /// Hands over the connections as they come. It stops listening when `body` returns.
    ///
    /// - Throws: what `body` throws; the error of a listening channel that failed.
    public func executeThenClose<Result: Sendable>(
        _ body: @Sendable (NIOAsyncChannelInboundStream<ConnectedChannel<Output>>) async throws -> Result
    ) async throws -> Result {
        try await channel.executeThenClose { inbound in try await body(inbound) }
    }
}
