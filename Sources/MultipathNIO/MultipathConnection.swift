public import Multipath
public import NIOCore
import NIOPosix

/// A connection as a SwiftNIO channel, with its events and reports.
///
/// ```swift
/// let connection = try await MultipathConnection.connect(host: "media.example", port: 443) {
///     $0.mode = .handover
///     $0.prohibitedInterfaceTypes = [.cellular]
/// }
/// ```
public final class MultipathConnection: Sendable {
    /// The connection's channel.
    public let channel: any Channel
    /// What happens to the connection: the current state first, then each event in order, to its end. Any number of
    /// tasks may iterate.
    public var events: ConnectionEvents { follower.events }

    let follower: ConnectionFollower

    /// On the channel's event loop, before its first byte is read. Events begin with `begin`.
    convenience init(channel: any Channel, follower: ConnectionFollower) throws {
        try channel.pipeline.syncOperations.addHandler(TransferCounter(follower), position: .first)
        self.init(counted: channel, follower)
    }

    /// Takes care of the connection of a channel that was opened elsewhere, by an HTTP client with `enableMultipath` or
    /// gRPC: reports what it does, and steers its subflows as far as that is possible. Its socket has the kernel's
    /// path manager, unless it was made by this library or the administrator has chosen otherwise.
    ///
    /// `transferReport().control` says how far it is steered, from the beginning.
    ///
    /// - Parameters:
    ///   - channel: a connected channel of a TCP or MPTCP socket.
    ///   - mode: what to do when a path goes bad.
    ///   - scope: what may be changed where this connection can't be steered on its own.
    ///   - policy: which paths may be used.
    ///   - whenPathIsRefused: what happens where its path is not allowed any more, and it can't leave it.
    ///   - requiresSteering: whether a connection that can only be observed is an error. The channel stays as it was then.
    ///   - connector: its monitor tells of paths; the process's own unless given.
    /// - Throws: `SteeringUnavailableError`; `ChannelError` for a channel without a socket; the kernel's error where there is no descriptor left;
    ///   `PathMonitorError` where this machine's paths can't be read.
    public convenience init(
        adopting channel: any Channel, mode: MultipathMode = .handover, scope: SteeringScope = .connection,
        policy: PathPolicy = PathPolicy(), whenPathIsRefused: PathRefusalAction = .report,
        requiresSteering: Bool = false, connector: Connector = .shared
    ) async throws {
        // Paths must be known before the bytes of the first can be booked.
        _ = try await connector.monitor.currentPath()
        let (follower, counter) = try await channel.eventLoop.submit {
            let follower = try channel.withDescriptor {
                try ConnectionFollower(
                    adopting: $0, SteeringConfiguration(mode: mode, policy: policy),
                    maySteerAll: scope == .networkNamespace, whenRefused: whenPathIsRefused,
                    monitor: connector.monitor)
            }
            let counter = TransferCounter(follower)
            try channel.pipeline.syncOperations.addHandler(counter, position: .first)
            return (follower, NIOLoopBound(counter, eventLoop: channel.eventLoop))
        }.get()
        self.init(counted: channel, follower)
        begin(nil)
        await follower.settled()
        guard requiresSteering, case .observeOnly(let limit) = follower.control else { return }
        follower.stop()
        try? await channel.eventLoop.flatSubmit {
            channel.pipeline.syncOperations.removeHandler(counter.value)
        }.get()
        throw SteeringUnavailableError(limit: follower.transport.isMPTCP ? limit : .plainTCP)
    }

    /// - Parameter channel: with a `TransferCounter`.
    private init(counted channel: any Channel, _ follower: ConnectionFollower) {
        self.channel = channel
        self.follower = follower
        channel.closeFuture.whenComplete { _ in
            // The follower's own descriptor keeps the socket open until here: the peer sees the end only now.
            follower.stop()
        }
    }

    /// Whether the channel has closed.
    var isClosed: Bool { follower.isStopped }

    /// The connection has come about: it won its race, or a listener accepted it.
    func begin(_ establishment: EstablishmentReport?) {
        follower.closes { [channel, weak follower] refusal in
            let follower = follower
            channel.eventLoop.execute {
                channel.pipeline.fireErrorCaught(PathNotAllowedError(refusal: refusal))
                // What is left in the kernel's buffers is not to go over this path.
                follower?.abort()
                channel.closeAtOnce()
            }
        }
        follower.begin(establishment)
        follower.observe { [channel] event in
            guard case .steering(.pathLossTimedOut(let timeout)) = event else { return }
            channel.eventLoop.execute {
                channel.pipeline.fireErrorCaught(PathLossError(timeout: timeout))
                channel.close(promise: nil)
            }
        }
    }

    func agreed(on applicationProtocol: String?) { follower.agreed(on: applicationProtocol) }

    /// How the connection came about; nil for one that a listener accepted.
    public var establishment: EstablishmentReport? { follower.establishment }

    /// The protocol that both ends agreed on in the TLS handshake (ALPN, RFC 7301), where the connection was
    /// raced until `RaceMilestone.tlsHandshakeCompleted`; nil where they agreed on none.
    public var applicationProtocol: String? { follower.applicationProtocol }

