public import NIOCore

/// A channel that is connected: what `MultipathBootstrap.connect` returns, and what a `MultipathServerBootstrap`
/// accepts.
public struct ConnectedChannel<Output: Sendable>: Sendable {
    /// The connection, with its events and reports.
    public let connection: MultipathConnection
    /// What the `channelInitializer` returned: mostly a `NIOAsyncChannel`.
    public let output: Output

    /// The connection's channel.
    public var channel: any Channel { connection.channel }
}
