import Foundation
import LabNet
import LinuxNet
import TestSupport
import Testing

@testable import Multipath

/// What happens without descriptors, and after that. Each test has a process of its own.
@Suite("Without descriptors", .needsNamespaces, .needs("ip", "unshare"))
struct ExhaustionTests {
    /// Leaves this process so many descriptors that it may open, while a body runs.
    private func leaving<Value>(_ count: Int, _ body: () async throws -> Value) async throws -> Value {
        var limit = rlimit()
        getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
        let all = limit
        var taken: [CInt] = []
        defer {
            for number in taken { close(number) }
            var all = all
            setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &all)
        }
        limit.rlim_cur = 256
        setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
        while true {
            let number = open("/dev/null", O_RDONLY)
            guard number >= 0 else { break }
            taken.append(number)
        }
        for _ in 0..<count { if let number = taken.popLast() { close(number) } }
        return try await body()
    }

    @Test(
        "what a process may steer is found out again, and no connection is said to be steered that isn't",
        .inNamespace)
    func steering() async throws {
        let thread = EventThread(name: "test")
        let token = ConnectionToken(1)
        let registries = (0..<8).map { _ in SteeringRegistry(thread, DeferredStarts(thread)) }
        @Sendable func isSteered(_ registry: SteeringRegistry) throws -> Bool {
            try thread.perform { () throws(SystemError) in
                guard try registry.makeSocket(.ipv4).level == .perConnection else { return false }
                let control = registry.assignment(of: token, .init(), madeWith: .perConnection).control
                #expect(control != nil, "reported as steered")
                return control != nil
            }
        }
        for (count, registry) in registries.enumerated() {
            try await leaving(count) { _ = try? isSteered(registry) }
        }
        for (count, registry) in registries.enumerated() {
            try await Program.wait("control after there were \(count) descriptors", within: .seconds(10)) {
                try isSteered(registry)
            }
        }
    }

    @Test("that a process began without MPTCP is not remembered when it is switched on", .inNamespace)
    func switchedOn() async throws {
        let thread = EventThread(name: "test")
        let registry = SteeringRegistry(thread, DeferredStarts(thread))
        @Sendable func level() throws -> ControlLevel {
            try thread.perform { () throws(SystemError) in try registry.makeSocket(.ipv4).level }
        }
        try ControlFile.sysctl("net/mptcp/enabled", "0")
        #expect(throws: SystemError.self) { try level() }
        try ControlFile.sysctl("net/mptcp/enabled", "1")
        try await Program.wait("control", within: .seconds(10)) { try level() == .perConnection }
    }

    @Test("the first use says so, and a later one works", .inNamespace)
    func firstUse() async throws {
        try await TestNetwork.make()
        let connector = Connector()
        for count in 0..<12 {
            try await leaving(count) {
                // Whatever it says, it says something.
                let error = await #expect(throws: ConnectionError.self) {
                    var configuration = ConnectionConfiguration()
                    configuration.connectTimeout = .seconds(2)
                    _ = try await connector.connect(host: "192.0.2.1", port: 9, configuration)
                }
                if count == 0 { #expect("\(error!)".contains("Too many open files"), "\(error!)") }
            }
        }
        #expect(try await connector.monitor.currentPath().primary?.name == "eth0")
    }

    @Test("a number that is no descriptor is an error of the call")
    func staleDescriptor() {
        let accepted = AcceptedConnections(monitor: PathMonitor(), fallbackReason: .peer)
        #expect(throws: (any Error).self) { _ = try accepted.follow(9_999) }
    }
}
