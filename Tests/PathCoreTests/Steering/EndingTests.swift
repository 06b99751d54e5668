import SteeringSimulation
import Testing

@testable import PathCore

/// Wi-Fi carries, cellular is expensive and not joined.
@Suite("A connection that is to send no more, or may not be joined")
struct EndingTests {
    @Test("waits for the other path to stand by before it does")
    func waits() {
        var machine = HandFed.machine()
        _ = machine.sample(HandFed.sample(), at: at(20))
        let actions = machine.prepareToEnd(at: at(30))
        #expect(
            actions.contains {
                if case .perform(.create(let address, true, HandFed.remote)) = $0 {
                    address.interface == 4
                } else {
                    false
                }
            })
        #expect(!actions.contains(.preparedToEnd))
        #expect(!machine.sample(HandFed.sample(), at: at(30)).contains(.preparedToEnd))
        // The peer holds the new one for established a round trip after its handshake.
        let facts = SubflowFacts(
            local: IPEndpoint(SimulatedPath.cellular().address, port: 40_002), remote: HandFed.remote)
        let opened = machine.event(.subflowEstablished(HandFed.token, facts, error: nil), at: at(70))
        #expect(!opened.contains(.preparedToEnd))
        #expect(!machine.timeReached(at(100)).contains(.preparedToEnd))
        #expect(machine.timeReached(at(112)).contains(.preparedToEnd))
    }

    @Test("waits for a handshake no longer than a second, and is waked for that")
    func waitsNoLonger() {
        var machine = HandFed.machine()
        _ = machine.sample(HandFed.sample(), at: at(20))
        _ = machine.prepareToEnd(at: at(30))
        _ = machine.sample(HandFed.sample(), at: at(30))
        // A handshake that takes too long is looked at in the same moment.
        #expect(!machine.timeReached(at(1029)).contains(.preparedToEnd))
        #expect(machine.nextDeadline.map { $0 <= at(1030) } ?? false)
        #expect(machine.timeReached(at(1030)).contains(.preparedToEnd))
        #expect(!machine.timeReached(at(1031)).contains(.preparedToEnd))
    }

    @Test("waits for nothing where the peer has ended, or where nothing was ever sent")
    func waitsForNothing() {
        var ended = HandFed.machine()
        _ = ended.sample(HandFed.sample(peerHasEnded: true), at: at(20))
        #expect(ended.prepareToEnd(at: at(30)).isEmpty)
        #expect(ended.sample(HandFed.sample(peerHasEnded: true), at: at(30)) == [.preparedToEnd])
        var silent = HandFed.machine()
        _ = silent.prepareToEnd(at: at(30))
        #expect(silent.sample(HandFed.sample(acknowledged: 0), at: at(30)) == [.preparedToEnd])
    }

    @Test("orders no subflow once it has")
    func ordersNone() {
        var machine = HandFed.machine()
        machine.hasEndedSending()
        _ = machine.sample(HandFed.sample(), at: at(20))
        #expect(machine.prepareToEnd(at: at(30)) == [.preparedToEnd])
    }

    @Test(
        "keeps the subflow that it has where the peer denies others, whatever the monitor tells then",
        arguments: [false, true])
    func denied(isAcceptor: Bool) {
        var machine = HandFed.machine(isAcceptor: isAcceptor)
        let facts = SubflowFacts(local: HandFed.local, remote: HandFed.remote)
        let event = SubflowEvent.established(
            HandFed.token, facts, isServer: isAcceptor, deniesJoinToFirst: true)
        #expect(machine.event(event, at: at(10)).isEmpty)
        #expect(machine.snapshot(HandFed.snapshot(), at: at(20)).isEmpty)
        #expect(machine.sample(HandFed.sample(), at: at(30)).isEmpty)
    }

    @Test(
        "is told that no path is left where its last subflow ends, but not where both ends have said all",
        arguments: [false, true], [false, true])
    func lastSubflow(isAnnounced: Bool, peerHasEnded: Bool) {
        var machine = HandFed.machine()
        _ = machine.sample(HandFed.sample(waiting: 10), at: at(20))
        machine.hasEndedSending()
        var actions: [SteeringAction] = []
        if isAnnounced {
            let facts = SubflowFacts(local: HandFed.local, remote: HandFed.remote)
            actions = machine.event(.subflowClosed(HandFed.token, facts, SubflowEnd()), at: at(30))
            // What the latest sample told may be over.
            #expect(!actions.contains(.tell(.stranded)))
            #expect(machine.agenda.needsSample(at: at(30)) && !machine.agenda.mayGlance(at: at(30)))
        }
        var last = HandFed.sample(peerHasEnded: peerHasEnded)
        last.subflows = []
        actions += machine.sample(last, at: at(30))
        #expect(actions.contains(.tell(.stranded)) == !peerHasEnded)
    }
}
