import Multipath
import MultipathNIO
import NIOCore

func outliveAnHour(
    _ group: any EventLoopGroup, addHandlers: @escaping @Sendable (any Channel) -> EventLoopFuture<Bytes>,
    work:
        @escaping @Sendable (ReconnectionSession<MultipathConnection, Bytes>, inout Int) async throws
        -> ReconnectionStep
) async throws {
    // snippet
    var options = ReconnectionOptions()
    options.budget = ReconnectionBudget(attempts: .max, within: .seconds(3600))
    let size = try await MultipathBootstrap(group: group)
        .configure {
            $0.pathLossTimeout = .seconds(30)  // then the connection ends, and the next one begins
            $0.waitsForPath = true  // which waits for a path …
            $0.connectTimeout = .seconds(3600)  // … for so long
        }
        .withReconnection(
            host: "media.example", port: 80, progress: 0, options: options, channelInitializer: addHandlers,
            body: work)
    // end
    _ = size
}
