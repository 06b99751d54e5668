import MultipathTesting
import TestSupport
import Testing

@testable import LinuxNet
@testable import Multipath

/// Answers as it is told now, and counts how often it is asked.
final class CountingResolver: Resolver {
    private struct State {
        var answer: Result<[String], ResolutionError>
        var timeToLive: Duration?
        var questions = 0
        /// Those whose answer waits.
        var isHeld = false
    }

    private let state: Locked<State>
    let asksEachPath: Bool
    let name: String

    init(
        _ addresses: String..., timeToLive: Duration? = nil, asksEachPath: Bool = false,
        name: String = "counting"
    ) {
        self.asksEachPath = asksEachPath
        self.name = name
        state = Locked(State(answer: .success(addresses), timeToLive: timeToLive))
    }

    var questions: Int { state.withLock { $0.questions } }
    func answer(_ answer: Result<[String], ResolutionError>) { state.withLock { $0.answer = answer } }
    func hold(_ isHeld: Bool) { state.withLock { $0.isHeld = isHeld } }

    func addresses(
        of host: String, family: IPAddress.Family, over path: PathInterface?
    ) async throws(ResolutionError) -> [IPAddress] {
        state.withLock { $0.questions += 1 }
        while state.withLock({ $0.isHeld }) {
            do { try await Task.sleep(for: .milliseconds(2)) } catch { throw ResolutionError("cancelled") }
        }
        return try state.withLock { $0.answer }.get().compactMap { IPAddress($0) }.filter {
            $0.family == family
        }
    }

    func answer(
        for host: String, family: IPAddress.Family, over path: PathInterface?
    ) async throws(ResolutionError) -> AddressAnswer {
        AddressAnswer(
            try await addresses(of: host, family: family, over: path),
            timeToLive: state.withLock { $0.timeToLive }, resolver: name)
    }
}

@Suite("The caching resolver")
struct CachingResolverTests {
    private let paths = ScriptedPaths([.wifi("wlan0")])

    /// An answer got before the paths are known belongs to no network, so that this waits for them.
    private func ask(_ resolver: CachingResolver, _ host: String = "media.example") async throws -> [String] {
        _ = try await paths.monitor.currentPath()
        return try await resolver.addresses(of: host, family: .ipv4, over: nil).map(\.description)
    }

    @Test("asks nothing for a second connection")
    func second() async throws {
        let server = try LoopbackListener(.ipv4)
        let inner = CountingResolver("127.0.0.1")
        let monitor = PathMonitor()
        let connector = Connector(monitor: monitor, resolver: CachingResolver(inner, monitor: monitor))
        _ = try await connector.connect(host: "media.example", port: Int(server.port))
        #expect(inner.questions == 2)
        // Not even the wait for IPv6, whose absence is known. (A busy machine may take as long now and then.)
        var least = Duration.seconds(1)
        for _ in 0..<10 where least >= .milliseconds(50) {
            let next = try await connector.connect(host: "Media.Example", port: Int(server.port)).report
            #expect(inner.questions == 2)
            least = min(least, next.resolution)
        }
        #expect(least < .milliseconds(50))
    }

    @Test("asks once for all that ask at the same time")
    func together() async throws {
        let inner = CountingResolver("192.0.2.1")
        inner.hold(true)
        let resolver = CachingResolver(inner, monitor: paths.monitor)
        let all = Task {
            try await withThrowingTaskGroup(of: [String].self) { group in
                for _ in 0..<100 { group.addTask { try await ask(resolver) } }
                return try await group.reduce(into: Set<[String]>()) { $0.insert($1) }
            }
        }
        try await Program.wait("the question") { inner.questions > 0 }
        inner.hold(false)
        #expect(try await all.value == [["192.0.2.1"]])
        #expect(inner.questions == 1)
    }

    @Test("tells a stale answer at once while the server is dead, and the new one when it is back")
    func stale() async throws {
        let inner = CountingResolver("192.0.2.1", timeToLive: .milliseconds(1))
        var configuration = CachingResolver.Configuration()
        configuration.failureTime = .milliseconds(1)
        let resolver = CachingResolver(inner, monitor: paths.monitor, configuration: configuration)
        #expect(try await ask(resolver) == ["192.0.2.1"])
        inner.answer(.failure(ResolutionError("no answer")))
        try await Task.sleep(for: .milliseconds(5))
        inner.hold(true)
        // The server does not answer at all.
        #expect(try await ask(resolver) == ["192.0.2.1"])
        inner.hold(false)
        try await Program.wait("the answer is asked for again") { inner.questions >= 2 }
        #expect(try await ask(resolver) == ["192.0.2.1"])
        inner.answer(.success(["192.0.2.2"]))
        try await Program.wait("the new answer") { try await ask(resolver) == ["192.0.2.2"] }
    }

