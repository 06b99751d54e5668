import MultipathNIO
import NIOConcurrencyHelpers
import NIOCore
import NIOPosix
import NIOSSL
import NIOTLS
import TestSupport
import Testing

@testable import Multipath

/// TLS through the race, against servers of NIOSSL on loopback. Nothing here is done for NIOSSL: MultipathNIO
/// knows TLS by SwiftNIO's own events.
@Suite("With TLS, MultipathNIO", .needs("openssl"))
struct TLSRaceTests {
    typealias Stream = NIOAsyncChannel<ByteBuffer, ByteBuffer>

    private func context(
        _ certificates: TestCertificates, protocols: [String] = []
    ) throws -> NIOSSLContext {
        var configuration = TLSConfiguration.makeClientConfiguration()
        configuration.trustRoots = .file(certificates.root)
        configuration.applicationProtocols = protocols
        return try NIOSSLContext(configuration: configuration)
    }

    /// A bootstrap that asks for plain TCP only, so that there is one attempt for each address.
    private func bootstrap(
        _ servers: TLSServers, _ context: NIOSSLContext, name: String = TLSServers.name
    ) -> MultipathBootstrap {
        MultipathBootstrap(group: .singletonMultiThreadedEventLoopGroup, connector: servers.connector)
            .configure { $0.protocols = [.tcp] }
            .protocolHandlers {
                // The names of these tests are all valid ones.
                (try? NIOSSLClientHandler(context: context, serverHostname: name)).map { [$0] } ?? []
            }
            .raceUntil(.tlsHandshakeCompleted)
    }

    @Sendable
    private static func wrap(_ channel: any Channel) -> EventLoopFuture<Stream> {
        channel.eventLoop.makeCompletedFuture { try Stream(wrappingChannelSynchronously: channel) }
    }

    private func echo(_ stream: Stream, _ text: String) async throws -> String {
        try await stream.executeThenClose { inbound, outbound in
            try await outbound.write(ByteBuffer(string: text))
            var answer = ByteBuffer()
            for try await var buffer in inbound {
                answer.writeBuffer(&buffer)
                if answer.readableBytes >= text.utf8.count { break }
            }
            return String(buffer: answer)
        }
    }

    @Test("lets a server win whose TLS is up, and not one that only accepts")
    func stalled() async throws {
        let certificates = try await TestCertificates()
        let servers = try await TLSServers(
            .stalls, .answers(certificate: "good"), certificates: certificates)
        let connected = try await bootstrap(servers, context(certificates))
            .connect(host: TLSServers.name, port: servers.port, channelInitializer: Self.wrap)
        let (connection, stream) = (connected.connection, connected.output)
        let report = try #require(connection.establishment)
        #expect(report.remote.address.description == TLSServers.address(1))
        #expect(report.attempts.map(\.outcome) == [.cancelled, .won])
        #expect(report.attempts.allSatisfy { $0.connectedAfter != nil })
        #expect(try await echo(stream, "hello") == "hello")
        await servers.close()
    }

    @Test("loses no time on a loser's farewell, and closes its channel, though its TLS is up")
    func loser() async throws {
        let certificates = try await TestCertificates()
        let servers = try await TLSServers(
            .goesDeaf, .answers(certificate: "good"), certificates: certificates)
        let made = NIOLockedValueBox<[any Channel]>([])
        let never = MultiThreadedEventLoopGroup.singleton.any().makePromise(of: Void.self)
        let started = ContinuousClock.now
        let connected = try await bootstrap(servers, context(certificates))
            .raceUntil(
                RaceMilestone { channel in
                    made.withLockedValue { $0.append(channel) }
                    return channel.remoteAddress?.ipAddress == TLSServers.address(0)
                        ? never.futureResult : channel.eventLoop.makeSucceededVoidFuture()
                }
            )
            .connect(host: TLSServers.name, port: servers.port) { $0.eventLoop.makeSucceededVoidFuture() }
        let connection = connected.connection
        #expect(connection.establishment?.attempts.map(\.outcome) == [.cancelled, .won])
        // NIOSSL would wait 5 s for the other end of a channel that is closed in the usual way.
        #expect(ContinuousClock.now - started < .seconds(4))
        never.succeed()
        let channels = made.withLockedValue { $0 }
        #expect(channels.count == 2)
        try await channels[0].closeFuture.get()
        #expect(channels[1] === connection.channel)
        #expect(connection.channel.isActive)
        connection.channel.close(promise: nil)
        await servers.close()
    }

    @Test("goes on past a certificate it does not trust, and says in TLS's words what was wrong")
    func untrusted() async throws {
        let certificates = try await TestCertificates()
        let servers = try await TLSServers(
            .answers(certificate: "stranger"), .hangsUp, .answers(certificate: "good"),
            certificates: certificates)
        let connected = try await bootstrap(servers, context(certificates))
            .connect(host: TLSServers.name, port: servers.port, channelInitializer: Self.wrap)
        let (connection, stream) = (connected.connection, connected.output)
        let attempts = try #require(connection.establishment?.attempts)
        #expect(attempts.map { "\($0)".contains("CERTIFICATE_VERIFY_FAILED") } == [true, false, false])
        #expect(attempts.last?.outcome == .won)
        #expect(try await echo(stream, "hello") == "hello")
        await servers.close()
    }

