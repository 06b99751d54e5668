import PathCore
import TestSupport
import Testing

@testable import LinuxNet
@testable import Multipath

@Suite("An observer")
struct ConnectionObserverTests {
    /// Writes down all it hears.
    private final class Log: ConnectionObserver, ConnectionObservation {
        private let state = Locked<[String]>([])
        var lines: [String] { state.withLock { $0 } }
        private func add(_ line: String) { state.withLock { $0.append(line) } }

        func connecting(
            host: String, port: Int, _ configuration: ConnectionConfiguration
        ) -> (any ConnectionObservation)? {
            add("connecting to \(host) \(configuration.mode)")
            return self
        }

        func connected(_ report: EstablishmentReport) { add("connected by \(report.transport.name)") }

        func failed(_ error: ConnectionError) { add("failed \(error.code) \(error.attempts.count)") }

        func closed(_ report: TransferReport) { add("closed \(report.bytesSent) \(report.bytesReceived)") }
    }

    /// Observes no connection.
    private struct Deaf: ConnectionObserver {
        func connecting(
            host: String, port: Int, _ configuration: ConnectionConfiguration
        ) -> (any ConnectionObservation)? { nil }
    }

    private func listener() async throws -> ListeningSocket {
        try await ListeningSocket(
            on: IPEndpoint(IPAddress(ipv4: 0x7F00_0001), port: 0), monitor: Connector.shared.monitor)
    }

    private func connector(_ observers: any ConnectionObserver...) -> Connector {
        Connector(monitor: Connector.shared.monitor, observers: observers)
    }

    @Test("hears that a connection is asked for, that it came about, and its end once")
    func connection() async throws {
        let (log, other) = (Log(), Log())
        let listener = try await listener()
        let connector = connector(log, Deaf(), other)
        let socket = try await connector.connect(host: "127.0.0.1", port: Int(listener.endpoint.port)) {
            $0.mode = .interactive
        }
        let follower = try socket.follow()
        follower.didSend(3)
        follower.didReceive(4)
        #expect(log.lines == ["connecting to 127.0.0.1 interactive", "connected by mptcp"])
        follower.stop()
        follower.stop()
        _ = consume socket
        #expect(
            log.lines == ["connecting to 127.0.0.1 interactive", "connected by mptcp", "closed 3 4"])
        #expect(other.lines == log.lines)
    }

    @Test("hears the end of a connection that is dropped")
    func dropped() async throws {
        let log = Log()
        let listener = try await listener()
        do {
            let socket = try await connector(log).connect(
                host: "127.0.0.1", port: Int(listener.endpoint.port))
            #expect(socket.report.transport == .mptcp)
        }
        #expect(log.lines == ["connecting to 127.0.0.1 handover", "connected by mptcp", "closed 0 0"])
    }

    @Test("hears of failures with their attempts, and of what was cancelled")
    func failures() async throws {
        let log = Log()
        await #expect(throws: ConnectionError.self) {
            _ = try await connector(log).connect(host: "127.0.0.1", port: 1)
        }
        await #expect(throws: ConnectionError.self) {
            _ = try await connector(log).connect(host: "127.0.0.1", port: 1) {
                $0.prohibitedInterfaceTypes = [.loopback]
            }
        }
        let waiting = Task {
            _ = try? await connector(log).connect(host: "127.0.0.1", port: 1) {
                $0.prohibitedInterfaceTypes = [.loopback]
                $0.waitsForPath = true
                $0.connectTimeout = .seconds(60)
            }
        }
        waiting.cancel()
        await waiting.value
        #expect(
            log.lines.filter { $0.hasPrefix("failed") }
                == ["failed all_attempts_failed 2", "failed no_allowed_path 0", "failed cancelled 0"])
    }

    @Test("hears first of a confirmed connection and then of its end, though that came sooner")
    func confirmed() async throws {
        let log = Log()
        let listener = try await listener()
        let (_, report) = try await connector(log).connect(
            host: "127.0.0.1", port: Int(listener.endpoint.port), ConnectionConfiguration()
        ) { entrant in
            let follower = try entrant.makeFollower()
            follower.didSend(1)
            follower.stop()
        } discard: { _ in
        }
        #expect(report.transport == .mptcp)
        #expect(log.lines == ["connecting to 127.0.0.1 handover", "connected by mptcp", "closed 1 0"])
    }
}
