import TestSupport
import Testing

@testable import Multipath

@Suite("An HTTPS record's address hints")
struct ServiceHintTests {
    /// A host whose addresses are never answered, and whose records are.
    private struct RecordsOnly: Resolver {
        let records: [ServiceRecord]
        var asksEachPath: Bool { false }

        func addresses(
            of host: String, family: IPAddress.Family, over path: PathInterface?
        ) async throws(ResolutionError) -> [IPAddress] {
            try? await Task.sleep(for: .seconds(3600))
            throw ResolutionError("cancelled")
        }

        func serviceRecords(
            of host: String, port: UInt16, over path: PathInterface?
        ) async throws(ResolutionError) -> ServiceAnswer { ServiceAnswer(records) }
    }

    private func connect(
        _ records: [ServiceRecord], _ server: LoopbackListener, _ protocols: [String],
        within limit: Duration = .seconds(20)
    ) async throws -> EstablishmentReport {
        try await Connector(resolver: RecordsOnly(records: records))
            .connect(host: "media.example", port: Int(server.port)) {
                $0.applicationProtocols = protocols
                $0.connectTimeout = limit
            }.report
    }

    private let record = ServiceRecord(applicationProtocols: ["h2"], addressHints: [IPAddress("127.0.0.1")!])

    @Test("begin the race before the host's own addresses are answered, and the records are in the report")
    func early() async throws {
        let server = try LoopbackListener(.ipv4)
        let report = try await connect([record], server, ["h2", "http/1.1"])
        #expect(report.remote.address.description == "127.0.0.1")
        #expect(report.serviceRecords == [record])
    }

    @Test(
        "are of no use to a caller that speaks nothing that is spoken there, or does not say what it speaks")
    func otherProtocol() async throws {
        let server = try LoopbackListener(.ipv4)
        for protocols in [["http/1.1"], []] {
            await #expect(throws: ConnectionError.self) {
                _ = try await connect([record], server, protocols, within: .milliseconds(500))
            }
        }
    }
}
