public import Multipath
public import MultipathNIO
public import NIOCore
import NIOPosix

/// Opens channels as a contender does. All else about them is the same.
public struct Dialer: Sendable {
    public enum Contender: String, Sendable {
        /// This library by MPTCP, steered: what a caller gets who sets nothing.
        case ours
        /// This library, by TCP only.
        case oursTCP = "ours-tcp"
        /// A socket that this library's race has made, as a plain SwiftNIO channel.
        case unfollowed = "ours-unfollowed"
        /// SwiftNIO's ClientBootstrap.
        case nio
        case nioMPTCP = "nio-mptcp"
    }

    /// A channel, and what the library says of it.
    public struct Opened: Sendable {
        public let channel: any Channel
        /// Nil for a plain SwiftNIO channel.
        public let connection: MultipathConnection?
        /// Nil where SwiftNIO's bootstrap connected.
        public let transport: Transport?
    }

    public typealias Initializer = @Sendable (any Channel) -> EventLoopFuture<Void>

    private let contender: Contender
    private let (host, port): (String, Int)
    private let group: any EventLoopGroup
    private let configure: @Sendable (inout ConnectionConfiguration) -> Void

    /// - Parameter configure: for this library's own connections.
    public init(
        _ contender: Contender, host: String, port: Int, on group: any EventLoopGroup,
        configure: @escaping @Sendable (inout ConnectionConfiguration) -> Void = { _ in }
    ) {
        self.contender = contender
        (self.host, self.port) = (host, port)
        self.group = group
        self.configure = configure
    }

    public func open(_ initializer: @escaping Initializer) async throws -> Opened {
        switch contender {
        case .ours, .oursTCP:
            let isMPTCP = contender == .ours
            let connection = try await MultipathBootstrap(group: group).configure {
                configure(&$0)
                if !isMPTCP { $0.protocols = [.tcp] }
            }.connect(host: host, port: port, channelInitializer: initializer).connection
            return Opened(
                channel: connection.channel, connection: connection,
                transport: connection.establishment?.transport)
        case .unfollowed:
            let socket = try await Connector.shared.connect(host: host, port: port)
            let transport = socket.report.transport
            let channel = try await bootstrap(initializer).withConnectedSocket(socket.takeDescriptor()).get()
            return Opened(channel: channel, connection: nil, transport: transport)
        case .nio, .nioMPTCP:
            let channel = try await bootstrap(initializer).connect(host: host, port: port).get()
            return Opened(channel: channel, connection: nil, transport: nil)
        }
    }

    private func bootstrap(_ initializer: @escaping Initializer) -> ClientBootstrap {
        // This library's channels have TCP_NODELAY.
        ClientBootstrap(group: group).enableMPTCP(contender == .nioMPTCP)
            .channelOption(.tcpOption(.tcp_nodelay), value: 1).channelInitializer(initializer)
    }
}
