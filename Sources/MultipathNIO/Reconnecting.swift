public import Multipath
public import NIOCore

/// The connection is given up for another one, or for good. Its channel gets this error before it closes: an end
/// without an error would look like the peer's.
public struct ConnectionReplacedError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The error, for tests.
    public init() {}

    public var description: String { "the connection was given up for another one, or for good" }
}

extension MultipathConnection {
    fileprivate func leave() {
        channel.eventLoop.execute { [channel] in
            channel.pipeline.fireErrorCaught(ConnectionReplacedError())
            channel.closeAtOnce()
        }
    }

    /// Closes the channel with TLS's farewell, where it has one to say. The peer's is not waited for long: the
    /// next connection's user waits meanwhile.
    fileprivate func close() async {
        channel.close(promise: nil)
        let patience = channel.eventLoop.scheduleTask(in: .milliseconds(250)) { [channel] in
            channel.closeAtOnce()
        }
        try? await channel.closeFuture.get()
        patience.cancel()
    }
}

extension MultipathBootstrap {
    /// Does a client's work on one connection after another, until it is done: each next one is opened before
    /// the one before is given up, as soon as that one's path fails or a better path is there.
    ///
    /// ```swift
    /// let size = try await MultipathBootstrap(group: group).withReconnection(
    ///     host: "media.example", port: 80, progress: 0, channelInitializer: addHTTPHandlers
    /// ) { session, offset in
    ///     session.connection.expectsData = true
    ///     var position = offset
    ///     defer { offset = position }
    ///     return try await session.output.executeThenClose { inbound, outbound in
    ///         try await outbound.write(request(from: position))
    ///         for try await bytes in inbound {
    ///             position += bytes.readableBytes
    ///             session.madeProgress()
    ///             if session.shouldMigrate { return .reconnect }
    ///         }
    ///         return .finished
    ///     }
    /// }
    /// ```
    ///
    /// Errors of SwiftNIO's channels (`ChannelError`, `IOError`) mean that a connection broke, beside what
    /// `options.isBreak` says. MPTCP connections change paths by themselves; they are replaced when they break,
    /// or no path is left.
    ///
    /// The channel of a connection that is left gets a `ConnectionReplacedError`, then closes at once, without TLS's
    /// farewell. With `raceUntil(.tlsHandshakeCompleted)` the next one's TLS is up before this one is left.
    ///
    /// - Parameters:
    ///   - host: a name or an address.
    ///   - port: from 1 to 65535.
    ///   - progress: what the work knows of how far it got, and in the end its result; handed from each call to the
    ///     next.
    ///   - options: the budget, the pauses between attempts, and which errors mean a broken connection.
    ///   - channelInitializer: runs for each connection before its first byte is read.
    ///   - body: the work. One call at a time; it is cancelled when its connection must be left, and its channel
    ///     is closed when it has returned.
    /// - Returns: the progress as the work left it when it had finished.
    /// - Throws: what the work throws; `ReconnectionError` when the budget is spent; `CancellationError`.
    public func withReconnection<Output: Sendable, Progress: Sendable>(
        host: String, port: Int, progress: Progress, options: ReconnectionOptions = ReconnectionOptions(),
        channelInitializer: @escaping @Sendable (any Channel) -> EventLoopFuture<Output>,
        body:
            @escaping @Sendable (ReconnectionSession<MultipathConnection, Output>, inout Progress)
            async throws
            -> ReconnectionStep
    ) async throws -> Progress {
        // Not worth a budget of attempts.
        guard (1...65_535).contains(port) else {
            throw ConnectionError(invalidPort: port, host: host)
        }
        var options = options
        let isBreak = options.isBreak
        options.isBreak = { $0 is ChannelError || $0 is IOError || isBreak($0) }
        let runner = ReconnectionRunner<MultipathConnection, Output, Progress>(
            options: options, monitor: connector.monitor, body: body
        ) { route in
            let connected = try await connect(
                host: host, port: port, configuration.over(route), channelInitializer)
            let connection = connected.connection
            return DialedConnection(
                connection: connection, output: connected.output,
                path: connection.establishment?.path ?? "",
                observe: { connection.follower.observe($0) },
                interrupt: { connection.leave() },
                close: { await connection.close() })
        }
        return try await runner.run(progress)
    }
}
