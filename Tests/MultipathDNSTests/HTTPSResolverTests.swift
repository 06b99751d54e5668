#if HTTP
    import Foundation
    import LinuxNet
    import Multipath
    import MultipathNIO
    import MultipathTLS
    import NIOCore
    import NIOPosix
    import NIOSSL
    import TestSupport
    import Testing

    @testable import MultipathDNS

    @Suite("Names over HTTPS", .needs("openssl"), .timeLimit(.minutes(1)))
    struct HTTPSResolverTests {
        private let certificates: TestCertificates

        init() async throws {
            certificates = try await TestCertificates(name: "dns.example", addresses: ["127.0.0.1"])
        }

        /// `hostN.example` is at 10.x.y.z of that number.
        private static let numbered: HTTPSNameServer.Zone = { type, name in
            guard let number = Int(name.dropFirst(4).prefix { $0.isNumber }), name.hasSuffix(".example")
            else {
                return nil
            }
            let low = [UInt8(number >> 8), UInt8(number & 255)]
            return switch type {
            case 1: [[10, 0] + low, [10, 1] + low]
            case 28: [[0x20, 0x01, 0x0D, 0xB8] + [UInt8](repeating: 0, count: 10) + low]
            default: []
            }
        }

        private func resolver(
            _ servers: [HTTPSNameServer], configure: (inout HTTPSResolver.Configuration) -> Void = { _ in }
        ) throws -> HTTPSResolver {
            var configuration = HTTPSResolver.Configuration()
            configuration.asksEachPath = false
            configuration.tls.trustRoots = .file(certificates.root)
            // A busy machine is no dead provider.
            configuration.timeout = .seconds(20)
            configure(&configuration)
            return try HTTPSResolver(
                servers.map {
                    try .init("https://dns.example:\($0.port)/dns-query{?dns}", addresses: ["127.0.0.1"])
                },
                configuration: configuration)
        }

        private func reason(_ body: () async throws -> Void) async -> String {
            do {
                try await body()
                return ""
            } catch {
                return "\(error)"
            }
        }

        @Test("A thousand names come right, though the first provider is dead and another one fails")
        func thousand() async throws {
            let dead = try await HTTPSNameServer(certificates, .silent, Self.numbered)
            let failing = try await HTTPSNameServer(certificates, .serverFailure, Self.numbered)
            let server = try await HTTPSNameServer(certificates, .honest, Self.numbered)
            let names = try resolver([dead, failing, server]) {
                $0.providerDelay = .seconds(1)
            }
            try await withThrowingTaskGroup(of: Void.self) { group in
                for number in 0..<1_000 {
                    if number >= 64 { try await group.next() }
                    group.addTask {
                        let answer = try await names.answer(
                            for: "host\(number).example", family: .ipv4, over: nil)
                        let end = "\(number >> 8).\(number & 255)"
                        #expect(answer.addresses.map(\.description) == ["10.0.\(end)", "10.1.\(end)"])
                        // An answer's age counts.
                        #expect(answer.timeToLive == .seconds(290))
                        #expect(answer.resolver == "https://dns.example:\(server.port)/dns-query")
                    }
                }
                try await group.waitForAll()
            }
            // Those that fail are set back: few of the questions came to them.
            #expect(dead.requests.count <= 500 && failing.requests.count <= 500)
            for server in [dead, failing, server] { await server.close() }
        }

        @Test("Equal questions are equal requests, by GET, for caches on the way")
        func request() async throws {
            let server = try await HTTPSNameServer(certificates) { type, _ in
                type == 1 ? [[192, 0, 2, 1]] : []
            }
            let names = try resolver([server])
            for _ in 0..<2 {
                _ = try await names.addresses(of: "www.example.com", family: .ipv4, over: nil)
            }
            // RFC 8484 section 4.1.1 has it as an example.
            #expect(
                server.requests
                    == Array(
                        repeating: "/dns-query?dns=AAABAAABAAAAAAAAA3d3dwdleGFtcGxlA2NvbQAAAQAB", count: 2))
            #expect(try await names.addresses(of: "www.example.com", family: .ipv6, over: nil) == [])
            await server.close()
        }

        @Test("HTTPS records are read, and none are no error")
        func services() async throws {
            let server = try await HTTPSNameServer(certificates) { type, name in
                guard type == 65, name == "www.example" else { return nil }
                // Priority 1, the name itself, ALPN h2.
                return [[0, 1, 0, 0, 1, 0, 3, 2] + Array("h2".utf8)]
            }
            let names = try resolver([server])
            let found = try await names.serviceRecords(of: "www.example", port: 443, over: nil)
            #expect(found.records.map(\.applicationProtocols).first == ["h2", "http/1.1"])
            #expect(found.timeToLive == .seconds(290))
            #expect(try await names.serviceRecords(of: "www.example", port: 8443, over: nil).records == [])
            await server.close()
        }

        static let badManners: [(HTTPSNameServer.Manner, String)] = [
            (.status(500), "the status is 500"), (.status(301), "the status is 301"),
            (.wrongType, "the answer's type is text/html"), (.garbage, "no answer to the question"),
            (.otherQuestion, "no answer to the question"), (.tooLong, "body_too_large"),
            (.serverFailure, "fails with code 2"), (.silent, "timed_out"),
        ]

        @Test(
            "A provider that does not answer as it should fails with a reason, and the next one is asked",
            arguments: badManners)
        func faults(_ manner: HTTPSNameServer.Manner, _ words: String) async throws {
            let bad = try await HTTPSNameServer(certificates, manner, Self.numbered)
            let good = try await HTTPSNameServer(certificates, .honest, Self.numbered)
            let alone = try resolver([bad]) {
                if case .silent = manner { $0.timeout = .milliseconds(500) }
            }
            let reason = await reason {
                _ = try await alone.addresses(of: "host1.example", family: .ipv4, over: nil)
            }
            #expect(reason.contains(words), "\(reason)")
            let both = try resolver([bad, good])
            #expect(try await both.addresses(of: "host1.example", family: .ipv4, over: nil).count == 2)
            await bad.close()
            await good.close()
        }

        @Test("That a name does not exist is an answer, for which no other provider is asked")
        func missing() async throws {
            let server = try await HTTPSNameServer(certificates, .honest, Self.numbered)
            let other = try await HTTPSNameServer(certificates, .lying([192, 0, 2, 66]), Self.numbered)
            let names = try resolver([server, other]) { $0.providerDelay = .seconds(20) }
            let error = await #expect(throws: ResolutionError.self) {
                _ = try await names.addresses(of: "missing.test", family: .ipv4, over: nil)
            }
            #expect(error?.isNoSuchName == true)
            #expect(other.requests.isEmpty)
            await server.close()
            await other.close()
        }

        @Test("A provider is one only with the certificate of its name, and is never asked for by name")
        func provider() async throws {
            let server = try await HTTPSNameServer(certificates, .honest, Self.numbered)
            var configuration = HTTPSResolver.Configuration()
            (configuration.asksEachPath, configuration.tls.trustRoots) = (false, .file(certificates.root))
            let stranger = try HTTPSResolver(
                [.init("https://other.example:\(server.port)/", addresses: ["127.0.0.1"])],
                configuration: configuration)
            let reason = await reason {
                _ = try await stranger.addresses(of: "host1.example", family: .ipv4, over: nil)
            }
            #expect(reason.contains("for other names"), "\(reason)")
            // An address needs no others.
            let numeric = try HTTPSResolver(
                [.init("https://127.0.0.1:\(server.port)/", addresses: [])], configuration: configuration)
            #expect(try await numeric.addresses(of: "host1.example", family: .ipv4, over: nil).count == 2)
            #expect(
                try await numeric.addresses(of: "localhost", family: .ipv6, over: nil) == [IPAddress("::1")!])
            for url in ["http://dns.example/", "https:///x", "https://u@dns.example/", "nonsense"] {
                #expect(throws: InvalidNameProvider.self) {
                    try HTTPSResolver([.init(url, addresses: ["192.0.2.1"])])
                }
            }
            #expect(throws: InvalidNameProvider.self) {
                try HTTPSResolver([.init("https://dns.example/", addresses: [])])
            }
            #expect(throws: InvalidNameProvider.self) { try HTTPSResolver([]) }
            #expect(throws: InvalidNameProvider.self) {
                try HTTPSResolver.Provider("https://x/", addresses: ["x"])
            }
            await server.close()
        }

        @Test(
            "A provider that lies is found out by the host's certificate, and the next one's answer is taken")
        func lying() async throws {
            let lying = try await HTTPSNameServer(certificates, .lying([127, 0, 0, 2]), Self.numbered)
            let honest = try await HTTPSNameServer(certificates) { type, _ in
                type == 1 ? [[127, 0, 0, 1]] : []
            }
            let names = try resolver([lying, honest])
            let own = try await TestCertificates(name: "bank.example", addresses: [])
            let bank = try await Self.host("127.0.0.1", 0, own.chain("good"), own.key)
            let port = bank.localAddress?.port ?? 0
            let thief = try await Self.host("127.0.0.2", port, own.chain("stranger"), own.key)
            var configuration = TLSConfiguration.makeClientConfiguration()
            configuration.trustRoots = .file(own.root)
            let bootstrap = MultipathBootstrap(
                group: .singletonMultiThreadedEventLoopGroup, connector: Connector(resolver: names))
            let connected = try await TLSClient(host: "bank.example", configuration: configuration)
                .apply(to: bootstrap).connect(host: "bank.example", port: port) {
                    $0.eventLoop.makeSucceededVoidFuture()
                }
            #expect(connected.channel.remoteAddress?.ipAddress == "127.0.0.1")
            let report = try #require(connected.connection.establishment)
            #expect(report.refutedAnswers.map(\.address.description) == ["127.0.0.2"], "\(report)")
            connected.channel.close(promise: nil)
            for channel in [bank, thief] { try await channel.close() }
            await lying.close()
            await honest.close()
        }

        private static func host(
            _ address: String, _ port: Int, _ chain: String, _ key: String
        ) async throws -> any Channel {
            let configuration = try TLSConfiguration.makeServerConfiguration(
                certificateChain: NIOSSLCertificate.fromPEMFile(chain).map { .certificate($0) },
                privateKey: .privateKey(NIOSSLPrivateKey(file: key, format: .pem)))
            let context = try NIOSSLContext(configuration: configuration)
            return try await ServerBootstrap(group: .singletonMultiThreadedEventLoopGroup)
                .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
                .childChannelInitializer { channel in
                    channel.eventLoop.makeCompletedFuture {
                        try channel.pipeline.syncOperations.addHandler(NIOSSLServerHandler(context: context))
                    }
                }.bind(host: address, port: port).get()
        }
    }

    @Suite("The order of providers")
    struct ProviderHealthTests {
        @Test("has those that failed lately behind the others, ever longer, until they answer")
        func order() {
            var health = ProviderHealth()
            let start = MonotonicTime.zero.advanced(by: .seconds(1))
            #expect(health.order(of: 0..<3, at: start) == [0, 1, 2])
            health.failed(0, at: start)
            health.failed(0, at: start)
            #expect(health.order(of: 0..<3, at: start) == [1, 2, 0])
            #expect(health.order(of: 0..<1, at: start) == [0])
            let later = start.advanced(by: ProviderHealth.shortestPause)
            #expect(health.order(of: 0..<3, at: later) == [0, 1, 2])
            health.failed(0, at: later)
            health.failed(1, at: later)
            #expect(health.order(of: 0..<3, at: later) == [2, 1, 0])
            let much = later.advanced(by: ProviderHealth.shortestPause)
            #expect(health.order(of: 0..<3, at: much) == [1, 2, 0])
            health.answered(0)
            #expect(health.order(of: 0..<3, at: much) == [0, 1, 2])
            for _ in 0..<20 { health.failed(2, at: start) }
        }
    }
#endif
