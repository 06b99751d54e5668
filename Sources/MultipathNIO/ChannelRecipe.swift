import Multipath
import NIOCore
import NIOPosix

/// What a bootstrap makes of a connected socket: its channel with options and handlers.
struct ChannelRecipe: Sendable {
    var group: any EventLoopGroup
    /// Nil for none: to apply no options takes a future, too.
    var options: ChannelOptions.Storage?
    var initializer: (@Sendable (any Channel) -> EventLoopFuture<Void>)?
    var protocolHandlers: @Sendable () -> [any ChannelHandler] = { [] }
    var confirmation: RaceMilestone?

    init(group: any EventLoopGroup) { self.group = group }

    /// SwiftNIO's own bootstrap, for what has no paths.
    func clientBootstrap(_ configuration: ConnectionConfiguration) -> ClientBootstrap {
        ClientBootstrap(group: group)
            .channelInitializer { prepare($0) ?? $0.eventLoop.makeSucceededVoidFuture() }
            .protocolHandlers(protocolHandlers)
            .connectTimeout(.nanoseconds(configuration.connectTimeout.wholeNanoseconds))
    }

    /// - Returns: nil where there is nothing to do.
    private func prepare(_ channel: any Channel) -> EventLoopFuture<Void>? {
        guard let options else { return initializer?(channel).hop(to: channel.eventLoop) }
        let applied = options.applyAllChannelOptions(to: channel)
        guard let initializer else { return applied }
        return applied.flatMap { initializer(channel) }.hop(to: channel.eventLoop)
    }

    /// Opens the channel of a connection that has won its race, and begins the connection, in one step of the
    /// channel's event loop.
    ///
    /// - Parameters:
    ///   - loop: the channel's, which this is called on.
    ///   - completion: called on that loop.
    func open<Output: Sendable>(
        _ won: WonConnection, on loop: any EventLoop,
        _ initializer: @escaping @Sendable (any Channel) -> EventLoopFuture<Output>,
        completion:
            @escaping @Sendable (Result<ConnectedChannel<Output>, any Error>) -> Void
    ) {
        let output = NIOLoopBoundBox<Output?>(nil, eventLoop: loop)
        open(won, on: loop) { connection in
            initializer(connection.channel).hop(to: loop).flatMapThrowing { made in
                // The initializer, too, may close it.
                if connection.isClosed { throw ChannelError.alreadyClosed }
                output.value = made
            }
        } completion: { result in
            completion(
                result.map { connection in
                    guard let output = output.value else { preconditionFailure("an open channel is made") }
                    return ConnectedChannel(connection: connection, output: output)
                })
        }
    }

    /// - Parameter last: what remains to be done before the channel is registered; nil for nothing.
    func open(
        _ won: WonConnection, on loop: any EventLoop,
        last: (@Sendable (MultipathConnection) -> EventLoopFuture<Void>)? = nil,
        completion: @escaping @Sendable (Result<MultipathConnection, any Error>) -> Void
    ) {
        let made = NIOLoopBoundBox<MultipathConnection?>(nil, eventLoop: loop)
        ClientBootstrap(group: loop).channelInitializer { channel in
            @Sendable func finish() -> EventLoopFuture<Void> {
                do {
                    let handlers = protocolHandlers()
                    if !handlers.isEmpty {
                        try channel.pipeline.syncOperations.addHandlers(handlers, position: .first)
                    }
                    let connection = try MultipathConnection(
                        channel: channel, follower: won.follower)
                    // A channel that is closed must not be registered.
                    if connection.isClosed { throw ChannelError.alreadyClosed }
                    made.value = connection
                    return last?(connection) ?? loop.makeSucceededVoidFuture()
                } catch {
                    return loop.makeFailedFuture(error)
                }
            }
            return prepare(channel)?.flatMap(finish) ?? finish()
        }.withConnectedSocket(won.descriptor).whenComplete { result in
            completion(
                result.map { _ in
                    guard let connection = made.value else { preconditionFailure("an open channel is made") }
                    // The channel is active, and nothing has been read yet.
                    connection.begin(won.report)
                    return connection
                })
        }
    }

    /// Opens a channel that is to be confirmed.
    ///
    /// - Parameter descriptor: the channel becomes its owner.
    func open<Output: Sendable>(
        _ descriptor: CInt, _ follower: ConnectionFollower,
        _ initializer: @escaping @Sendable (any Channel) -> EventLoopFuture<Output>
    ) -> OpeningChannel<Output> {
        let loop = group.next()
        let channel = loop.makePromise(of: (any Channel).self)
        let prepared = loop.makePromise(of: PreparedChannel<Output>.self)
        let opened = ClientBootstrap(group: loop).channelInitializer { made in
            channel.succeed(made)
            let future = setUp(made, follower, initializer)
            future.cascade(to: prepared)
            return future.map { _ in }
        }.withConnectedSocket(descriptor)
        opened.whenFailure { error in
            channel.fail(error)
            prepared.fail(error)
        }
        return OpeningChannel(
            channel: channel.futureResult,
            prepared: opened.flatMap { channel in
                // Now that the channel is active, and in the same step, so that nothing has been read yet.
                prepared.futureResult.map { prepared in
                    confirmation?.future(of: channel)?.cascade(to: prepared.confirmation)
                    return prepared
                }
            })
    }

