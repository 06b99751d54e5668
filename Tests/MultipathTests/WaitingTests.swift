import PathCore
import TestSupport
import Testing

@testable import LinuxNet
@testable import Multipath

// The scripted path has loopback's number, so that connections over it work in this very process.

@Suite("A connection that waits for a path")
struct WaitingTests {
    private let paths = LoopbackPaths()
    private let waited = Locked<[String]>([])

    /// Writes down why the connection waits.
    private struct Observer: ConnectionObserver, ConnectionObservation {
        let waited: Locked<[String]>

        func connecting(
            host: String, port: Int, _ configuration: ConnectionConfiguration
        ) -> (any ConnectionObservation)? { self }

        func waiting(_ omissions: [PathOmission]) {
            waited.withLock { $0.append(omissions.map { "\($0.interface): \($0.reason)" }.joined()) }
        }
    }

    private func connect(
        _ resolver: any Resolver, _ port: UInt16, within timeout: Duration = .seconds(20)
    ) async throws -> EstablishmentReport {
        var configuration = ConnectionConfiguration()
        configuration.waitsForPath = true
        configuration.connectTimeout = timeout
        configuration.prohibitedInterfaces = ["forbidden0"]
        return try await Connector(
            monitor: paths.monitor, resolver: resolver, observers: [Observer(waited: waited)]
        ).connect(host: "name.example", port: Int(port), configuration).report
    }

    @Test("says why, once, and connects as soon as one is allowed", arguments: [false, true])
    func appears(asksEachPath: Bool) async throws {
        let server = try LoopbackListener(.ipv4)
        paths.tell("forbidden0")
        var resolver = ScriptedResolver([
            .ipv6: .answer([]), .ipv4: .answer(["127.0.0.1"], after: .milliseconds(60)),
        ])
        resolver.asksEachPath = asksEachPath
        async let report = connect(resolver, server.port)
        try await Program.wait("the connection to wait") { waited.withLock { !$0.isEmpty } }
        paths.tell("allowed0")
        #expect(try await report.path == "allowed0")
        #expect(waited.withLock { $0 } == ["forbidden0: prohibited"])
    }

    @Test("asks for the name again, which could not be answered before")
    func name() async throws {
        let server = try LoopbackListener(.ipv4)
        paths.tell(nil)
        let asked = Locked(0)
        let resolver = ClosureResolver { family throws(ResolutionError) in
            let isFirst = asked.withLock {
                $0 += 1
                return $0 <= 2
            }
            if isFirst { throw ResolutionError("Temporary failure in name resolution") }
            return family == .ipv4 ? [IPAddress("127.0.0.1")!] : []
        }
        async let report = connect(resolver, server.port)
        try await Program.wait("the connection to wait") { waited.withLock { !$0.isEmpty } }
        paths.tell("allowed0")
        #expect(try await report.addresses == [IPAddress("127.0.0.1")!])
    }

    @Test("fails with the resolver's words where the path is there and the name is not")
    func noName() async throws {
        paths.tell(nil)
        let resolver = ClosureResolver { _ throws(ResolutionError) in
            throw ResolutionError("Name or service not known")
        }
        let attempt = Task { try await connect(resolver, 9) }
        try await Program.wait("the connection to wait") { waited.withLock { !$0.isEmpty } }
        paths.tell("allowed0")
        let error = await #expect(throws: ConnectionError.self) { _ = try await attempt.value }
        #expect(error?.code == .resolution)
        #expect(error?.reason == "Name or service not known")
    }

    @Test("gives up at its timeout, and names the paths that were refused")
    func timeout() async throws {
        paths.tell("forbidden0")
        let error = await #expect(throws: ConnectionError.self) {
            _ = try await connect(ScriptedResolver([:]), 9, within: .milliseconds(200))
        }
        #expect(error?.code == .noAllowedPath)
        #expect(error?.omissions.map(\.interface) == ["forbidden0"])
    }
}

@Suite("Paths that ask for themselves")
struct PathResolutionTests {
    private let paths = LoopbackPaths()

