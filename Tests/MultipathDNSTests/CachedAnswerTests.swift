import Multipath
import TestSupport
import Testing

@testable import MultipathDNS

@Suite("A name server's answers, kept,", .needs("dnsmasq"))
struct CachedAnswerTests {
    private let loopback = PathInterface(
        index: 1, name: "lo", type: Verdict(.loopback, .kernel), nameServers: [IPAddress("127.0.0.1")!])

    private func ask(_ resolver: CachingResolver, _ name: String) async throws -> [String] {
        try await resolver.addresses(of: name, family: .ipv4, over: loopback).map(\.description)
    }

    private func resolver(_ server: NameServer) -> CachingResolver {
        CachingResolver(
            InterfaceResolver(servers: [], timeout: .seconds(3), port: server.port),
            monitor: PathMonitor())
    }

    @Test("are asked for once in their time to live")
    func once() async throws {
        let server = try await NameServer(["--host-record=name.example,192.0.2.7,600"])
        let resolver = resolver(server)
        for _ in 0..<1000 { #expect(try await ask(resolver, "name.example") == ["192.0.2.7"]) }
        try await Program.wait("its log") { server.questions(about: "name.example") > 0 }
        #expect(server.questions(about: "name.example") == 1)
    }

    @Test("are told at once after their time to live, when the server is dead")
    func dead() async throws {
        let server = try await NameServer(["--host-record=name.example,192.0.2.7,1"])
        let resolver = resolver(server)
        #expect(try await ask(resolver, "name.example") == ["192.0.2.7"])
        server.kill()
        let begun = ContinuousClock.now
        // Past the time to live of a second.
        while ContinuousClock.now - begun < .milliseconds(1_300) {
            let asked = ContinuousClock.now
            #expect(try await ask(resolver, "name.example") == ["192.0.2.7"])
            #expect(ContinuousClock.now - asked < .milliseconds(2_500))
            try await Task.sleep(for: .milliseconds(50))
        }
        // Nothing is known of other names.
        await #expect(throws: ResolutionError.self) { _ = try await ask(resolver, "other.example") }
    }
}
