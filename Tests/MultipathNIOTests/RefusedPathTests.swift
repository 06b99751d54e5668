import LinuxNet
import NIOCore
import NIOPosix
import TestSupport
import Testing

@testable import Multipath
@testable import MultipathNIO

@Suite("A channel whose path its rules refuse")
struct RefusedPathTests {
    private final class Errors: ChannelInboundHandler, Sendable {
        typealias InboundIn = ByteBuffer
        let caught = Locked<[any Error]>([])
        func errorCaught(context: ChannelHandlerContext, error: any Error) {
            caught.withLock { $0.append(error) }
        }
    }

    @Test("gets an error that says why, then closes, where that was asked for")
    func closes() async throws {
        let group = MultiThreadedEventLoopGroup.singleton
        let server = try await ServerBootstrap(group: group).bind(host: "127.0.0.1", port: 0).get()
        let monitor = PathMonitor()
        let errors = Errors()
        let connection = try await MultipathBootstrap(group: group, connector: Connector(monitor: monitor))
            .configure {
                $0.protocols = [.tcp]
                $0.allowsConstrainedPaths = false
                $0.whenPathIsRefused = .close
            }
            .connect(host: "127.0.0.1", port: try #require(server.localAddress?.port)) { channel in
                channel.pipeline.addHandler(errors)
            }.connection
        #expect(connection.currentPath?.id == "lo")
        var snapshot = try await monitor.currentPath()
        for place in snapshot.excluded.indices where snapshot.excluded[place].interface.name == "lo" {
            snapshot.excluded[place].interface.constrained = Verdict(true, .settings)
        }
        snapshot.generation += 1
        let next = snapshot
        EventThread.shared.submit { monitor.lifetime.channel.publish(next) }
        try await connection.channel.closeFuture.get()
        let caught = errors.caught.withLock { $0 }
        let refusal = PathRefusal(path: "lo", reason: .constrained)
        #expect(caught.first as? PathNotAllowedError == PathNotAllowedError(refusal: refusal), "\(caught)")
        var told: [ConnectionEvent] = []
        for await event in connection.events { told.append(event) }
        #expect(told.contains(.pathNotAllowed(refusal)), "\(told)")
        try await server.close()
    }
}
