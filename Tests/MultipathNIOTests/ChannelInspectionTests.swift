import MultipathNIO
import NIOCore
import NIOPosix
import Testing

@testable import Multipath

@Suite("A look at a channel that was opened elsewhere")
struct ChannelInspectionTests {
    private func server() async throws -> any Channel {
        try await ServerBootstrap(group: .singletonMultiThreadedEventLoopGroup)
            .bind(host: "127.0.0.1", port: 0).get()
    }

    @Test("tells TCP that never asked for MPTCP from TCP whose peer does not speak it")
    func tcp() async throws {
        let server = try await server()
        let address = try #require(server.localAddress)
        for (isAsked, reason) in [(false, FallbackReason.disabled), (true, .peer)] {
            let channel = try await ClientBootstrap(group: .singletonMultiThreadedEventLoopGroup)
                .enableMPTCP(isAsked).connect(to: address).get()
            let inspection = try await ChannelInspection(of: channel)
            #expect(inspection.transport == .tcp(fallback: reason))
            #expect(inspection.paths.map(\.path) == ["lo"])
            #expect(
                "\(inspection)"
                    == "tcp (\(reason.rawValue)) to \(inspection.remote?.description ?? ""): lo 0 bytes sent, 0 received"
            )
            try await channel.close()
        }
        try await server.close()
    }

    @Test("tells MPTCP, and the bytes of each path")
    func mptcp() async throws {
        let listener = try await MultipathServerBootstrap().bind(host: "127.0.0.1", port: 0) {
            $0.eventLoop.makeSucceededVoidFuture()
        }
        let channel = try await ClientBootstrap(group: .singletonMultiThreadedEventLoopGroup)
            .enableMPTCP(true).connect(host: "127.0.0.1", port: Int(listener.endpoint.port)).get()
        try await channel.writeAndFlush(ByteBuffer(repeating: 0, count: 1000))
        let inspection = try await ChannelInspection(of: channel)
        #expect(inspection.transport == .mptcp)
        #expect(inspection.paths.map(\.path) == ["lo"])
        #expect(inspection.paths.map(\.bytesSent) == [1000])
        #expect(inspection.remote == listener.endpoint)
        try await channel.close()
        try await listener.executeThenClose { _ in }
    }

    @Test("says when a channel is closed, or stands on no socket of TCP")
    func errors() async throws {
        let server = try await server()
        let channel = try await ClientBootstrap(group: .singletonMultiThreadedEventLoopGroup)
            .connect(to: try #require(server.localAddress)).get()
        try await channel.close()
        await #expect(throws: ChannelInspectionError.closed) { _ = try await ChannelInspection(of: channel) }
        try await server.close()
        let datagrams = try await DatagramBootstrap(group: .singletonMultiThreadedEventLoopGroup)
            .bind(host: "127.0.0.1", port: 0).get()
        await #expect(throws: ChannelInspectionError.noSocket) {
            _ = try await ChannelInspection(of: datagrams)
        }
        try await datagrams.close()
    }
}
