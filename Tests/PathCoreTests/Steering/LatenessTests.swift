import PathCore
import SteeringSimulation
import Testing

/// Nothing runs for a while: neither the process nor what is on the way.
@Suite("A machine that stood still")
struct LatenessTests {
    private static let frozen = Duration.seconds(2)...Duration.milliseconds(2400)

    private func story(_ mode: MultipathMode, _ pattern: SimulatedTraffic.Pattern) -> Story {
        var story = Story.free
        story.mode = mode
        story.traffic = SimulatedTraffic([(.zero, pattern)])
        story.freezes = [Self.frozen]
        return story
    }

    @Test(
        "takes no path for dead because of that",
        arguments: [MultipathMode.handover, .aggregate],
        [
            SimulatedTraffic.Pattern.upload(every: .milliseconds(5)), .download(every: .milliseconds(5)),
            .requests(answers: 1, pause: .milliseconds(5)),
        ])
    func noVerdict(mode: MultipathMode, pattern: SimulatedTraffic.Pattern) {
        let world = story(mode, pattern).run(until: .seconds(4))
        #expect(world.moves == 0)
        #expect(!world.events().contains { if case .failed = $0.event { true } else { false } })
    }

    @Test(
        "takes none for dead because of that where it has often been a little late before",
        arguments: [
            SimulatedTraffic.Pattern.upload(every: .milliseconds(5)), .download(every: .milliseconds(5)),
        ])
    func noVerdictWhereLateBefore(pattern: SimulatedTraffic.Pattern) {
        var story = story(.handover, pattern)
        story.freezes =
            (0..<8).map { number in
                let begin = Duration.milliseconds(1000 + 120 * number)
                return begin...begin + .milliseconds(40)
            } + [Self.frozen]
        // A hole in its way has it ask just before, and is over long before it runs again.
        story.changes = [
            (.milliseconds(1940), .open(0, upwards: false, downwards: false)),
            (.milliseconds(2200), .open(0, upwards: true, downwards: true)),
        ]
        let world = story.run(until: .seconds(4))
        #expect(world.moves == 0)
        #expect(!world.events().contains { if case .failed = $0.event { true } else { false } })
    }

    @Test("and has a server take none for dead, which can't ask")
    func server() {
        var story = story(.handover, .download(every: .milliseconds(5)))
        story.steersServer = true
        let world = story.run(until: .seconds(4))
        #expect(world.moves == 0)
        #expect(!world.events().contains { if case .failed = $0.event { true } else { false } })
    }

    @Test("finds a path dead all the same that died meanwhile")
    func verdict() throws {
        var story = story(.handover, .upload(every: .milliseconds(5)))
        story.freezes = [.seconds(2)...Duration.milliseconds(2100)]
        story.changes = [(.milliseconds(2099), .open(0, upwards: false, downwards: false))]
        let world = story.run(until: .seconds(5))
        let left = try #require(world.time(of: .left("wlan0", because: .trouble(.noAcknowledgement))))
        // The kernel has measured round trips of 100 ms.
        #expect(2100...3500 ~= left)
    }

    @Test("finds one dead though it is late each time")
    func alwaysLate() throws {
        var story = story(.handover, .upload(every: .milliseconds(5)))
        story.changes = [(.seconds(3), .open(0, upwards: false, downwards: false))]
        story.freezes = (0..<40).map { number in
            let begin = Duration.milliseconds(2000 + 120 * number)
            return begin...begin + .milliseconds(100)
        }
        let world = story.run(until: .seconds(7))
        let left = try #require(world.time(of: .left("wlan0", because: .trouble(.noAcknowledgement))))
        #expect(left < 4000)
    }
}