    private func setUp<Output: Sendable>(
        _ channel: any Channel, _ follower: ConnectionFollower,
        _ initializer: @escaping @Sendable (any Channel) -> EventLoopFuture<Output>
    ) -> EventLoopFuture<PreparedChannel<Output>> {
        let confirmed = channel.eventLoop.makePromise(of: Void.self)
        let isClosed = NIOLoopBoundBox(false, eventLoop: channel.eventLoop)
        channel.closeFuture.whenComplete { _ in
            isClosed.value = true
            confirmed.fail(ClosedUnconfirmed())
        }
        let ready = prepare(channel) ?? channel.eventLoop.makeSucceededVoidFuture()
        return ready.flatMapThrowing {
            let pipeline = channel.pipeline.syncOperations
            let handlers = protocolHandlers()
            try pipeline.addHandlers(handlers, position: .first)
            let connection = try MultipathConnection(
                channel: channel, follower: follower)
            if let last = handlers.last, let handler = confirmation?.handler(for: connection, confirmed) {
                try pipeline.addHandler(handler, position: .after(last))
            }
            return (connection, handlers.isEmpty)
        }.flatMap { (connection: MultipathConnection, isWithoutProtocol: Bool) in
            initializer(channel).hop(to: channel.eventLoop).flatMapThrowing { output in
                // Closed because its race was over; a channel that is closed must not be registered.
                if isClosed.value { throw ClosedUnconfirmed() }
                if isWithoutProtocol, let handler = confirmation?.handler(for: connection, confirmed) {
                    try channel.pipeline.syncOperations.addHandler(handler, position: .last)
                }
                return PreparedChannel(connection: connection, output: output, confirmation: confirmed)
            }
        }
    }
}

/// A connection that has won its race, and is to become a channel.
final class WonConnection: Sendable {
    /// Whoever opens the channel becomes its owner.
    let descriptor: CInt
    let report: EstablishmentReport
    let follower: ConnectionFollower

    init(_ socket: consuming ConnectedSocket, _ policy: PathPolicy) throws {
        report = socket.report
        follower = try socket.makeFollower(policy: policy)
        descriptor = socket.takeDescriptor()
    }
}

/// A channel that a recipe is making.
struct OpeningChannel<Output: Sendable>: Sendable {
    let channel: EventLoopFuture<any Channel>
    let prepared: EventLoopFuture<PreparedChannel<Output>>

    /// Waits until it is confirmed. Where that fails, or the task is cancelled, the channel is closed before
    /// this throws.
    func confirmed() async throws -> PreparedChannel<Output> {
        let cancelled = channel.eventLoop.makePromise(of: Void.self)
        let confirmed = prepared.flatMap { prepared in prepared.confirmation.futureResult.map { prepared } }
        // An initializer may take its time; the cancelled race does not wait for it.
        let first = channel.eventLoop.makePromise(of: PreparedChannel<Output>.self)
        confirmed.cascade(to: first)
        cancelled.futureResult.cascadeFailure(to: first)
        do {
            let prepared = try await withTaskCancellationHandler {
                try await first.futureResult.get()
            } onCancel: {
                cancelled.fail(CancellationError())
            }
            cancelled.succeed()
            return prepared
        } catch {
            cancelled.succeed()
            // What the initializer returned has to live until its channel has closed: a NIOAsyncChannel must
            // not go while it is open.
            prepared.whenSuccess { $0.discard() }
            if let channel = try? await channel.get() {
                channel.closeAtOnce()
                try? await channel.closeFuture.get()
            }
            throw error
        }
    }
}

/// A channel with all its handlers.
struct PreparedChannel<Output: Sendable>: Sendable {
    let connection: MultipathConnection
    let output: Output
    let confirmation: EventLoopPromise<Void>

    /// Closes a channel that nobody wants.
    func discard() {
        connection.channel.closeAtOnce()
        connection.channel.closeFuture.whenComplete { _ in withExtendedLifetime(output) {} }
    }
}

extension Channel {
    /// Closes without a farewell: TLS that is up says goodbye first, and waits seconds for an answer that may
    /// never come. The race's result would wait with it.
    func closeAtOnce() {
        eventLoop.execute {
            guard let first = try? self.pipeline.syncOperations.context(handlerType: TransferCounter.self)
            else {
                return self.close(promise: nil)
            }
            first.close(promise: nil)
        }
    }
}

/// The peer closed a connection that was not yet confirmed.
struct ClosedUnconfirmed: Error, CustomStringConvertible {
    var description: String { "the connection was closed before it was confirmed" }
}
