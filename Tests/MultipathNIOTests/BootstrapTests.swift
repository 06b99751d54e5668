import Foundation
import MultipathNIO
import NIOConcurrencyHelpers
import NIOCore
import NIOPosix
import TestSupport
import Testing

@testable import Multipath

/// What existing code asks of a bootstrap, without TLS.
@Suite("MultipathBootstrap")
struct BootstrapTests {
    private func server(_ bind: (ServerBootstrap) -> EventLoopFuture<any Channel>) async throws -> any Channel
    {
        try await bind(ServerBootstrap(group: .singletonMultiThreadedEventLoopGroup)).get()
    }

    private let bootstrap = MultipathBootstrap(group: .singletonMultiThreadedEventLoopGroup)

    /// Writes down the order in which handlers stand and channels are made.
    private final class Marker: ChannelInboundHandler, Sendable {
        typealias InboundIn = ByteBuffer
    }

    @Test("puts protocol handlers before the initializer's, and the last initializer counts")
    func handlers() async throws {
        let server = try await server { $0.bind(host: "127.0.0.1", port: 0) }
        let channel =
            try await bootstrap
            .channelInitializer { $0.pipeline.addHandler(Marker(), name: "replaced") }
            .channelInitializer { $0.pipeline.addHandler(Marker(), name: "own") }
            .protocolHandlers { [Marker()] }
            .connect(host: "127.0.0.1", port: try #require(server.localAddress?.port)).get()
        let first = try await channel.pipeline.context(handlerType: Marker.self).map(\.name).get()
        #expect(first != "own")
        _ = try await channel.pipeline.context(name: "own").map(\.name).get()
        await #expect(throws: ChannelPipelineError.self) {
            try await channel.pipeline.context(name: "replaced").map(\.name).get()
        }
        try await channel.close()
        try await server.close()
    }

    @Test("is a value: a changed copy leaves the original as it was")
    func copies() async throws {
        let server = try await server { $0.bind(host: "127.0.0.1", port: 0) }
        let port = try #require(server.localAddress?.port)
        _ = bootstrap.channelOption(.autoRead, value: false).connectTimeout(.nanoseconds(1))
        let channel = try await bootstrap.connect(host: "127.0.0.1", port: port).get()
        #expect(try await channel.getOption(.autoRead).get())
        try await channel.close()
        try await server.close()
    }

    @Test("connects to a socket address of IPv4 and of IPv6", arguments: ["127.0.0.1", "::1"])
    func socketAddress(_ host: String) async throws {
        let server = try await server { $0.bind(host: host, port: 0) }
        let address = try #require(server.localAddress)
        let channel = try await bootstrap.connect(to: address).get()
        #expect(channel.remoteAddress == address)
        try await channel.close()
        try await server.close()
    }

    @Test("gives its future on the channel's own loop, where the pipeline may be touched at once")
    func loop() async throws {
        let server = try await server { $0.bind(host: "127.0.0.1", port: 0) }
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 3)
        let future = MultipathBootstrap(group: group)
            .connect(host: "127.0.0.1", port: try #require(server.localAddress?.port))
            .flatMapThrowing { channel in
                try channel.pipeline.syncOperations.addHandler(Marker())
                return channel
            }
        let channel = try await future.get()
        #expect(channel.eventLoop === future.eventLoop)
        try await channel.close()
        try await server.close()
        try await group.shutdownGracefully()
    }

    @Test("connects to a Unix domain socket, by path and by address, with its own handlers")
    func unixDomain() async throws {
        let path = "\(FileManager.default.temporaryDirectory.path)/multipath-\(UUID().uuidString.prefix(8))"
        let server = try await server { $0.bind(unixDomainSocketPath: path, cleanupExistingSocketFile: true) }
        let marked = bootstrap.channelInitializer { $0.pipeline.addHandler(Marker(), name: "own") }
        for channel in [
            try await marked.connect(unixDomainSocketPath: path).get(),
            try await marked.connect(to: SocketAddress(unixDomainSocketPath: path)).get(),
        ] {
            _ = try await channel.pipeline.context(name: "own").map(\.name).get()
            try await channel.close()
        }
        try await server.close()
        try? FileManager.default.removeItem(atPath: path)
    }

    @Test("takes a socket that was connected elsewhere")
    func connectedSocket() async throws {
        let server = try await server { $0.bind(host: "127.0.0.1", port: 0) }
        let socket = try await Connector.shared.connect(
            host: "127.0.0.1", port: try #require(server.localAddress?.port))
        let channel = try await bootstrap.withConnectedSocket(socket.takeDescriptor()).get()
        #expect(channel.isActive)
        try await channel.close()
        try await server.close()
    }

    @Test("waits for a confirmation of the caller's own, whose failure lets the others go on")
    func ownConfirmation() async throws {
        let certificates = try await TestCertificates()
        let servers = try await TLSServers(.stalls, .stalls, .stalls, certificates: certificates)
        let asked = NIOLockedValueBox<[String]>([])
        let never = MultiThreadedEventLoopGroup.singleton.any().makePromise(of: Void.self)
        let channel = try await MultipathBootstrap(
            group: .singletonMultiThreadedEventLoopGroup, connector: servers.connector
        )
        .configure { $0.protocols = [.tcp] }
        .raceUntil(
            RaceMilestone { channel in
                let address = channel.remoteAddress?.ipAddress ?? ""
                asked.withLockedValue { $0.append(address) }
                switch address {
                case TLSServers.address(0): return channel.eventLoop.makeFailedFuture(ChannelError.eof)
                // It is closed, and its future never ends.
                case TLSServers.address(1):
                    channel.close(promise: nil)
                    return never.futureResult
                default: return channel.eventLoop.makeSucceededVoidFuture()
                }
            }
        )
        .connect(host: TLSServers.name, port: servers.port).get()
        #expect(channel.remoteAddress?.ipAddress == TLSServers.address(2))
        #expect(asked.withLockedValue { $0 } == [0, 1, 2].map(TLSServers.address))
        never.succeed()
        try await channel.close()
        await servers.close()
    }
}
