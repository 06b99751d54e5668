import Foundation
import PathCore
import TestSupport
import Testing

@testable import LinuxNet
@testable import Multipath

@Suite("What one connection finds out about its path", .needsNamespaces, .needs("unshare"))
struct SuspicionTests {
    /// A connection that sends a byte into the silence and waits for the verdict.
    private func sendIntoSilence(_ connection: LeasedSocket) {
        #expect(send(connection.descriptor, "x", 1, 0) == 1)
        connection.follower.didSend(1)
    }

    /// A second path is tried only where a verdict says so, however long the first one takes.
    private func connect(_ connector: Connector) async throws -> ConnectedSocket {
        try await connector.connect(host: "203.0.113.1", port: 5000) {
            $0.protocols = [.tcp]
            $0.attemptDelay = .seconds(20)
        }
    }

    @Test("has the next connection begin over the other path at once, until the path answers", .inNamespace)
    func next() async throws {
        let network = try TwoPathServer()
        let monitor = PathMonitor()
        let first = try await LeasedSocket(connect(Connector(monitor: monitor)), policy: PathPolicy())
        #expect(first.report.path == "wlan0")
        try network.silenceWiFi(true)
        let verdict = OneShot()
        first.follower.observe { event in
            if event == .viabilityChanged(isViable: false, reason: .noAcknowledgement) { verdict.fire() }
        }
        sendIntoSilence(first)
        await verdict.wait()

        let second = try await connect(Connector(monitor: monitor)).report
        #expect(second.path == "wwan0")
        #expect(second.attempts.map(\.path) == ["wlan0", "wwan0"])
        #expect(second.attempts[0].startedAfter == second.attempts[1].startedAfter)

        try network.silenceWiFi(false)
        try await Program.wait("a retransmission that is acknowledged") {
            let path = try await monitor.currentPath()
            return monitor.suspicions.suspects(in: path, at: .now).isEmpty
        }
        let third = try await connect(Connector(monitor: monitor)).report
        #expect(third.attempts.map(\.path) == ["wlan0"])
        first.close()
    }

    @Test("counts as well where it is a steered one, that goes on over another path")
    func steered() {
        let path = PathInterface(index: 3, name: "wlan0", type: Verdict(.wifi, .kernel))
        let (board, snapshot) = (SuspicionBoard(), PathSnapshot(interfaces: [path]))
        let told = Locked(0)
        let observation = board.observe { told.withLock { $0 += 1 } }
        var suspects: [Set<InterfaceIndex>] = []
        for event: SteeringEvent in [
            .suspected("wlan0", .noAnswer), .failed("wlan0", .noCarrier), .failed("eth0", .noAnswer),
            .failed("wlan0", .noAnswer), .answered("eth0"), .answered("wlan0"),
        ] {
            board.ingest(event, in: snapshot)
            suspects.append(board.suspects(in: snapshot, at: .now))
        }
        #expect(suspects == [[], [], [], [3], [3], []])
        #expect(told.withLock { $0 } == 2)
        board.endObservation(observation)
    }

    @Test("has a race go on over the other path that waits for this one", .inNamespace)
    func running() async throws {
        let network = try TwoPathServer()
        let monitor = PathMonitor()
        let first = try await LeasedSocket(connect(Connector(monitor: monitor)), policy: PathPolicy())
        try network.silenceWiFi(true)
        sendIntoSilence(first)
        let second = try await connect(Connector(monitor: monitor)).report
        #expect(second.path == "wwan0")
        #expect(second.attempts.map(\.path) == ["wlan0", "wwan0"])
        #expect(second.attempts[1].startedAfter < .seconds(15))
        first.close()
    }
}
