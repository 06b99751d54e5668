import PathCore
import TestSupport
import Testing

@testable import LinuxNet
@testable import Multipath

@Suite("A name's addresses and the race")
struct ResolvingTests {
    @Test("begin with IPv6 as soon as that is answered, though no answer comes for IPv4")
    func sixFirst() async throws {
        let server = try LoopbackListener(.ipv6)
        let connector = Connector(resolver: ScriptedResolver([.ipv6: .answer(["::1"])]))
        let report = try await connector.connect(host: "name.example", port: Int(server.port)).report
        #expect(report.remote == IPEndpoint(IPAddress("::1")!, port: server.port))
        #expect(report.addresses == [IPAddress("::1")!])
    }

    @Test("begin with IPv4 after 50 ms without an answer for IPv6")
    func fourAfterTheDelay() async throws {
        let server = try LoopbackListener(.ipv4)
        let connector = Connector(resolver: ScriptedResolver([.ipv4: .answer(["127.0.0.1"])]))
        let report = try await connector.connect(host: "name.example", port: Int(server.port)).report
        #expect(report.attempts.map(\.outcome) == [.won])
        #expect(report.attempts[0].startedAfter >= .milliseconds(50))
    }

    @Test("that come late join the race")
    func lateFamily() async throws {
        let server = try LoopbackListener(.ipv4)
        let connector = Connector(
            resolver: ScriptedResolver([
                .ipv6: .answer(["::1"]), .ipv4: .answer(["127.0.0.1"], after: .seconds(1)),
            ]))
        let report = try await connector.connect(host: "name.example", port: Int(server.port)) {
            $0.protocols = [.tcp]
        }.report
        #expect(report.attempts.map(\.outcome) == [.failed("Connection refused"), .won])
        #expect(report.attempts.map { "\($0.endpoint.address)" } == ["::1", "127.0.0.1"])
        #expect(report.addresses == [IPAddress("::1")!, IPAddress("127.0.0.1")!])
    }

    @Test("are asked of no other resolver of a chain once the question was given up")
    func cancelledChain() async throws {
        let (first, second) = (CountingResolver("192.0.2.1"), CountingResolver("192.0.2.2"))
        first.hold(true)
        let chain = ResolverChain([first, second])
        let asking = Task { try? await chain.addresses(of: "name.example", family: .ipv4, over: nil) }
        try await Program.wait("the question") { first.questions > 0 }
        asking.cancel()
        #expect(await asking.value == nil && second.questions == 0)
    }

    @Test("are none in the resolver's own words")
    func failure() async throws {
        let connector = Connector(
            resolver: ScriptedResolver([
                .ipv4: .failure("no such name here"), .ipv6: .failure("no such name here"),
            ]))
        let error = await #expect(throws: ConnectionError.self) {
            _ = try await connector.connect(host: "name.example", port: 9)
        }
        #expect(error?.code == .resolution)
        #expect(error?.reason == "no such name here")
    }

    @Test("may stand in a table, in any case of letters, while other names are asked for")
    func table() async throws {
        let resolver = StaticResolver(
            ["Media.Example": [IPAddress("192.0.2.1")!, IPAddress("2001:db8::1")!]],
            otherwise: ScriptedResolver([.ipv4: .answer(["198.51.100.1"])]))
        func ask(_ name: String, _ family: IPAddress.Family) async throws -> [String] {
            try await resolver.addresses(of: name, family: family, over: nil).map(\.description)
        }
        #expect(try await ask("media.EXAMPLE", .ipv4) == ["192.0.2.1"])
        #expect(try await ask("media.example", .ipv6) == ["2001:db8::1"])
        #expect(try await ask("other.example", .ipv4) == ["198.51.100.1"])
    }

    @Test("do not hold up a caller that was cancelled")
    func cancellation() async throws {
        let connector = Connector(resolver: ScriptedResolver([:]))
        let task = Task { try await connector.connect(host: "name.example", port: 9).report }
        for _ in 0..<3 { await Task.yield() }
        task.cancel()
        let error = await #expect(throws: ConnectionError.self) { _ = try await task.value }
        #expect(error?.code == .cancelled)
    }
}

