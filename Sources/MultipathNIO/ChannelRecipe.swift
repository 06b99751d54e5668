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
    var milestone: RaceMilestone?

    init(group: any EventLoopGroup) { self.group = group }

    /// SwiftNIO's own bootstrap, for what has no paths.
    func clientBootstrap(_ configuration: ConnectionConfiguration) -> ClientBootstrap {
        ClientBootstrap(group: group)
            .channelInitializer { prepare($0) ?? $0.eventLoop.makeSucceededVoidFuture() }
            .protocolHandlers(protocolHandlers)
            .connectTimeout(.nanoseconds(configuration.connectTimeout.wholeNanoseconds))
    }

    /// Applies the options, then the bootstrap's initializer.
    /// - Returns: nil where there is nothing to do.
    func prepare(_ channel: any Channel) -> EventLoopFuture<Void>? {
        guard let options else { return initializer?(channel).hop(to: channel.eventLoop) }
        let applied = options.applyAllChannelOptions(to: channel)
        guard let initializer else { return applied }
        return applied.flatMap { initializer(channel) }.hop(to: channel.eventLoop)
    }
}
