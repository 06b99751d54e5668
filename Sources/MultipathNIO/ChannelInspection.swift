public import Multipath
public import NIOCore

/// What carries a channel's bytes, as its socket is now. Any code may have opened the channel.
///
/// ```swift
/// configuration.http1_1ConnectionDebugInitializer = { channel in
///     channel.eventLoop.makeFutureWithTask { print(try await ChannelInspection(of: channel)) }
/// }
/// ```
public struct ChannelInspection: Sendable, Hashable {
    /// MPTCP, or TCP and why: `.disabled` where the channel's socket did not ask for MPTCP, `.peer` where it
    /// did and got no such answer.
    public var transport: Transport
    /// The subflows the kernel still has, by interface, with the bytes each has carried so far. TLS's own bytes
    /// are among them.
    public var paths: [TransferReport.PathTransfer]
    /// The peer's endpoint; nil where the socket has none any more.
    public var remote: IPEndpoint?

    /// - Parameters:
    ///   - channel: a channel of SwiftNIO's sockets, or a stream within one, such as HTTP/2's.
    ///   - monitor: names the interfaces; the process's own unless given.
    /// - Throws: `ChannelInspectionError` where the channel is closed or stands on no TCP socket.
    public init(of channel: any Channel, monitor: PathMonitor = Connector.shared.monitor) async throws {
        var channel = channel
        while let parent = channel.parent, !Self.hasSocket(channel) { channel = parent }
        let snapshot = try await monitor.currentPath()
        // On the loop, so that the channel does not close the descriptor meanwhile.
        let found = try await channel.eventLoop.submit { [channel] in
            guard channel.isActive else { throw ChannelInspectionError.closed }
            return try channel.pipeline.syncOperations.withUnsafeTransportIfAvailable(
                of: NIOBSDSocket.Handle.self
            ) { SocketInspection(of: $0, in: snapshot) } ?? nil
        }.get()
        guard let found else { throw ChannelInspectionError.noSocket }
        (transport, paths, remote) = (found.transport, found.paths, found.remote)
    }

    /// A stream's channel has no address of its own; a socket's parent is its listener.
    private static func hasSocket(_ channel: any Channel) -> Bool {
        !(channel.parent.map { $0.remoteAddress != nil } ?? false)
    }
}

extension ChannelInspection: CustomStringConvertible {
    /// `mptcp to 203.0.113.1:443: wlan0 1024 bytes sent, 8192 received; wwan0 0 bytes sent, 2048 received`
    public var description: String {
        let kind =
            switch transport {
            case .mptcp: "mptcp"
            case .tcp(let reason): "tcp (\(reason.rawValue))"
            }
        let paths = paths.map {
            "\($0.path) \($0.bytesSent) bytes sent, \($0.bytesReceived) received"
        }
        return kind + (remote.map { " to \($0)" } ?? "") + ": " + paths.joined(separator: "; ")
    }
}

/// Why a channel can't be looked at.
public enum ChannelInspectionError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The channel is closed.
    case closed
    /// The channel stands on no TCP socket: an embedded one, or one of a Unix domain socket.
    case noSocket

    public var description: String {
        switch self {
        case .closed: "the channel is closed"
        case .noSocket: "the channel stands on no TCP socket"
        }
    }
}
