import MultipathNIO
import NIOCore
import NIOPosix
import NIOSSL
import TestSupport
import Testing

@testable import Multipath

@Suite("A resolver's wrong answer, with TLS,", .needs("openssl"))
struct WrongAnswerTests {
    private func connect(
        _ servers: TLSServers, _ certificates: TestCertificates, _ resolver: any Multipath.Resolver,
        _ protocols: Set<TransportProtocol> = [.mptcp, .tcp], speaking applicationProtocols: [String] = []
    ) async throws -> EstablishmentReport {
        var configuration = TLSConfiguration.makeClientConfiguration()
        configuration.trustRoots = .file(certificates.root)
        let context = try NIOSSLContext(configuration: configuration)
        let connected = try await MultipathBootstrap(
            group: .singletonMultiThreadedEventLoopGroup, connector: Connector(resolver: resolver)
        )
        .configure { ($0.protocols, $0.applicationProtocols) = (protocols, applicationProtocols) }
        .protocolHandlers {
            (try? NIOSSLClientHandler(context: context, serverHostname: TLSServers.name)).map { [$0] } ?? []
        }
        .raceUntil(.tlsHandshakeCompleted)
        .connect(host: TLSServers.name, port: servers.port) { $0.eventLoop.makeSucceededVoidFuture() }
        let report = try #require(connected.connection.establishment)
        try await connected.connection.channel.close()
        return report
    }

    private func table(_ addresses: Int...) -> StaticResolver {
        StaticResolver([TLSServers.name: addresses.compactMap { IPAddress(TLSServers.address($0)) }])
    }

    @Test("costs one more attempt, and is named in the report: the next resolver has the right one")
    func nextResolver() async throws {
        let certificates = try await TestCertificates()
        let servers = try await TLSServers(
            .answers(certificate: "stranger"), .answers(certificate: "good"), certificates: certificates)
        let report = try await connect(servers, certificates, ResolverChain([table(0), table(1)]))
        #expect(report.attempts.count == 2, "\(report.text)")
        #expect(report.remote.address.description == TLSServers.address(1))
        let refuted = try #require(report.refutedAnswers.first)
        #expect(report.refutedAnswers.count == 1)
        #expect(refuted.address.description == TLSServers.address(0))
        #expect(refuted.resolver == "StaticResolver")
        #expect(refuted.reason.contains("CERTIFICATE_VERIFY_FAILED"))
        #expect(report.text.contains("refuted     \(TLSServers.address(0)) by StaticResolver, over lo: "))
        await servers.close()
    }

    @Test("beside a right one costs one more attempt as well")
    func nextAddress() async throws {
        let certificates = try await TestCertificates()
        let servers = try await TLSServers(
            .answers(certificate: "stranger"), .answers(certificate: "good"), certificates: certificates)
        let report = try await connect(servers, certificates, table(0, 1))
        #expect(report.attempts.count == 2, "\(report.text)")
        #expect(report.refutedAnswers.map(\.address.description) == [TLSServers.address(0)])
        await servers.close()
    }

    @Test("that leads to no server at all has the next resolver asked, too")
    func nowhere() async throws {
        let certificates = try await TestCertificates()
        let servers = try await TLSServers(
            .hangsUp, .answers(certificate: "good"), certificates: certificates)
        // 127.0.0.9 refuses.
        let report = try await connect(
            servers, certificates,
            ResolverChain([StaticResolver([TLSServers.name: [IPAddress("127.0.0.9")!]]), table(0), table(1)]))
        #expect(report.remote.address.description == TLSServers.address(1))
        // Nothing says that another host was there.
        #expect(report.refutedAnswers.isEmpty)
        await servers.close()
    }

    @Test("from every resolver is an error that lists each attempt")
    func everywhere() async throws {
        let certificates = try await TestCertificates()
        let servers = try await TLSServers(
            .answers(certificate: "stranger"), .answers(certificate: "expired"), certificates: certificates)
        let error = await #expect(throws: ConnectionError.self) {
            _ = try await connect(servers, certificates, ResolverChain([table(0), table(1)]))
        }
        #expect(error?.code == .allAttemptsFailed)
        #expect(error?.attempts.count == 2, "\(error?.text ?? "")")
        await servers.close()
    }

    @Test("in an HTTPS record's hint is named as that of the resolver that gave the record")
    func hint() async throws {
        let certificates = try await TestCertificates()
        let servers = try await TLSServers(
            .answers(certificate: "stranger"), .answers(certificate: "good"), certificates: certificates)
        /// Its record comes at once, and its addresses after the hint was tried.
        struct Hinting: Multipath.Resolver {
            let hint: IPAddress?
            let addresses: [IPAddress]
            var asksEachPath: Bool { false }
            var name: String { "hinting" }

            func addresses(
                of host: String, family: IPAddress.Family, over path: PathInterface?
            ) async throws(ResolutionError) -> [IPAddress] {
                try? await Task.sleep(for: .milliseconds(300))
                return addresses.filter { $0.family == family }
            }

            func serviceRecords(
                of host: String, port: UInt16, over path: PathInterface?
            ) async throws(ResolutionError) -> ServiceAnswer {
                ServiceAnswer([
                    ServiceRecord(applicationProtocols: ["h2"], addressHints: [hint].compactMap { $0 })
                ])
            }
        }
        let resolver = Hinting(
            hint: IPAddress(TLSServers.address(0)),
            addresses: [IPAddress(TLSServers.address(1))].compactMap { $0 })
        let report = try await connect(servers, certificates, resolver, speaking: ["h2"])
        #expect(report.remote.address.description == TLSServers.address(1), "\(report.text)")
        #expect(report.refutedAnswers.map(\.resolver) == ["hinting"], "\(report.text)")
        await servers.close()
    }

    @Test("that is no answer has the next resolver asked")
    func noAnswer() async throws {
        let certificates = try await TestCertificates()
        let servers = try await TLSServers(.answers(certificate: "good"), certificates: certificates)
        struct Dead: Multipath.Resolver {
            var asksEachPath: Bool { false }
            func addresses(
                of host: String, family: IPAddress.Family, over path: PathInterface?
            ) async throws(ResolutionError) -> [IPAddress] { throw ResolutionError("dead") }
        }
        let report = try await connect(servers, certificates, ResolverChain([Dead(), table(0)]))
        #expect(report.attempts.map(\.outcome) == [.won])
        await servers.close()
    }
}