@Suite("A connection that must be confirmed")
struct ConfirmedRaceTests {
    @Test("wins with the first that is confirmed, not with the first that is connected")
    func stalled() async throws {
        let (six, four) = try Self.bothFamilies()
        let discarded = Locked<[String]>([])
        let connector = Connector(resolver: Self.resolver)
        let cancelled = Locked(0)
        let (value, report) = try await connector.connect(
            host: "name.example", port: Int(six.port), Self.plain
        ) { entrant in
            guard entrant.remote.address.family == .ipv4 else {
                // TLS that never comes up.
                try? await Task.sleep(for: .seconds(60))
                cancelled.withLock { $0 += 1 }
                throw CancellationError()
            }
            return "IPv4"
        } discard: { value in
            discarded.withLock { $0.append(value) }
        }
        #expect(value == "IPv4")
        #expect(report.remote.address.family == .ipv4)
        #expect(report.attempts.map(\.outcome) == [.cancelled, .won])
        #expect(report.handshakeRTT != nil)
        let deadline = ContinuousClock.now + .seconds(10)
        while cancelled.withLock({ $0 }) == 0, ContinuousClock.now < deadline { await Task.yield() }
        #expect(cancelled.withLock { $0 } == 1)
        #expect(discarded.withLock { $0 } == [])
        _ = four
    }

    @Test("tries the next when one is refused, and says why each was")
    func refused() async throws {
        let (six, four) = try Self.bothFamilies()
        struct Refusal: Error, CustomStringConvertible { var description: String { "wrong certificate" } }
        let error = await #expect(throws: ConnectionError.self) {
            _ = try await Connector(resolver: Self.resolver).connect(
                host: "name.example", port: Int(six.port), Self.plain
            ) { _ -> Int in
                throw Refusal()
            } discard: { _ in
            }
        }
        #expect(error?.code == .allAttemptsFailed)
        #expect(error?.reason == "wrong certificate")
        #expect(error?.attempts.map(\.outcome) == Array(repeating: .failed("wrong certificate"), count: 2))
        _ = four
    }

    private static var plain: ConnectionConfiguration {
        var configuration = ConnectionConfiguration()
        configuration.protocols = [.tcp]
        configuration.attemptDelay = .milliseconds(20)
        return configuration
    }

    private static let resolver = ScriptedResolver([
        .ipv4: .answer(["127.0.0.1"], after: .milliseconds(500)), .ipv6: .answer(["::1"]),
    ])

    /// Listeners of both families on the same port.
    private static func bothFamilies() throws -> (LoopbackListener, LoopbackListener) {
        // The port may be another process's in IPv4.
        for _ in 0..<20 {
            let six = try LoopbackListener(.ipv6)
            if let four = try? LoopbackListener(.ipv4, port: six.port) { return (six, four) }
        }
        let six = try LoopbackListener(.ipv6)
        return (six, try LoopbackListener(.ipv4, port: six.port))
    }
}

/// Answers each family once, as it is told; a family it is told nothing about, never.
struct ScriptedResolver: Resolver {
    enum Answer {
        case answer([String], after: Duration = .zero)
        case failure(String)
    }

    let answers: [IPAddress.Family: Answer]
    var asksEachPath = false

    init(_ answers: [IPAddress.Family: Answer]) { self.answers = answers }

    func addresses(
        of host: String, family: IPAddress.Family, over path: PathInterface?
    ) async throws(ResolutionError) -> [IPAddress] {
        switch answers[family] {
        case .answer(let addresses, let delay):
            try? await Task.sleep(for: delay)
            return addresses.compactMap { IPAddress($0) }
        case .failure(let reason): throw ResolutionError(reason)
        case nil:
            // Until the race is over: it cancels what it no longer needs.
            try? await Task.sleep(for: .seconds(3600))
            throw ResolutionError("cancelled")
        }
    }
}

/// A listener on loopback that never accepts; the kernel completes the handshakes.
final class LoopbackListener: Sendable {
    let port: UInt16
    private let socket: StreamSocket

    init(_ family: IPAddress.Family, port: UInt16 = 0) throws {
        let socket = try StreamSocket(family, .tcp)
        try socket.listen(
            on: IPEndpoint(IPAddress(family == .ipv4 ? "127.0.0.1" : "::1")!, port: port), backlog: 4096)
        self.port = socket.localEndpoint?.port ?? 0
        self.socket = socket
    }
}