    @Test("keeps that a name has no address no longer than a failure, and never tells it when it is stale")
    func empty() async throws {
        let inner = CountingResolver(timeToLive: .seconds(60))
        var configuration = CachingResolver.Configuration()
        configuration.failureTime = .milliseconds(1)
        let resolver = CachingResolver(inner, monitor: paths.monitor, configuration: configuration)
        #expect(try await ask(resolver) == [])
        inner.answer(.success(["192.0.2.1"]))
        try await Task.sleep(for: .milliseconds(5))
        #expect(try await ask(resolver) == ["192.0.2.1"])
    }

    @Test("asks afresh where the addresses of a stale answer hold no more, and the connection comes about")
    func staleAddresses() async throws {
        let server = try LoopbackListener(.ipv4)
        // Nothing listens there.
        let inner = CountingResolver("127.0.0.2", timeToLive: .milliseconds(1))
        let monitor = PathMonitor()
        let resolver = CachingResolver(inner, monitor: monitor)
        let connector = Connector(monitor: monitor, resolver: resolver)
        _ = try? await connector.connect(host: "media.example", port: Int(server.port)) {
            $0.connectTimeout = .seconds(5)
        }
        inner.answer(.success(["127.0.0.1"]))
        try await Task.sleep(for: .milliseconds(5))
        let report = try await connector.connect(host: "media.example", port: Int(server.port)).report
        #expect(report.remote.address.description == "127.0.0.1")
        #expect(resolver.fallback(for: "other.example") == nil)
    }

    @Test("starts a monitor of its own")
    func ownMonitor() async throws {
        let paths = ScriptedPaths([.wifi("wlan0")])
        let inner = CountingResolver("192.0.2.1")
        let resolver = CachingResolver(inner, monitor: paths.monitor)
        _ = try await ask(resolver)
        try await Program.wait("the first snapshot") { paths.monitor.latestPath != nil }
    }

    @Test("forgets what a network answered when that is gone, and tells it on no other")
    func networks() async throws {
        let inner = CountingResolver("192.0.2.1", asksEachPath: true)
        paths.add(.cellular("wwan0"))
        let resolver = CachingResolver(inner, monitor: paths.monitor)
        func ask(_ name: String) async throws -> Int {
            let path = try #require(paths.snapshot.interface(named: name))
            _ = try await resolver.addresses(of: "media.example", family: .ipv4, over: path)
            return inner.questions
        }
        #expect(try await ask("wlan0") == 1)
        #expect(try await ask("wlan0") == 1)
        #expect(try await ask("wwan0") == 2)
        paths.remove("wlan0")
        paths.add(.wifi("wlan0"))
        #expect(try await ask("wwan0") == 2)
        #expect(try await ask("wlan0") == 3)
    }

    @Test("tells the system's answers on no other preferred path, and again where that one is back")
    func systemChanges() async throws {
        let inner = CountingResolver("192.0.2.1")
        let resolver = CachingResolver(inner, monitor: paths.monitor)
        _ = try await paths.monitor.currentPath()
        _ = try await ask(resolver)
        paths.add(.wired("eth0"))
        _ = try await ask(resolver)
        #expect(inner.questions == 2)
        // Wi-Fi was there all the time.
        paths.remove("eth0")
        _ = try await ask(resolver)
        #expect(inner.questions == 2)
        paths.remove("wlan0")
        paths.add(.wifi("wlan0"))
        _ = try await ask(resolver)
        #expect(inner.questions == 3)
    }

    @Test("asks again after the machine has slept, and tells the old answer meanwhile")
    func slept() async throws {
        let inner = CountingResolver("192.0.2.1")
        let resolver = CachingResolver(inner, monitor: paths.monitor)
        _ = try await paths.monitor.currentPath()
        _ = try await ask(resolver)
        paths.wake()
        #expect(try await ask(resolver) == ["192.0.2.1"])
        try await Program.wait("the question") { inner.questions == 2 }
    }

    @Test("tells a caller that is cancelled at once, and asks no longer where none waits")
    func cancelled() async throws {
        let inner = CountingResolver("192.0.2.1")
        inner.hold(true)
        let resolver = CachingResolver(inner, monitor: paths.monitor)
        let first = Task { try await ask(resolver) }
        let second = Task { try await ask(resolver) }
        try await Program.wait("the question") { inner.questions == 1 }
        first.cancel()
        await #expect(throws: ResolutionError("cancelled")) { try await first.value }
        second.cancel()
        await #expect(throws: ResolutionError("cancelled")) { try await second.value }
        // (The second may have come when the first was gone, and have asked for itself.)
        let asked = inner.questions
        inner.hold(false)
        #expect(try await ask(resolver) == ["192.0.2.1"])
        #expect(inner.questions == asked + 1)
    }
}
