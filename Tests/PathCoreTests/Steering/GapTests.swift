import PathCore
import SteeringSimulation
import Testing

/// What the end of a subflow leaves out of what is sent again (net/mptcp/protocol.c).
@Suite("A gap in the data")
struct GapTests {
    /// Messages that follow each other more closely than a round trip, and Wi-Fi dies in silence.
    private func story(_ pattern: SimulatedTraffic.Pattern, gaps: Int) -> Story {
        var story = Story()
        story.mode = .aggregate
        story.paths[1].isExpensive = false
        story.traffic = SimulatedTraffic([(.zero, pattern)])
        story.changes = [(.seconds(2), .open(0, upwards: false, downwards: false))]
        story.gaps = gaps
        return story
    }

    private func read(_ end: SimulatedEnd, _ story: Story, until time: Duration) -> Int {
        story.run(until: time).chunksRead(by: end)
    }

    @Test(
        "that a kernel leaves when a path is left is closed by a successor",
        arguments: [1, 2],
        [
            (SimulatedTraffic.Pattern.upload(every: .milliseconds(5)), SimulatedEnd.server),
            (.download(every: .milliseconds(5)), .client),
        ])
    func closed(gaps: Int, direction: (pattern: SimulatedTraffic.Pattern, reader: SimulatedEnd)) {
        let story = story(direction.pattern, gaps: gaps)
        let world = story.run(until: .seconds(6))
        let left = world.events(from: .seconds(2)).filter {
            if case .left(_, because: .stuck) = $0.event { true } else { false }
        }
        #expect(left.count == gaps, "\(world.lines(from: .seconds(2)))")
        // Two seconds later everything is there.
        let whole = self.story(direction.pattern, gaps: 0)
        #expect(
            world.chunksRead(by: direction.reader) >= read(direction.reader, whole, until: .seconds(6)) - 20)
    }

    @Test("is none where a reader takes its time, or all came over the other path")
    func none() {
        for pattern in [
            SimulatedTraffic.Pattern.upload(every: .milliseconds(5)), .download(every: .milliseconds(5)),
            .requests(answers: 1, pause: .milliseconds(3)),
        ] {
            let world = story(pattern, gaps: 0).run(until: .seconds(6))
            let stuck = world.events(from: .seconds(2)).filter {
                if case .left(_, because: .stuck) = $0.event { true } else { false }
            }
            #expect(stuck.isEmpty)
        }
    }
}
