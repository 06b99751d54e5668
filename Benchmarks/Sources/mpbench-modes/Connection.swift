import Multipath
import MultipathNIO
import NIOCore
import NIOPosix

/// A connection of either kind, and what it tells.
struct Connection: Sendable {
    let channel: any Channel
    /// Nil for SwiftNIO's own.
    let multipath: MultipathConnection?

    static func open(
        _ options: Options, on group: any EventLoopGroup,
        _ initializer: @escaping @Sendable (any Channel) -> EventLoopFuture<Void>
    ) async throws -> Connection {
        switch options.contender {
        case .kernel, .tcp:
            let bootstrap = ClientBootstrap(group: group)
                .enableMPTCP(options.contender == .kernel)
                .channelOption(.tcpOption(.tcp_nodelay), value: 1)
                .connectTimeout(.seconds(10))
                .channelInitializer(initializer)
            let channel = try await bootstrap.connect(host: options.host, port: options.port).get()
            return Connection(channel: channel, multipath: nil)
        case .handover, .interactive, .aggregate:
            let mode = MultipathMode(rawValue: options.contender.rawValue) ?? .handover
            let (required, prohibited) = (options.required, options.prohibited)
            let connection = try await MultipathConnection.connect(
                to: options.host, port: options.port, group: group,
                configure: {
                    $0.mode = mode
                    $0.requiredInterface = required
                    $0.prohibitedInterfaces = prohibited
                }, channelInitializer: initializer)
            return Connection(channel: connection.channel, multipath: connection)
        }
    }

    /// The socket. It is open for as long as the channel is.
    var descriptor: CInt {
        get async throws {
            try await channel.eventLoop.submit { [channel] in
                try channel.pipeline.syncOperations.withUnsafeTransportIfAvailable(
                    of: NIOBSDSocket.Handle.self
                ) { $0 } ?? -1
            }.get()
        }
    }
}
