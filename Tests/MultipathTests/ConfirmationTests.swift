import PathCore
import TestSupport
import Testing

@testable import LinuxNet
@testable import Multipath

/// Races whose attempts have to be confirmed, on loopback: both addresses take connections at once.
@Suite("The connector, where attempts are confirmed,")
struct ConfirmationTests {
    private static let first = IPAddress(ipv4: 0x7F00_0002)
    private static let second = IPAddress(ipv4: 0x7F00_0003)

    /// Listeners on one port of two addresses. The kernel completes their handshakes.
    private final class Listeners: Sendable {
        let port: UInt16
        private let one: StreamSocket
        private let two: StreamSocket

        init() throws {
            // The second address may have the port taken.
            for _ in 0..<20 {
                let one = try StreamSocket(.ipv4, .tcp)
                try one.listen(on: IPEndpoint(ConfirmationTests.first, port: 0))
                let port = try #require(one.localEndpoint?.port)
                let two = try StreamSocket(.ipv4, .tcp)
                do throws(SystemError) {
                    try two.listen(on: IPEndpoint(ConfirmationTests.second, port: port))
                } catch {
                    continue
                }
                self.port = port
                self.one = one
                self.two = two
                return
            }
            throw Program.TimedOut(description: "no port is free at both addresses")
        }
    }

    private struct Refusal: Error, CustomStringConvertible {
        var description: String
    }

    /// What happened to the descriptors that a race handed over.
    private final class Log: Sendable {
        private let state = Locked<[String]>([])
        var lines: [String] { state.withLock { $0 } }
        func add(_ line: String) { state.withLock { $0.append(line) } }
    }

    private func connector() -> Connector {
        Connector(resolver: StaticResolver(["server.example": [Self.first, Self.second]]))
    }

    /// Only plain TCP, so that there is one attempt for each address.
    private func configuration(timeout: Duration = .seconds(20)) -> ConnectionConfiguration {
        var configuration = ConnectionConfiguration()
        configuration.protocols = [.tcp]
        configuration.connectTimeout = timeout
        return configuration
    }

    /// Waits until the race ends it, as a TLS handshake that is not answered.
    private func stall(_ log: Log) async throws -> Never {
        do {
            while true { try await Task.sleep(for: .seconds(1)) }
        } catch {
            log.add("cancelled")
            throw error
        }
    }

    private func failure<Value>(
        _ body: () async throws(ConnectionError) -> Value
    ) async -> ConnectionError? {
        do throws(ConnectionError) {
            _ = try await body()
            return nil
        } catch {
            return error
        }
    }

