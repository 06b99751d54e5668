public import Multipath
public import NIOCore
import NIOPosix

/// Takes care of connections on channels that somebody else opened: an HTTP client with `enableMultipath`, gRPC.
public enum MultipathSupervisor {
    /// Reports what a channel's connection does, and steers its subflows as far as that is possible: its socket has
    /// the kernel's path manager, unless it was made by this library or the administrator has chosen otherwise.
    ///
    /// - Parameters:
    ///   - channel: a connected channel of a TCP or MPTCP socket.
    ///   - mode: what to do when a path goes bad.
    ///   - steersAllConnections: whether, where this connection can't be steered on its own, the kernel's list of
    ///     endpoints may be changed. That goes for every connection of the network namespace, other programs' too.
    ///     What was there before is put back when the last such connection is closed. It takes CAP_NET_ADMIN.
    ///   - policy: which paths may be used.
    /// - Returns: the connection with its events and reports; `transferReport().control` says what became of it.
    /// - Throws: `ChannelError` for a channel without a socket; the kernel's error where there is no descriptor left.
    public static func supervise(
        _ channel: any Channel, mode: MultipathMode = .handover, steersAllConnections: Bool = false,
        policy: PathPolicy = PathPolicy(), connector: Connector = .shared
    ) async throws -> MultipathConnection {
        // Paths must be known before the bytes of the first can be booked.
        _ = try await connector.monitor.currentPath()
        return try await channel.eventLoop.submit {
            let follower = try channel.pipeline.syncOperations.withUnsafeTransportIfAvailable(
                of: NIOBSDSocket.Handle.self
            ) {
                try ConnectionFollower(
                    adopting: $0, SteeringConfiguration(mode: mode, policy: policy),
                    maySteerAll: steersAllConnections, monitor: connector.monitor)
            }
            guard let follower else { throw ChannelError.inappropriateOperationForState }
            let connection = try MultipathConnection(channel: channel, follower: follower)
            connection.begin(nil)
            return connection
        }.get()
    }
}
