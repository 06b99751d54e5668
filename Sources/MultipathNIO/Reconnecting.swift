public import Multipath
public import NIOCore

/// A connection of `MultipathBootstrap.withReconnection`, with what its initializer returned.
public struct LeasedConnection<Output: Sendable>: Sendable {
    public let connection: MultipathConnection
    public let output: Output

    public var channel: any Channel { connection.channel }
}

/// The connection is given up for another one, or for good. Its channel says so before it closes: an end without
/// a word would look like the peer's.
public struct ConnectionLeft: Error, Sendable {
    public init() {}
}

extension MultipathConnection {
    fileprivate func leave() {
        channel.eventLoop.execute { [channel] in
            channel.pipeline.fireErrorCaught(ConnectionLeft())
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
    ///     host: "media.example", port: 80, progress: 0, initializer: addHTTPHandlers
    /// ) { lease, offset in
    ///     lease.connection.connection.expectsData = true
    ///     return try await lease.connection.output.executeThenClose { inbound, outbound in
    ///         try await outbound.write(request(from: offset))
    ///         for try await bytes in inbound {
    ///             offset += bytes.readableBytes
    ///             lease.madeProgress()
    ///             if lease.isMoved { return .again }
    ///         }
    ///         return .finished(offset)
    ///     }
    /// }
    /// ```
    ///
    /// Errors of SwiftNIO's channels (`ChannelError`, `IOError`) mean that a connection broke, beside what
    /// `options.isBreak` says. MPTCP connections change paths by themselves; they are replaced when they break,
    /// or no path is left.
    ///
    /// The channel of a connection that is left gets the error `ConnectionLeft`, then closes at once, without TLS's
    /// farewell. With `confirmed(by: .tlsHandshake)` the next one's TLS is up before this one is left.
    ///
    /// - Parameters:
    ///   - progress: what the work knows of how far it got; handed from each call to the next.
    ///   - initializer: runs for each connection before its first byte is read.
    ///   - body: the work. One call at a time; it is cancelled when its connection must be left, and its channel
    ///     is closed when it has returned.
    /// - Returns: what the work finished with.
    /// - Throws: what the work throws; `ReconnectionError` when the budget is spent; `CancellationError`.
    public func withReconnection<Output: Sendable, Progress: Sendable, Value: Sendable>(
        host: String, port: Int, progress: Progress, options: ReconnectionOptions = ReconnectionOptions(),
        initializer: @escaping @Sendable (any Channel) -> EventLoopFuture<Output>,
        body:
            @escaping @Sendable (ReconnectionLease<LeasedConnection<Output>>, inout Progress) async throws
            -> ReconnectionStep<Value>
    ) async throws -> Value {
        guard let number = UInt16(exactly: port), number != 0 else {
            throw ConnectionError(invalidPort: port, host: host)
        }
        var options = options
        let isBreak = options.isBreak
        options.isBreak = { $0 is ChannelError || $0 is IOError || isBreak($0) }
        let runner = ReconnectionRunner<LeasedConnection<Output>, Progress, Value>(
            options: options, monitor: connector.monitor, body: body
        ) { route in
            let (connection, output) = try await connect(
                host: host, port: number, configuration.over(route), initializer: initializer)
            return DialedConnection(
                connection: LeasedConnection(connection: connection, output: output),
                interface: connection.establishment?.interface ?? "",
                observe: { connection.follower.observe($0) },
                interrupt: { connection.leave() },
                close: { await connection.close() })
        }
        return try await runner.run(progress)
    }
}
