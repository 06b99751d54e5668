import Multipath
import NIOCore
import NIOPosix

/// A connection that a channel is being made of, which owns its descriptor from here on.
struct TakenConnection: Sendable {
    let descriptor: CInt
    let follower: ConnectionFollower
    /// How it came about; nil where it still takes part in a race.
    let report: EstablishmentReport?

    /// - Parameter policy: which paths the connection may use, where that is more than its attempt was allowed.
    init(_ socket: consuming ConnectedSocket, _ policy: PathPolicy) throws {
        report = socket.report
        follower = try socket.makeFollower(policy: policy)
        descriptor = socket.takeDescriptor()
    }

    init(_ pending: consuming PendingConnection, _ policy: PathPolicy) throws {
        report = nil
        follower = try pending.makeFollower(policy: policy)
        descriptor = pending.takeDescriptor()
    }
}

/// The one way from a connected socket to a channel: it gets the recipe's options and handlers, becomes active before its
/// first byte is read, and, where the race waits for a milestone, reaches that.
///
/// Only the event loop touches it. One of `open` and `opened` is called, once.
final class OpeningChannel<Output: Sendable>: @unchecked Sendable {
    typealias Completion = @Sendable (Result<ConnectedChannel<Output>, any Error>) -> Void
    private typealias Milestone = (what: RaceMilestone, reached: EventLoopPromise<Void>)

    private let recipe: ChannelRecipe
    private let loop: any EventLoop
    /// Runs last, before the channel is registered. Nil for none: to call it takes three futures.
    private let initializer: (@Sendable (any Channel) -> EventLoopFuture<Output>)?
    private var channel: (any Channel)?
    private var connection: MultipathConnection?
    private var output: Output?
    /// Tells when the milestone is reached, until it stands in the pipeline.
    private var lateObserver: TLSHandshakeHandler?
    private var completion: Completion?
    /// Why the channel is not wanted any more.
    private var abandonment: (any Error)?

    init(
        _ recipe: ChannelRecipe, on loop: any EventLoop,
        _ initializer: @escaping @Sendable (any Channel) -> EventLoopFuture<Output>
    ) {
        self.recipe = recipe
        self.loop = loop
        self.initializer = initializer
    }

    init(_ recipe: ChannelRecipe, on loop: any EventLoop) where Output == Void {
        self.recipe = recipe
        self.loop = loop
        initializer = nil
        output = ()
    }

    // MARK: From any thread

    /// Waits until the channel is open. Where that fails, or the task is cancelled, the channel is closed before this
    /// throws.
    func opened(_ taken: TakenConnection) async throws -> ConnectedChannel<Output> {
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                open({ taken }) { continuation.resume(with: $0) }
            }
        } onCancel: {
            // An initializer may take its time; a cancelled race does not wait for it.
            loop.execute { self.abandon(CancellationError()) }
        }
    }

    /// Opens the channel.
    ///
    /// - Parameters:
    ///   - take: takes the connection, on the loop.
    ///   - completion: called once, on the loop, after the channel was closed where it could not be opened.
    func open(_ take: @escaping @Sendable () throws -> TakenConnection, _ completion: @escaping Completion) {
        loop.execute { [self] in
            do {
                open(try take(), completion)
            } catch {
                completion(.failure(error))
            }
        }
    }

    // MARK: On the loop

    private func open(_ taken: TakenConnection, _ completion: @escaping Completion) {
        self.completion = completion
        let milestone = recipe.milestone.map { ($0, loop.makePromise(of: Void.self)) }
        ClientBootstrap(group: loop).channelInitializer { [self] channel in
            self.channel = channel
            return setUp(channel, taken.follower, milestone)
        }.withConnectedSocket(taken.descriptor).whenComplete { [self] result in
            // The channel is active, and nothing has been read yet.
            switch (result, milestone) {
            case (.failure(let error), let milestone):
                milestone?.1.fail(error)
                fail(error)
            case (.success, nil): finish(taken.report)
            case (.success(let channel), let milestone?):
                milestone.0.future(of: channel)?.cascade(to: milestone.1)
                milestone.1.futureResult.whenComplete { [self] in
                    switch $0 {
                    case .success: finish(nil)
                    case .failure(let error): fail(error)
                    }
                }
            }
        }
        if let abandonment { fail(abandonment) }
    }

    private func setUp(
        _ channel: any Channel, _ follower: ConnectionFollower, _ milestone: Milestone?
    ) -> EventLoopFuture<Void> {
        if let milestone {
            channel.closeFuture.whenComplete { _ in milestone.reached.fail(ClosedUnconfirmed()) }
        }
        return recipe.prepare(channel)?.flatMap { [self] in addHandlers(channel, follower, milestone) }
            ?? addHandlers(channel, follower, milestone)
    }

    private func addHandlers(
        _ channel: any Channel, _ follower: ConnectionFollower, _ milestone: Milestone?
    ) -> EventLoopFuture<Void> {
        do {
            let pipeline = channel.pipeline.syncOperations
            let handlers = recipe.protocolHandlers()
            if !handlers.isEmpty { try pipeline.addHandlers(handlers, position: .first) }
            let connection = try MultipathConnection(channel: channel, follower: follower)
            self.connection = connection
            try ensureOpen()
            let observer = milestone.flatMap { $0.what.handler(for: connection, $0.reached) }
            if let observer, let last = handlers.last {
                try pipeline.addHandler(observer, position: .after(last))
            }
            // Without protocol handlers of the recipe's, the initializer adds those that the observer stands behind.
            if handlers.isEmpty { lateObserver = observer }
            guard let initializer else {
                try addLateObserver(channel)
                return loop.makeSucceededVoidFuture()
            }
            return initializer(channel).hop(to: loop).flatMapThrowing { [self] output in
                self.output = output
                // The initializer, too, may close it.
                try ensureOpen()
                try addLateObserver(channel)
            }
        } catch {
            return loop.makeFailedFuture(error)
        }
    }

    private func addLateObserver(_ channel: any Channel) throws {
        guard let observer = lateObserver else { return }
        lateObserver = nil
        try channel.pipeline.syncOperations.addHandler(observer, position: .last)
    }

    /// A channel that is closed must not be registered.
    private func ensureOpen() throws {
        if connection?.isClosed == true { throw abandonment ?? ChannelError.alreadyClosed }
    }

    private func finish(_ report: EstablishmentReport?) {
        guard let completion, let connection, let output else { return }
        self.completion = nil
        if let report { connection.begin(report) }
        completion(.success(ConnectedChannel(connection: connection, output: output)))
    }

    private func abandon(_ error: any Error) {
        abandonment = error
        fail(error)
    }

    private func fail(_ error: any Error) {
        guard let completion else { return }
        self.completion = nil
        guard let channel else { return completion(.failure(error)) }
        channel.closeAtOnce()
        channel.closeFuture.whenComplete { _ in
            // What the initializer returned lives until here: a NIOAsyncChannel must not go while its channel is open.
            withExtendedLifetime(self) { completion(.failure(error)) }
        }
    }
}

extension ConnectedChannel {
    /// Closes a channel that came second in its race.
    func discard() {
        channel.closeAtOnce()
        channel.closeFuture.whenComplete { _ in withExtendedLifetime(output) {} }
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
