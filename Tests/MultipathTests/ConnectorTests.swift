import PathCore
import TestSupport
import Testing

@testable import LinuxNet
@testable import Multipath

@Suite("The connector")
struct ConnectorTests {
    private let connector = Connector.shared

    /// A listener on loopback that never accepts; the kernel completes handshakes until its queue is full.
    private final class Listener: Sendable {
        let port: UInt16
        private let socket: StreamSocket

        init(_ transport: TransportProtocol, backlog: CInt = 16) throws {
            let socket = try StreamSocket(.ipv4, transport)
            try socket.listen(on: IPEndpoint(IPAddress(ipv4: 0x7F00_0001), port: 0), backlog: backlog)
            port = socket.localEndpoint?.port ?? 0
            self.socket = socket
        }
    }

    private func failure(
        _ host: String, _ port: UInt16,
        _ configure: @Sendable (inout ConnectionConfiguration) -> Void = { _ in }
    ) async -> ConnectionError? {
        do throws(ConnectionError) {
            _ = try await connector.connect(host: host, port: Int(port), configure: configure)
            return nil
        } catch {
            return error
        }
    }

    @Test("connects by MPTCP where the peer speaks it, and says so")
    func mptcp() async throws {
        let listener = try Listener(.mptcp)
        let report = try await connector.connect(host: "127.0.0.1", port: Int(listener.port)).report
        #expect(report.transport == .mptcp)
        #expect(report.path == "lo")
        #expect(report.attempts.map(\.outcome) == [.won])
        #expect(report.attempts.map(\.transport) == [.mptcp])
        #expect(report.handshakeRTT ?? .zero > .zero)
    }

    @Test("falls back to TCP in the same handshake, and names the peer as the reason")
    func tcpPeer() async throws {
        let listener = try Listener(.tcp)
        let report = try await connector.connect(host: "127.0.0.1", port: Int(listener.port)).report
        #expect(report.transport == .tcp(fallback: .peer))
        #expect(report.attempts.map(\.outcome) == [.won])
    }

    @Test("asks for plain TCP alone where MPTCP is not wanted")
    func disabled() async throws {
        let listener = try Listener(.mptcp)
        let report = try await connector.connect(host: "127.0.0.1", port: Int(listener.port)) {
            $0.protocols = [.tcp]
        }.report
        #expect(report.transport == .tcp(fallback: .disabled))
        #expect(report.attempts.map(\.transport) == [.tcp])
    }

    @Test("asks for MPTCP alone where plain TCP is not wanted beside it")
    func withoutPlainAttempts() async throws {
        let port = try Listener(.tcp).port
        let error = await #expect(throws: ConnectionError.self) {
            _ = try await connector.connect(host: "127.0.0.1", port: Int(port)) { $0.protocols = [.mptcp] }
        }
        #expect(error?.attempts.map(\.transport) == [.mptcp])
    }

    @Test("lists every attempt when all are refused")
    func refused() async throws {
        let port = try Listener(.tcp).port
        let error = try #require(await failure("127.0.0.1", port))
        #expect(error.code == .allAttemptsFailed)
        #expect(error.reason == "Connection refused")
        #expect(error.attempts.map(\.transport) == [.mptcp, .tcp])
        #expect(error.attempts.map(\.outcome) == Array(repeating: .failed("Connection refused"), count: 2))
        #expect("\(error)" == "127.0.0.1:\(port): Connection refused")
    }

    @Test("gives up at its timeout when no answer comes, with what it tried")
    func timeout() async throws {
        let full = try Listener(.tcp, backlog: 0)
        // One connection fills a queue of 0; the next SYN is dropped without a word.
        let first = try await connector.connect(host: "127.0.0.1", port: Int(full.port))
        let started = ContinuousClock.now
        let error = try #require(
            await failure("127.0.0.1", full.port) { $0.connectTimeout = .seconds(2) })
        #expect(error.code == .timedOut)
        #expect(error.attempts.map(\.outcome) == [.cancelled, .cancelled])
        #expect(ContinuousClock.now - started < .seconds(15))
        _ = first.report
    }

    @Test("stops at once when its task is cancelled")
    func cancellation() async throws {
        let full = try Listener(.tcp, backlog: 0)
        let first = try await connector.connect(host: "127.0.0.1", port: Int(full.port))
        let task = Task { await failure("127.0.0.1", full.port) { $0.connectTimeout = .seconds(60) } }
        // Cancelled before, while or after the race begins: the answer is the same.
        for _ in 0..<3 { await Task.yield() }
        task.cancel()
        let error = try #require(await task.value)
        #expect(error.code == .cancelled)
        _ = first.report
    }

    @Test("sends nothing over a path that is prohibited, and says why for each")
    func prohibited() async throws {
        let listener = try Listener(.tcp)
        let error = try #require(
            await failure("127.0.0.1", listener.port) { $0.prohibitedInterfaceTypes = [.loopback] })
        #expect(error.code == .noAllowedPath)
        #expect(error.attempts == [])
        #expect(error.omissions.first { $0.interface == "lo" }?.refusal == .prohibitedType)
    }

    @Test("says when a required interface does not exist")
    func required() async throws {
        let error = try #require(await failure("127.0.0.1", 1) { $0.requiredInterface = "nowhere0" })
        #expect(error.code == .noAllowedPath)
        #expect(error.reason == "no interface is named nowhere0")
    }

    @Test("leaves nothing of a race behind, whether it is won or lost")
    func memory() async throws {
        let listener = try Listener(.tcp)
        let monitor = PathMonitor()
        let snapshot = try await monitor.currentPath()
        // Nothing listens at port 1.
        for (port, wins) in [(listener.port, true), (1, false)] {
            let request = ConnectRequest(
                Connector(monitor: monitor), "127.0.0.1", port, ConnectionConfiguration())
            weak var race: RaceRunner?
            do {
                let runner = request.runner(snapshot, begun: .now)
                race = runner
                let result = await runner.run()
                #expect((result.winner != nil) == wins)
            }
            try await Program.wait("the end of the race") { race == nil }
        }
    }

    @Test("leaves no descriptor behind, whether it wins or loses")
    func descriptors() async throws {
        let listener = try Listener(.tcp, backlog: 128)
        let closed = try Listener(.tcp).port
        _ = await failure("127.0.0.1", closed)
        let before = socketCount()
        for _ in 0..<50 {
            _ = try await connector.connect(host: "127.0.0.1", port: Int(listener.port))
            _ = await failure("127.0.0.1", closed)
        }
        #expect(socketCount() <= before + 8, "other tests run beside this one")
    }

    /// The process's open sockets.
    private func socketCount() -> Int {
        var count = 0
        for descriptor in CInt(0)..<1024 where SocketOption.localEndpoint(of: descriptor) != nil {
            count += 1
        }
        return count
    }
}
