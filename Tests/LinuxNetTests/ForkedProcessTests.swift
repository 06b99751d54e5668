import TestSupport
import Testing

/// Another process forks: what runs tests has threads.
@Suite("A forked child that goes on in Swift")
struct ForkedProcessTests {
    @Test("has locks that two of its threads may want at once")
    func locks() async throws {
        let result = try await Program.run(
            [Program.product("subflow-probe"), "forked"], within: .seconds(60))
        #expect(result.outputText == "both\n", "\(result)")
        #expect(result.status == 0, "\(result)")
    }
}
