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
/// Each method that sets something returns a changed copy. TCP_NODELAY is on unless an option turns it off.
public struct MultipathBootstrap: Sendable {
    private let group: any EventLoopGroup
    let connector: Connector
    private(set) var configuration = ConnectionConfiguration()
    private var customize: [@Sendable (ClientBootstrap) -> ClientBootstrap] = []

    /// - Parameters:
    ///   - group: a group of SwiftNIO's POSIX event loops, or one of its loops.
    ///   - connector: runs the race; the process's own unless given.
    public init(group: any EventLoopGroup, connector: Connector = .shared) {
        self.group = group
        self.connector = connector
    }

    public func mode(_ mode: MultipathMode) -> MultipathBootstrap {
        configure { $0.mode = mode }
    }

    /// How long connecting may take, name resolution included.
    public func connectTimeout(_ timeout: TimeAmount) -> MultipathBootstrap {
        configure { $0.connectTimeout = .nanoseconds(timeout.nanoseconds) }
    }

    /// Sets what else a connection can be told: which paths it may use, MPTCP or not, the race's times.
    public func configure(_ body: (inout ConnectionConfiguration) -> Void) -> MultipathBootstrap {
        var copy = self
        body(&copy.configuration)
        return copy
    }

    /// Adds handlers before the first byte is read.
    public func channelInitializer(
        _ initializer: @escaping @Sendable (any Channel) -> EventLoopFuture<Void>
    ) -> MultipathBootstrap {
        customized { $0.channelInitializer(initializer) }
    }

    public func channelOption<Option: ChannelOption & Sendable>(
        _ option: Option, value: Option.Value
    ) -> MultipathBootstrap where Option.Value: Sendable {
        customized { $0.channelOption(option, value: value) }
    }

    private func customized(
        _ body: @escaping @Sendable (ClientBootstrap) -> ClientBootstrap
    ) -> MultipathBootstrap {
        var copy = self
        copy.customize.append(body)
        return copy
    }

    /// Connects to a host by name or address.
    ///
    /// - Returns: the channel, or a `ConnectionError` that lists every attempt.
    public func connect(host: String, port: Int) -> EventLoopFuture<any Channel> {
        let loop = group.next()
        return loop.makeFutureWithTask {
            try await connect(host: host, port: port) { $0.eventLoop.makeSucceededFuture($0) }.output
        }
    }

    /// Connects to a host by name or address.
    ///
    /// - Parameter initializer: runs after the bootstrap's own, before the first byte is read: the place for
    ///   handlers, or to wrap the channel into a `NIOAsyncChannel`.
    /// - Throws: `ConnectionError`, which lists every attempt.
    public func connect<Output: Sendable>(
        host: String, port: Int,
        initializer: @escaping @Sendable (any Channel) -> EventLoopFuture<Output>
    ) async throws -> (connection: MultipathConnection, output: Output) {
        guard let port = UInt16(exactly: port), port != 0 else {
            throw ConnectionError(invalidPort: port, host: host)
        }
        return try await connect(host: host, port: port, configuration, initializer: initializer)
    }

    /// - Parameter attempt: what this one attempt may do, where that is less than what the connection may.
    func connect<Output: Sendable>(
        host: String, port: UInt16, _ attempt: ConnectionConfiguration,
        initializer: @escaping @Sendable (any Channel) -> EventLoopFuture<Output>
    ) async throws -> (connection: MultipathConnection, output: Output) {
        let socket = try await connector.connect(to: host, port: port, attempt)
        let report = socket.report
        let meter = socket.transferMeter
        let watch = try socket.watch(policy: configuration.policy)
        let descriptor = socket.takeDescriptor()
        let bootstrap = customize.reduce(ClientBootstrap(group: group)) { $1($0) }
        return try await bootstrap.withConnectedSocket(descriptor) { channel in
            channel.eventLoop.makeCompletedFuture {
                try MultipathConnection(
                    channel: channel, meter: meter, establishment: report, watch: watch)
            }.flatMap { connection in
                initializer(channel).map { (connection, $0) }
            }
        }
    }
}
