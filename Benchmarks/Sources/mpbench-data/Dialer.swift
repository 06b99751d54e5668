import Multipath
import MultipathNIO
import NIOCore
import NIOPosix

/// Opens channels as its contender does. All else about them is the same.
struct Dialer: Sendable {
    /// A connection's transport isn't what its contender stands for.
    struct WrongTransport: Error {
        var transport: Transport
    }

    typealias Initializer = @Sendable (any Channel) -> EventLoopFuture<Void>

    private let group: any EventLoopGroup
    private let contender: Options.Contender
    private let (host, port): (String, Int)

    init(_ options: Options, on group: any EventLoopGroup) {
        self.group = group
        contender = options.contender
        (host, port) = (options.host, options.port)
    }

    func open(_ initializer: @escaping Initializer) async throws -> any Channel {
        switch contender {
        case .ours, .oursTCP:
            let isMPTCP = contender == .ours
            let connection = try await MultipathBootstrap(group: group)
                .configure { $0.usesMPTCP = isMPTCP }
                .connect(host: host, port: port, channelInitializer: initializer).connection
            try check(connection.establishment?.transport)
            return connection.channel
        case .unsupervised:
            let socket = try await Connector.shared.connect(to: host, port: UInt16(port))
            try check(socket.report.transport)
            return try await clientBootstrap(initializer).withConnectedSocket(socket.takeDescriptor()).get()
        case .nio, .nioMPTCP:
            return try await clientBootstrap(initializer).connect(host: host, port: port).get()
        }
    }

    private func clientBootstrap(_ initializer: @escaping Initializer) -> ClientBootstrap {
        // TCP_NODELAY is what this library's channels have.
        ClientBootstrap(group: group).enableMPTCP(contender == .nioMPTCP)
            .channelOption(.tcpOption(.tcp_nodelay), value: 1).channelInitializer(initializer)
    }

    private func check(_ transport: Transport?) throws {
        if let transport, transport.isMPTCP != (contender != .oursTCP) {
            throw WrongTransport(transport: transport)
        }
    }

    /// A first connection, before anything is measured: what there is only one of in a process is there then, and
    /// paths and history are known.
    func warmUp() async throws {
        try await open { $0.eventLoop.makeSucceededVoidFuture() }.close()
    }
}
