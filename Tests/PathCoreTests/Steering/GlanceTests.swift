import SteeringSimulation
import Testing

@testable import PathCore

/// Wi-Fi carries, cellular is expensive and not joined.
@Suite("One of many connections whose data moves")
struct GlanceTests {
    private static let pace = Duration.milliseconds(100)

    /// It has sent something, of which the last sample shows that all, or not all, is acknowledged.
    private func machine(waiting: UInt64 = 0) -> SteeringMachine {
        var machine = HandFed.machine()
        _ = machine.sample(HandFed.sample(acknowledged: 1), at: at(20))
        _ = machine.sample(HandFed.sample(acknowledged: 100, waiting: waiting), written: at(30), at: at(50))
        return machine
    }

    @Test("is looked at a pace later, with no sample, however long it has rested")
    func rested() {
        var machine = machine()
        #expect(machine.dataMovesCalmly(pace: Self.pace, at: at(3_600_000)) == at(3_600_100))
        #expect(machine.agenda.nextSample == nil)
        machine.glance()
        #expect(machine.dataMovesCalmly(pace: Self.pace, at: at(3_600_200)) == at(3_600_300))
    }

    @Test("needs a sample once it is long since one showed its round trips")
    func known() {
        var machine = machine()
        #expect(machine.dataMovesCalmly(pace: Self.pace, at: at(1000)) != nil)
        machine.glance()
        #expect(machine.dataMovesCalmly(pace: Self.pace, at: at(1000 + 200 * 100)) == nil)
    }

    @Test("needs a sample where the last one showed something under way")
    func waiting() {
        var machine = machine(waiting: 10)
        #expect(machine.dataMovesCalmly(pace: Self.pace, at: at(60_000)) == nil)
    }

    @Test("needs a sample where its paths have changed since the last one")
    func changed() {
        var machine = machine()
        _ = machine.snapshot(HandFed.snapshot(), at: at(1000))
        #expect(machine.dataMovesCalmly(pace: Self.pace, at: at(2000)) == nil)
    }

    @Test("needs a sample where it was busy alone since the last one, and nothing looked at it")
    func alone() {
        var machine = machine()
        machine.dataMoves(at: at(1000))
        machine.glance()
        #expect(machine.dataMovesCalmly(pace: Self.pace, at: at(2000)) == nil)
    }

    @Test(
        "needs a sample where answers were expected since the last one, or another connection found its path dead"
    )
    func ended() {
        var expecting = machine()
        expecting.expectData(true, at: at(1000))
        #expect(expecting.dataMovesCalmly(pace: Self.pace, at: at(2000)) == nil)
        var warned = machine()
        let verdict = PathVerdict(
            interface: 3, remote: HandFed.remote.address, trouble: .noAnswer, since: at(900))
        warned.sharedVerdict(verdict, at: at(1000))
        #expect(warned.dataMovesCalmly(pace: Self.pace, at: at(2000)) == nil)
    }

    @Test("is suspicious of what waits after the glance, but not where this process stood still meanwhile")
    func late() {
        func suspects(lookedAt time: Int64) -> Bool {
            var machine = machine()
            #expect(machine.dataMovesCalmly(pace: .milliseconds(400), at: at(60_000)) == at(60_400))
            let actions = machine.sample(
                HandFed.sample(acknowledged: 100, waiting: 10, since: at(60_000).duration(to: at(time))),
                written: at(60_000), at: at(time))
            return actions.contains { if case .tell(.suspected) = $0 { true } else { false } }
        }
        #expect(suspects(lookedAt: 60_401))
        #expect(!suspects(lookedAt: 60_900))
    }
}
