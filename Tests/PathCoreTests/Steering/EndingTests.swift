import SteeringSimulation
import Testing

@testable import PathCore

/// Wi-Fi carries, cellular is expensive and not joined.
@Suite("A connection that is to send no more, or may not be joined")
struct EndingTests {
    private static let token = ConnectionToken(7)
    private static let remote = IPEndpoint(IPAddress(ipv4: 0x0A00_0001), port: 443)
    private static let local = IPEndpoint(SimulatedPath.wifi().address, port: 40_001)

    private let world = Simulation(paths: [.wifi(), .cellular()], traffic: SimulatedTraffic([]))

    private func at(_ milliseconds: Int64) -> MonotonicTime {
        MonotonicTime(nanoseconds: milliseconds * 1_000_000)
    }

    private func machine(_ isAcceptor: Bool = false) -> SteeringMachine {
        var machine = SteeringMachine(
            SteeringConfiguration(mode: .handover, isAcceptor: isAcceptor),
            SteeredConnection(token: Self.token, local: Self.local, remote: Self.remote, interface: 3),
            at: .zero)
        #expect(machine.begin(world.snapshot(), at: .zero).isEmpty)
        return machine
    }

    private func sample(peerHasEnded: Bool = false, acknowledged: UInt64 = 100) -> TransportSample {
        var connection = ConnectionSample(token: Self.token)
        connection.acknowledged = acknowledged
        connection.peerHasEnded = peerHasEnded
        var subflow = SubflowSample(id: 0)
        (subflow.local, subflow.remote, subflow.state) = (Self.local, Self.remote, .established)
        return TransportSample(kind: .mptcp(token: 7), subflows: [subflow], connection: connection)
    }

    @Test("waits for the other path to stand by before it does")
    func waits() {
        var machine = machine()
        _ = machine.sample(sample(), at: at(20))
        let actions = machine.prepareToEnd(at: at(30))
        #expect(
            actions.contains {
                if case .perform(.create(let address, true, Self.remote)) = $0 {
                    address.interface == 4
                } else {
                    false
                }
            })
        #expect(!actions.contains(.preparedToEnd))
        #expect(!machine.sample(sample(), at: at(30)).contains(.preparedToEnd))
        // The peer holds the new one for established a round trip after its handshake.
        let facts = SubflowFacts(
            local: IPEndpoint(SimulatedPath.cellular().address, port: 40_002), remote: Self.remote)
        let opened = machine.event(.subflowEstablished(Self.token, facts, error: nil), at: at(70))
        #expect(!opened.contains(.preparedToEnd))
        #expect(!machine.timeReached(at(100)).contains(.preparedToEnd))
        #expect(machine.timeReached(at(112)).contains(.preparedToEnd))
    }

    @Test("waits for a handshake no longer than a second, and is waked for that")
    func waitsNoLonger() {
        var machine = machine()
        _ = machine.sample(sample(), at: at(20))
        _ = machine.prepareToEnd(at: at(30))
        _ = machine.sample(sample(), at: at(30))
        // A handshake that takes too long is looked at in the same moment.
        #expect(!machine.timeReached(at(1029)).contains(.preparedToEnd))
        #expect(machine.nextDeadline.map { $0 <= at(1030) } ?? false)
        #expect(machine.timeReached(at(1030)).contains(.preparedToEnd))
        #expect(!machine.timeReached(at(1031)).contains(.preparedToEnd))
    }

    @Test("waits for nothing where the peer has ended, or where nothing was ever sent")
    func waitsForNothing() {
        var ended = machine()
        _ = ended.sample(sample(peerHasEnded: true), at: at(20))
        #expect(ended.prepareToEnd(at: at(30)).isEmpty)
        #expect(ended.sample(sample(peerHasEnded: true), at: at(30)) == [.preparedToEnd])
        var silent = machine()
        _ = silent.prepareToEnd(at: at(30))
        #expect(silent.sample(sample(acknowledged: 0), at: at(30)) == [.preparedToEnd])
    }

    @Test("orders no subflow once it has")
    func ordersNone() {
        var machine = machine()
        machine.hasEndedSending()
        _ = machine.sample(sample(), at: at(20))
        #expect(machine.prepareToEnd(at: at(30)) == [.preparedToEnd])
    }

    @Test(
        "keeps the subflow that it has where the peer denies others, whatever the monitor tells then",
        arguments: [false, true])
    func denied(isAcceptor: Bool) {
        var machine = machine(isAcceptor)
        let facts = SubflowFacts(local: Self.local, remote: Self.remote)
        let event = SubflowEvent.established(Self.token, facts, isServer: isAcceptor, deniesJoinToFirst: true)
        #expect(machine.event(event, at: at(10)).isEmpty)
        #expect(machine.snapshot(world.snapshot(), at: at(20)).isEmpty)
        #expect(machine.sample(sample(), at: at(30)).isEmpty)
    }
}
