import Testing

@testable import Multipath

@Suite("A connection's configuration")
struct ConnectionConfigurationTests {
    @Test("of background traffic uses no expensive path, unless it says so in any order")
    func background() {
        var configuration = ConnectionConfiguration()
        #expect(configuration.allowsExpensivePaths)
        configuration.trafficClass = .background
        #expect(!configuration.allowsExpensivePaths && configuration.isDiscretionary)
        configuration.policy = PathPolicy()
        #expect(!configuration.allowsExpensivePaths)
        configuration.allowsExpensivePaths = true
        #expect(configuration.allowsExpensivePaths)
        configuration.trafficClass = .voice
        #expect(configuration.allowsExpensivePaths && !configuration.isDiscretionary)

        var other = ConnectionConfiguration()
        other.allowsExpensivePaths = true
        other.trafficClass = .background
        #expect(other.allowsExpensivePaths)
    }

    @Test("that is discretionary by itself stays so with another class than background")
    func discretionary() {
        var configuration = ConnectionConfiguration()
        configuration.isDiscretionary = true
        configuration.trafficClass = .bulk
        #expect(configuration.isDiscretionary && !configuration.allowsExpensivePaths)
    }
}
