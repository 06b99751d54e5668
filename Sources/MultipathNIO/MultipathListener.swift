import Multipath
public import NIOCore
import NIOPosix

/// Accepts connections of MPTCP and TCP on one port, and tells which each is.
public struct MultipathListener<Output: Sendable>: Sendable {
    /// The endpoint, with the port the kernel chose where 0 was asked for.
    public let endpoint: IPEndpoint
    private let channel: NIOAsyncChannel<Accepted, Never>

    /// An accepted connection, and what its initializer returned.
    public struct Accepted: Sendable {
        public let connection: MultipathConnection
        public let output: Output
    }

    /// Listens on an address and port.
    ///
    /// - Parameters:
    ///   - mode: what to do when a path of an accepted connection goes bad. The end that connects makes the
    ///     subflows; this one gives up those that are dead. It takes CAP_NET_ADMIN, and the network namespace's
    ///     path manager set to `userspace` (the kernel gives that one to accepted connections).
    ///   - endpoint: `::` takes IPv4 and IPv6. Port 0 lets the kernel choose.
    ///   - childOptions: sets options of each accepted channel.
    ///   - initializer: runs for each accepted channel before its first byte is read.
    public init(
        on endpoint: IPEndpoint, group: any EventLoopGroup = .singletonMultiThreadedEventLoopGroup,
        connector: Connector = .shared, mode: MultipathMode = .handover,
        initializer: @escaping @Sendable (any Channel) -> EventLoopFuture<Output>
    ) async throws {
        let listening = try await ListeningSocket(on: endpoint, monitor: connector.monitor)
        self.endpoint = listening.endpoint
        let accepted = listening.acceptedConnections
        channel = try await ServerBootstrap(group: group)
            .childChannelOption(.tcpOption(.tcp_nodelay), value: 1)
            .bind(listening.takeDescriptor()) { channel in
                channel.eventLoop.makeCompletedFuture {
                    let follower = try channel.pipeline.syncOperations.withUnsafeTransportIfAvailable(
                        of: NIOBSDSocket.Handle.self
                    ) { try accepted.makeFollower($0, mode) }
                    guard let follower else { throw ChannelError.inappropriateOperationForState }
                    let connection = try MultipathConnection(channel: channel, follower: follower)
                    connection.begin(nil)
                    return connection
                }.flatMap { connection in
                    initializer(channel).map { Accepted(connection: connection, output: $0) }
                }
            }
    }

    /// Hands over the connections as they come. The listener closes when `body` returns.
    public func executeThenClose<Result: Sendable>(
        _ body: @Sendable (NIOAsyncChannelInboundStream<Accepted>) async throws -> Result
    ) async throws -> Result {
        try await channel.executeThenClose { inbound in try await body(inbound) }
    }
}
