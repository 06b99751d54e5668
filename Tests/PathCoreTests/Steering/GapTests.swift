import PathCore
import SteeringSimulation
import Testing

/// What comes after a gap fills the receive buffer (net/mptcp/protocol.c).
@Suite("A gap in the data")
struct GapTests {
    /// Messages that follow each other closely, and Wi-Fi dies in silence.
    private func run(
        _ pattern: SimulatedTraffic.Pattern, room: Int?, steersServer: Bool = false
    ) -> Simulation {
        var story = Story.free
        story.mode = .aggregate
        story.traffic = SimulatedTraffic([(.zero, pattern)])
        story.changes = [Story.silence]
        story.room = room
        story.steersServer = steersServer
        return story.run(until: .seconds(6))
    }

    private func widened(_ world: Simulation, by end: SimulatedEnd) -> Int {
        world.steps.count { $0.action == .widenReceiveBuffer && $0.end == end }
    }

    @Test("that finds no room any more is closed when there is more")
    func closed() {
        let world = run(.download(every: .milliseconds(2)), room: 10)
        #expect((1...3).contains(widened(world, by: .client)), "\(world.lines(from: .seconds(2)))")
        let whole = run(.download(every: .milliseconds(2)), room: nil)
        #expect(world.chunksRead(by: .client) >= whole.chunksRead(by: .client) - 20)
    }

    @Test("is closed at a server as well")
    func server() {
        let world = run(.upload(every: .milliseconds(2)), room: 10, steersServer: true)
        #expect((1...3).contains(widened(world, by: .server)), "\(world.lines(from: .seconds(2)))")
        let whole = run(.upload(every: .milliseconds(2)), room: nil, steersServer: true)
        #expect(world.chunksRead(by: .server) >= whole.chunksRead(by: .server) - 20)
    }

    @Test(
        "needs no room where there is enough",
        arguments: [
            SimulatedTraffic.Pattern.upload(every: .milliseconds(2)), .download(every: .milliseconds(2)),
            .requests(answers: 1, pause: .milliseconds(3)),
        ])
    func none(pattern: SimulatedTraffic.Pattern) {
        let world = run(pattern, room: 1096, steersServer: true)
        #expect(widened(world, by: .client) + widened(world, by: .server) == 0)
    }
}