    @Test("lets the first confirmed attempt win, and cancels the one that stalls after its handshake")
    func stalled() async throws {
        let listeners = try Listeners()
        let log = Log()
        let (value, report) = try await connector().connect(
            host: "server.example", port: Int(listeners.port), configuration()
        ) { entrant in
            guard entrant.remote.address == Self.second else { try await stall(log) }
            return "usable"
        } discard: { _ in
            log.add("discarded")
        }
        #expect(value == "usable")
        #expect(report.remote.address == Self.second)
        #expect(report.local?.address.isLoopback == true)
        #expect(report.handshakeRTT ?? .zero > .zero)
        #expect(report.attempts.map(\.outcome) == [.cancelled, .won])
        #expect(report.attempts.allSatisfy { $0.connectedAfter != nil })
        #expect(
            report.attempts.first.map { "\($0)" }?
                .hasSuffix("connected, but not confirmed when the race ended") == true)
        #expect(log.lines == ["cancelled"])
    }

    @Test("tells each attempt the destination's other addresses, over which its mode may join")
    func otherAddresses() async throws {
        let listeners = try Listeners()
        let (remotes, _) = try await connector().connect(
            host: "server.example", port: Int(listeners.port), configuration()
        ) { entrant in
            entrant.facts.addresses
        } discard: { _ in
        }
        #expect(
            remotes == [Self.first, Self.second])
    }

    @Test("goes on when a confirmation fails, and keeps its error's words")
    func failing() async throws {
        let listeners = try Listeners()
        let started = ContinuousClock.now
        let (_, report) = try await connector().connect(
            host: "server.example", port: Int(listeners.port), configuration()
        ) { entrant in
            guard entrant.remote.address == Self.second else { throw Refusal(description: "not him") }
        } discard: { _ in
        }
        #expect(report.attempts.map(\.outcome) == [.failed("not him"), .won])
        #expect(ContinuousClock.now - started < .seconds(10))
    }

    @Test("lists the words of every confirmation where all fail")
    func allFailing() async throws {
        let listeners = try Listeners()
        let error = try #require(
            await failure { () async throws(ConnectionError) in
                try await connector().connect(
                    host: "server.example", port: Int(listeners.port), configuration()
                ) {
                    entrant in
                    throw Refusal(description: "not \(entrant.remote.address.description)")
                } discard: { (_: Void) in
                }
            })
        #expect(error.code == .allAttemptsFailed)
        #expect(error.reason == "every attempt failed")
        #expect(error.attempts.map(\.outcome) == [.failed("not 127.0.0.2"), .failed("not 127.0.0.3")])
    }

    @Test("gives up at its timeout when nothing is confirmed, and ends every confirmation first")
    func timeout() async throws {
        let listeners = try Listeners()
        let log = Log()
        let error = try #require(
            await failure { () async throws(ConnectionError) in
                try await connector().connect(
                    host: "server.example", port: Int(listeners.port), configuration(timeout: .seconds(4))
                ) { _ in
                    try await stall(log)
                } discard: { (_: Void) in
                }
            })
        #expect(error.code == .timedOut)
        #expect(error.attempts.map(\.outcome) == [.cancelled, .cancelled])
        #expect(error.attempts.allSatisfy { $0.connectedAfter != nil })
        #expect(log.lines == ["cancelled", "cancelled"])
    }

    @Test("stops at once when its task is cancelled while an attempt waits for confirmation")
    func cancellation() async throws {
        let listeners = try Listeners()
        let log = Log()
        let port = listeners.port
        let task = Task {
            await failure { () async throws(ConnectionError) in
                try await connector().connect(host: "server.example", port: Int(port), configuration()) { _ in
                    log.add("begun")
                    try await stall(log)
                } discard: { (_: Void) in
                }
            }
        }
        try await Program.wait("a confirmation") { log.lines.contains("begun") }
        task.cancel()
        let error = try #require(await task.value)
        #expect(error.code == .cancelled)
        try await Program.wait("the end of each confirmation") {
            log.lines.count { $0 == "cancelled" } == log.lines.count { $0 == "begun" }
        }
    }

    @Test("discards what a confirmation made that came second")
    func second() async throws {
        let listeners = try Listeners()
        let log = Log()
        let (value, _) = try await connector().connect(
            host: "server.example", port: Int(listeners.port), configuration()
        ) { entrant in
            if entrant.remote.address == Self.first {
                // Ends well in spite of being cancelled: it was done when the news came.
                _ = try? await stall(log)
                return "late"
            }
            return "early"
        } discard: { value in
            log.add("discarded \(value)")
        }
        #expect(value == "early")
        try await Program.wait("the discarded value") { log.lines == ["cancelled", "discarded late"] }
    }

    @Test("leaves no descriptor behind, however its confirmations end")
    func descriptors() async throws {
        let listeners = try Listeners()
        func race(_ seed: Int) async {
            _ = await failure { () async throws(ConnectionError) in
                try await connector().connect(
                    host: "server.example", port: Int(listeners.port),
                    configuration(timeout: .milliseconds(300))
                ) { entrant in
                    if (seed + (entrant.remote.address == Self.first ? 0 : 1)) % 3 == 0 {
                        throw Refusal(description: "no")
                    }
                    if seed % 2 == 0 { try await stall(Log()) }
                } discard: { _ in
                }
            }
        }
        await race(0)
        let before = Self.socketCount(to: listeners.port)
        await withTaskGroup(of: Void.self) { group in
            for seed in 0..<30 { group.addTask { await race(seed) } }
        }
        try await Program.wait("the sockets' end") { Self.socketCount(to: listeners.port) <= before }
    }

    /// How many of this process's sockets have a port at the other end.
    private static func socketCount(to port: UInt16) -> Int {
        (CInt(0)..<1024).count { SocketOption.remoteEndpoint(of: $0)?.port == port }
    }
}
