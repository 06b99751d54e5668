public import Multipath
public import NIOCore
import NIOPosix

/// A connection as a SwiftNIO channel, with its events and reports.
///
/// ```swift
/// let connection = try await MultipathConnection.connect(to: "media.example", port: 443) {
///     $0.mode = .handover
///     $0.prohibitedInterfaceTypes = [.cellular]
/// }
/// ```
public final class MultipathConnection: Sendable {
    public let channel: any Channel
    /// How the connection came about; nil for one that a listener accepted.
    public let establishment: EstablishmentReport?
    /// What happens to the connection, in order, to its end. For one consumer.
    public let events: AsyncStream<ConnectionEvent>

    private let meter: ConnectionMeter

    /// On the channel's event loop, before its first byte is read.
    init(channel: any Channel, meter: ConnectionMeter, establishment: EstablishmentReport?) throws {
        try channel.pipeline.syncOperations.addHandler(TransferCounter(meter), position: .first)
        self.channel = channel
        self.meter = meter
        self.establishment = establishment
        let (events, continuation) = AsyncStream.makeStream(of: ConnectionEvent.self)
        self.events = events
        if let establishment {
            continuation.yield(.established(establishment))
            if let reason = establishment.transport.fallbackReason { continuation.yield(.fellBack(reason)) }
        }
        channel.closeFuture.whenComplete { _ in
            // The meter's own descriptor keeps the socket open until here: the peer sees the end only now.
            meter.finish()
            continuation.yield(.closed(meter.report()))
            continuation.finish()
        }
    }

    /// Connects to a host by name or address.
    ///
    /// - Parameters:
    ///   - group: where the channel runs; SwiftNIO's own threads unless given.
    ///   - configure: mode, allowed paths, timeout.
    ///   - initializer: adds handlers before the first byte is read. Handlers that are added later, to
    ///     `channel`, miss what a server says first.
    /// - Throws: `ConnectionError`, which lists every attempt.
    public static func connect(
        to host: String, port: Int, group: any EventLoopGroup = .singletonMultiThreadedEventLoopGroup,
        configure: (inout ConnectionConfiguration) -> Void = { _ in },
        initializer: @escaping @Sendable (any Channel) -> EventLoopFuture<Void> = {
            $0.eventLoop.makeSucceededVoidFuture()
        }
    ) async throws -> MultipathConnection {
        try await MultipathBootstrap(group: group).configure(configure)
            .connect(host: host, port: port, initializer: initializer).connection
    }

    /// Who is at the other end.
    public var remote: IPEndpoint? { establishment?.remote ?? meter.remote }

    /// What carries the bytes now.
    public var transport: Transport { meter.report().transport }

    /// The bytes by path, so far; after the channel has closed, all of them.
    public func transferReport() -> TransferReport { meter.report() }
}

/// What happens to a connection.
public enum ConnectionEvent: Sendable, Hashable {
    case established(EstablishmentReport)
    /// The connection is plain TCP, and why.
    case fellBack(FallbackReason)
    /// The channel has closed. No event follows.
    case closed(TransferReport)
}
