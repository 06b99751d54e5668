import Foundation
import Multipath
import MultipathNIO
import NIOConcurrencyHelpers
import NIOCore
import NIOPosix
import NIOSSL
import TestSupport
import Testing

/// A download by HTTPS from a real nginx, over two paths of which one goes silent.
@Suite(
    "A TLS connection that is followed", .needsNamespaces, .needs("openssl", "nginx", "nft", "unshare"))
struct TLSReconnectionTests {
    typealias Stream = NIOAsyncChannel<ByteBuffer, ByteBuffer>

    private static let size = 1_000_000

    /// Starts nginx with a file of `size` zeros, which it gives out in two seconds.
    private func nginx(
        _ server: borrowing TwoPathServer, _ certificates: TestCertificates
    ) async throws -> Running {
        let folder = certificates.folder.path
        try Data(count: Self.size).write(to: certificates.folder.appendingPathComponent("file"))
        try """
        user root; daemon off; master_process off; pid \(folder)/pid; error_log \(folder)/error.log;
        events { worker_connections 64; }
        http {
            access_log off; root \(folder);
            client_body_temp_path \(folder)/a; proxy_temp_path \(folder)/b;
            fastcgi_temp_path \(folder)/c; uwsgi_temp_path \(folder)/d; scgi_temp_path \(folder)/e;
            server {
                listen 443 ssl; limit_rate 500k;
                ssl_certificate \(certificates.chain("good")); ssl_certificate_key \(certificates.key);
            }
        }
        """.write(to: certificates.folder.appendingPathComponent("conf"), atomically: true, encoding: .utf8)
        let nginx = try server.start("nginx", "-c", "\(folder)/conf", "-e", "\(folder)/error.log")
        try await Program.wait("nginx: \(nginx.errorText)") {
            let report = try? await Connector().connect(host: "203.0.113.1", port: 443).report
            return report != nil
        }
        return nginx
    }

    /// A bootstrap whose connections win their races by TLS.
    private func bootstrap(
        _ certificates: TestCertificates, _ opened: @escaping @Sendable () -> Void
    ) throws -> MultipathBootstrap {
        var configuration = TLSConfiguration.makeClientConfiguration()
        configuration.trustRoots = .file(certificates.root)
        let tls = try NIOSSLClientTLSProvider<MultipathBootstrap>(
            context: NIOSSLContext(configuration: configuration), serverHostname: "server.example")
        let resolver = StaticResolver(["server.example": [IPAddress("203.0.113.1")!]])
        return tls.enableTLS(
            MultipathBootstrap(
                group: .singletonMultiThreadedEventLoopGroup, connector: Connector(resolver: resolver)
            )
            .configure { $0.protocols = [.tcp] }
            .raceUntil(.tlsHandshakeCompleted)
            .channelInitializer { channel in
                opened()
                return channel.eventLoop.makeSucceededVoidFuture()
            })
    }

    @Sendable
    private static func wrap(_ channel: any Channel) -> EventLoopFuture<Stream> {
        channel.eventLoop.makeCompletedFuture { try Stream(wrappingChannelSynchronously: channel) }
    }

    /// Asks for the rest of the file, and reads what comes.
    private static func download(
        _ session: ReconnectionSession<MultipathConnection, Stream>, _ count: inout Int,
        _ got: @Sendable (Int) -> Void
    ) async throws {
        var received = count
        defer { count = received }
        session.connection.expectsData = true
        try await session.output.executeThenClose { inbound, outbound in
            try await outbound.write(
                ByteBuffer(
                    string: "GET /file HTTP/1.1\r\nHost: server.example\r\nRange: bytes=\(received)-\r\n\r\n"
                ))
            var header: ByteBuffer? = ByteBuffer()
            for try await var bytes in inbound {
                if header != nil {
                    header?.writeBuffer(&bytes)
                    let text = String(buffer: header ?? bytes)
                    guard let end = text.range(of: "\r\n\r\n") else { continue }
                    #expect(text.hasPrefix("HTTP/1.1 206 "))
                    received += text[end.upperBound...].utf8.count
                    header = nil
                } else {
                    received += bytes.readableBytes
                }
                got(received)
                if received >= Self.size { return }
            }
        }
    }

    @Test("is left when the next one's TLS is up, not its TCP, and then without a farewell", .inNamespace)
    func silentPath() async throws {
        let certificates = try await TestCertificates()
        let server = try TwoPathServer()
        let nginx = try await nginx(server, certificates)
        // Cellular: TCP comes up, and TLS doesn't.
        func filter(_ command: String) async throws {
            let result = try await server.start("nft", command).result()
            #expect(result.status == 0, "\(result.errors)")
        }
        try await filter("add table inet mute")
        try await filter("add chain inet mute input { type filter hook input priority 0; }")
        try await filter("add rule inet mute input iifname w1 tcp dport 443 tcp flags & psh == psh drop")

        let opened = NIOLockedValueBox(0)
        let told = NIOLockedValueBox<[String]>([])
        let (progress, isMoved) = (NIOLockedValueBox(0), NIOLockedValueBox({ false } as @Sendable () -> Bool))
        let bootstrap = try bootstrap(certificates) { opened.withLockedValue { $0 += 1 } }
        let download = Task {
            try await bootstrap.withReconnection(
                host: "server.example", port: 443, progress: 0, channelInitializer: Self.wrap
            ) { session, count in
                let path = session.connection.establishment?.path ?? ""
                told.withLockedValue { $0.append("\(path) \(session.cause)") }
                isMoved.withLockedValue { $0 = { session.shouldMigrate } }
                try await Self.download(session, &count) { bytes in progress.withLockedValue { $0 = bytes } }
                return .finished
            }
        }
        try await Program.wait("the first bytes") { progress.withLockedValue { $0 } > 100_000 }
        try server.silenceWiFi(true)
        try await Program.wait("TCP over the other path") { opened.withLockedValue { $0 } == 2 }
        try await filter("list ruleset")
        #expect(!isMoved.withLockedValue { $0 }())
        #expect(told.withLockedValue { $0 } == ["wlan0 first"])
        try await filter("delete table inet mute")
        let unmuted = ContinuousClock.now
        try await Program.wait("the next call") { told.withLockedValue { $0.count } == 2 }
        // NIOSSL would wait 5 s for the farewell of a peer that is out of reach.
        #expect(ContinuousClock.now - unmuted < .milliseconds(4500))
        #expect(try await download.value == Self.size)
        #expect(
            told.withLockedValue { $0 } == ["wlan0 first", "wwan0 pathLost(PathCore.PathTrouble.noAnswer)"])
        nginx.kill()
    }
}