    /// Connects to a host by name or address.
    ///
    /// - Parameters:
    ///   - host: a name or an address.
    ///   - port: from 1 to 65535.
    ///   - group: where the channel runs; SwiftNIO's own threads unless given.
    ///   - configure: mode, allowed paths, timeout.
    ///   - channelInitializer: adds handlers before the first byte is read. Handlers that are added later, to
    ///     `channel`, miss what a server says first.
    /// - Throws: `ConnectionError`, which lists every attempt.
    public static func connect(
        host: String, port: Int, group: any EventLoopGroup = .singletonMultiThreadedEventLoopGroup,
        configure: @Sendable (inout ConnectionConfiguration) -> Void = { _ in },
        channelInitializer: @escaping @Sendable (any Channel) -> EventLoopFuture<Void> = {
            $0.eventLoop.makeSucceededVoidFuture()
        }
    ) async throws -> MultipathConnection {
        try await MultipathBootstrap(group: group).configure(configure)
            .connect(host: host, port: port, channelInitializer: channelInitializer).connection
    }

    /// Whether bytes are awaited: an answer, the rest of a download. While it is set, silence makes this
    /// connection ask whether the peer is still there, by a handshake over the same path that is reset half open:
    /// after about 100 ms at first, then ever less often. Over MPTCP a path that does not answer is left for another; of
    /// plain TCP `viabilityChanged` tells. Without it a path that is lost in silence is noticed only when something is sent, or,
    /// over MPTCP, where bytes came in steadily. Say false when all is there: what has come is no stream then that has stopped.
    public var expectsData: Bool {
        get { follower.expectsData }
        set { follower.expectsData = newValue }
    }

    /// The peer's endpoint; nil where the connection was closed before it was asked for.
    public var remote: IPEndpoint? { establishment?.remote ?? follower.remote }

    /// The path that carries the connection now, with its tags and their sources: of plain TCP the one that it is bound to; of
    /// MPTCP the one that its data takes where it is steered, and the one that it came about over where it is not. Nil
    /// where no snapshot has come yet, and where the interface is gone.
    public var currentPath: ConnectionPath? { follower.currentPath }

    /// Calls a closure with what happens from now on, on a thread that must not be held up. What is the case already is
    /// told first.
    package func observe(_ body: @escaping @Sendable (ConnectionEvent) -> Void) { follower.observe(body) }

    /// Closes the channel without TLS's farewell: over a path that carries nothing it would wait for an answer.
    package func closeAtOnce() { channel.closeAtOnce() }

    /// Resets the connection, and closes its channel: nothing that is under way either way is wanted any more. A mere end would
    /// leave an MPTCP socket there for a minute, also one that fell back to TCP, which has its peer go on until the receive
    /// buffer is full (net/mptcp/protocol.c, `__mptcp_close`).
    package func reset() {
        // At once where that is possible: another's close might come first, and be the end that this is to spare.
        guard channel.eventLoop.inEventLoop else { return channel.eventLoop.execute { self.reset() } }
        follower.abort()
        channel.closeAtOnce()
    }

    /// What carries the bytes now.
    public var transport: Transport { follower.transport }

    /// The bytes by path, so far; after the channel has closed, all of them.
    public func transferReport() -> TransferReport { follower.transferReport() }
}

/// An MPTCP connection was without any allowed path for longer than its `pathLossTimeout`. Its channel gets
/// this error, then closes.
public struct PathLossError: Error, Sendable, Hashable, CustomStringConvertible {
    /// How long there was none.
    public var timeout: Duration

    /// `no path for 60.0 s`
    public var description: String { "no path for \(timeout.inSeconds) s" }
}

/// The path of a connection is not allowed any more, the connection could not leave it, and it was to end then
/// (`PathRefusalAction.close`). Its channel gets this error, then closes.
public struct PathNotAllowedError: Error, Sendable, Hashable, CustomStringConvertible {
    /// Which path it was, and why it is not allowed.
    public var refusal: PathRefusal

    /// `wlan0 is not allowed any more: constrained; wwan0 is`
    public var description: String { "\(refusal)" }
}

/// The subflows of an adopted connection can't be steered.
public struct SteeringUnavailableError: Error, Sendable, Hashable, CustomStringConvertible {
    /// What stands in the way.
    public var limit: ControlLimit

    /// `can't be steered: ` and why.
    public var description: String { "can't be steered: \(limit)" }
}

/// What steering may change where a connection can't be steered on its own, because its socket was made elsewhere.
public enum SteeringScope: Sendable, Hashable {
    /// Nothing: such a connection is only observed.
    case connection
    /// The kernel's list of MPTCP endpoints (`ip mptcp endpoint`). That goes for every connection of the network
    /// namespace, other programs' too. What was there before is put back when the last such connection is closed. It
    /// takes CAP_NET_ADMIN.
    case networkNamespace
}

extension Channel {
    /// Runs a closure with the descriptor of the channel's socket, on its event loop.
    ///
    /// - Throws: `ChannelError` where the channel has none.
    func withDescriptor<Value>(_ body: (CInt) throws -> Value) throws -> Value {
        let value = try pipeline.syncOperations.withUnsafeTransportIfAvailable(
            of: NIOBSDSocket.Handle.self, body)
        guard let value else { throw ChannelError.inappropriateOperationForState }
        return value
    }
}