    @Test("are not asked where none is allowed: that is said at once")
    func prohibited() async throws {
        paths.tell("forbidden0")
        let asked = Locked(0)
        for each in [true, false] {
            var resolver = ClosureResolver { _ in
                asked.withLock { $0 += 1 }
                return []
            }
            resolver.asksEachPath = each
            let connector = Connector(monitor: paths.monitor, resolver: resolver)
            let error = await #expect(throws: ConnectionError.self) {
                _ = try await connector.connect(host: "name.example", port: 9) {
                    $0.prohibitedInterfaces = ["forbidden0"]
                }
            }
            #expect(error?.code == .noAllowedPath)
        }
        #expect(asked.withLock { $0 } == 0)
    }

    @Test("ask again when their name servers are known, and when the network is another")
    func changes() async throws {
        let server = try LoopbackListener(.ipv4)
        paths.tell("wlan0", servers: [])
        let asked = Locked<[[String]]>([])
        let resolver = PathResolver { path in
            let servers = path.nameServers.map(\.description)
            asked.withLock { $0.append(servers) }
            // The first network's server never answers.
            if servers != ["192.0.2.53"] { try? await Task.sleep(for: .seconds(3600)) }
            return [IPAddress("127.0.0.1")!]
        }
        let connector = Connector(monitor: paths.monitor, resolver: resolver)
        async let report = connector.connect(host: "name.example", port: Int(server.port)).report
        try await Program.wait("the first questions") { asked.withLock { $0.count } == 2 }
        paths.tell("wlan0", servers: ["192.0.2.53"])
        #expect(try await report.path == "wlan0")
        #expect(asked.withLock { $0.suffix(2) } == [["192.0.2.53"], ["192.0.2.53"]])
    }

    @Test("leave the answer to the machine itself, over whichever path it was found")
    func ownAddress() async throws {
        let server = try LoopbackListener(.ipv4)
        // Found over another path than loopback.
        paths.tell("lo", other: "wlan0")
        var resolver = ScriptedResolver([.ipv4: .answer(["127.0.0.1"]), .ipv6: .answer([])])
        resolver.asksEachPath = true
        let connector = Connector(
            monitor: paths.monitor, resolver: StaticResolver([:], otherwise: resolver))
        let report = try await connector.connect(host: "name.example", port: Int(server.port)) {
            $0.prohibitedInterfaceTypes = []
        }.report
        #expect(report.remote.address.isLoopback)
    }
}

@Suite("Confirmations at the same moment")
struct ConcurrentConfirmationTests {
    @Test("leave one winner, and every other descriptor closed once", .timeLimit(.minutes(1)))
    func together() async throws {
        let six = try LoopbackListener(.ipv6)
        let four = try LoopbackListener(.ipv4, port: six.port)
        let connector = Connector(
            resolver: ScriptedResolver([.ipv4: .answer(["127.0.0.1"]), .ipv6: .answer(["::1"])]))
        let (made, discarded) = (Locked(0), Locked(0))
        for _ in 0..<200 {
            var configuration = ConnectionConfiguration()
            configuration.protocols = [.tcp]
            configuration.attemptDelay = .milliseconds(10)
            _ = try await connector.connect(host: "name.example", port: Int(six.port), configuration) {
                entrant in
                // Both are connected by then, and both are confirmed.
                try? await Task.sleep(for: .milliseconds(12))
                made.withLock { $0 += 1 }
                _ = entrant.remote
                return 1
            } discard: { _ in
                discarded.withLock { $0 += 1 }
            }
        }
        #expect(made.withLock { $0 } == 200 + discarded.withLock { $0 })
        _ = four
    }
}

/// A monitor of one path, whose number is loopback's.
private struct LoopbackPaths {
    let monitor: PathMonitor
    private let source = Source()

    init() { monitor = PathMonitor(source: source) }

    /// - Parameter name: the path; nil for none.
    func tell(_ name: String?, other: String? = nil, servers: [String] = []) {
        var snapshot = PathSnapshot()
        for (index, name) in [(1, name), (4_000_000, other)] {
            guard let name else { continue }
            snapshot.interfaces.append(
                PathInterface(
                    index: InterfaceIndex(index), name: name, type: Verdict(.wifi, .kernel),
                    addresses: [InterfaceAddress(IPAddress("127.0.0.1")!, prefixLength: 8)],
                    nameServers: servers.compactMap { IPAddress($0) }, supportsIPv4: true,
                    supportsIPv6: true))
        }
        source.tell(snapshot)
    }

    private final class Source: PathSource {
        private let state = Locked((sink: PathSink?.none, latest: PathSnapshot()))

        func start(_ sink: PathSink) {
            let latest = state.withLock { state in
                state.sink = sink
                return state.latest
            }
            sink.send(latest)
        }

        func stop() {}

        func tell(_ snapshot: PathSnapshot) {
            let sink = state.withLock { state in
                state.latest = snapshot
                return state.sink
            }
            sink?.send(snapshot)
        }
    }
}

private struct ClosureResolver: Resolver {
    var asksEachPath = false
    let answer: @Sendable (IPAddress.Family) throws(ResolutionError) -> [IPAddress]

    init(_ answer: @escaping @Sendable (IPAddress.Family) throws(ResolutionError) -> [IPAddress]) {
        self.answer = answer
    }

    func addresses(
        of host: String, family: IPAddress.Family, over path: PathInterface?
    ) async throws(ResolutionError) -> [IPAddress] { try answer(family) }
}

private struct PathResolver: Resolver {
    var asksEachPath: Bool { true }
    let answer: @Sendable (PathInterface) async -> [IPAddress]

    init(_ answer: @escaping @Sendable (PathInterface) async -> [IPAddress]) { self.answer = answer }

    func addresses(
        of host: String, family: IPAddress.Family, over path: PathInterface?
    ) async throws(ResolutionError) -> [IPAddress] {
        guard let path else { throw ResolutionError("no path") }
        return await answer(path).filter { $0.family == family }
    }
}
