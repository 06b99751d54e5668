import LinuxNet
import TestSupport
import Testing

@testable import Multipath

@Suite("An address that is known to be dead", .needsNamespaces, .needs("unshare"))
struct KnownAddressTests {
    @Test("costs the first connection its wait, and the next ones nothing", .inNamespace)
    func dead() async throws {
        let network = try TwoPathServer()
        // The server's network has no such host, and says nothing.
        let dead = "203.0.113.77"
        let connector = Connector(
            resolver: StaticResolver(["media.example": [dead, "203.0.113.1"].compactMap { IPAddress($0) }]))
        func connect() async throws -> EstablishmentReport {
            try await connector.connect(host: "media.example", port: Int(TwoPathServer.port)) {
                $0.requiredInterface = "wlan0"
                $0.protocols = [.tcp]
            }.report
        }
        let first = try await connect()
        #expect(first.attempts.map { "\($0.endpoint.address)" } == [dead, "203.0.113.1"])
        #expect(first.duration >= .milliseconds(250))
        for _ in 0..<3 {
            let next = try await connect()
            #expect(next.attempts.map { "\($0.endpoint.address)" } == ["203.0.113.1"])
            print("measured: first \(first.duration.shortText), then \(next.duration.shortText)")
        }
        _ = network
    }
}