    @Test("refuses a wrong name, an expired certificate and an unknown root, and lists each attempt")
    func refused() async throws {
        let certificates = try await TestCertificates()
        for (kind, name, words) in [
            ("good", "other.example", "other.example"), ("expired", TLSServers.name, "VERIFY_FAILED"),
            ("stranger", TLSServers.name, "VERIFY_FAILED"),
        ] {
            let servers = try await TLSServers(.answers(certificate: kind), certificates: certificates)
            let error = await #expect(throws: ConnectionError.self) {
                try await bootstrap(servers, context(certificates), name: name)
                    .connect(host: TLSServers.name, port: servers.port).get()
            }
            #expect(error?.code == .allAttemptsFailed)
            #expect(error?.attempts.count == 1)
            #expect(error.map { "\($0)".contains(words) } == true, "\(kind): \(String(describing: error))")
            await servers.close()
        }
    }

    @Test("gives up at its timeout where no server's TLS comes up, and leaves no channel open")
    func timeout() async throws {
        let certificates = try await TestCertificates()
        let servers = try await TLSServers(.stalls, .stalls, certificates: certificates)
        let made = NIOLockedValueBox<[any Channel]>([])
        let error = await #expect(throws: ConnectionError.self) {
            try await bootstrap(servers, context(certificates)).connectTimeout(.seconds(1))
                .channelInitializer { channel in
                    made.withLockedValue { $0.append(channel) }
                    return channel.eventLoop.makeSucceededVoidFuture()
                }
                .connect(host: TLSServers.name, port: servers.port, channelInitializer: Self.wrap)
        }
        #expect(error?.code == .timedOut)
        #expect(error?.attempts.map(\.outcome) == [.cancelled, .cancelled])
        for channel in made.withLockedValue({ $0 }) { try await channel.closeFuture.get() }
        await servers.close()
    }

    @Test("ends at once when its task is cancelled, though an initializer never ends")
    func cancellation() async throws {
        let certificates = try await TestCertificates()
        let servers = try await TLSServers(.stalls, certificates: certificates)
        let made = NIOLockedValueBox<(any Channel)?>(nil)
        let forever = MultiThreadedEventLoopGroup.singleton.any().makePromise(of: Void.self)
        let bootstrap = try bootstrap(servers, context(certificates)).channelInitializer { channel in
            made.withLockedValue { $0 = channel }
            return forever.futureResult
        }
        let port = servers.port
        let task = Task {
            try await bootstrap.connect(host: TLSServers.name, port: port) {
                $0.eventLoop.makeSucceededVoidFuture()
            }
        }
        try await Program.wait("the initializer") { made.withLockedValue { $0 } != nil }
        task.cancel()
        let error = await #expect(throws: ConnectionError.self) { try await task.value }
        #expect(error?.code == .cancelled)
        try await made.withLockedValue { $0 }?.closeFuture.get()
        forever.succeed()
        await servers.close()
    }

    @Test("tells which protocol was agreed on, though a negotiation handler takes the event for itself")
    func negotiation() async throws {
        let certificates = try await TestCertificates()
        let servers = try await TLSServers(
            .answers(certificate: "good", protocols: ["h2", "http/1.1"]), certificates: certificates)
        let connected = try await bootstrap(
            servers, context(certificates, protocols: ["http/1.1"])
        )
        .connect(host: TLSServers.name, port: servers.port) { channel in
            let negotiated = channel.eventLoop.makePromise(of: ALPNResult.self)
            return channel.eventLoop.makeCompletedFuture {
                try channel.pipeline.syncOperations.addHandler(
                    ApplicationProtocolNegotiationHandler { result, channel in
                        negotiated.succeed(result)
                        return channel.eventLoop.makeSucceededVoidFuture()
                    })
                return negotiated.futureResult
            }
        }
        let (connection, negotiated) = (connected.connection, connected.output)
        #expect(connection.applicationProtocol == "http/1.1")
        #expect(try await negotiated.get() == .negotiated("http/1.1"))
        try await connection.channel.close()
        await servers.close()
    }

    @Test("works in a NIOClientTCPBootstrap with NIOSSL's provider")
    func universal() async throws {
        let certificates = try await TestCertificates()
        let servers = try await TLSServers(
            .stalls, .answers(certificate: "good"), certificates: certificates)
        let bootstrap = try NIOClientTCPBootstrap(
            MultipathBootstrap(group: .singletonMultiThreadedEventLoopGroup, connector: servers.connector)
                .raceUntil(.tlsHandshakeCompleted),
            tls: NIOSSLClientTLSProvider(
                context: context(certificates), serverHostname: TLSServers.name)
        )
        .enableTLS().connectTimeout(.seconds(20)).channelOption(.maxMessagesPerRead, value: 7)
        .channelConvenienceOptions([.allowRemoteHalfClosure])
        let channel = try await bootstrap.connect(host: TLSServers.name, port: servers.port).get()
        #expect(channel.remoteAddress?.ipAddress == TLSServers.address(1))
        #expect(try await channel.getOption(.maxMessagesPerRead).get() == 7)
        #expect(try await channel.getOption(.allowRemoteHalfClosure).get())
        #expect(try await channel.nioSSL_tlsVersion().get() == .tlsv13)
        // Not awaited: with half-closure on, NIOSSL waits 5 s for the other end's farewell.
        channel.close(promise: nil)
        await servers.close()
    }
}
