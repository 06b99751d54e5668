import SteeringSimulation
import Testing

@testable import PathCore

/// From a radio's readings to what steering does: `SignalDetector`, the snapshot, `HandoverPolicy`. Cellular is expensive.
@Suite("A radio's signal")
struct FadingSignalTests {
    /// - Parameter readings: in dBm, one each half second from the first second on.
    private func story(_ readings: [Int?]) -> Story {
        var story = Story()
        story.changes = readings.enumerated().map { place, reading in
            (.milliseconds(1_000 + 500 * place), .signal(0, reading))
        }
        return story
    }

    @Test(
        "that falls by 10 dB in two seconds, or below -75 dBm, warms cellular and moves nothing",
        arguments: [[-50, -52, -56, -61], [-74, -76]])
    func warms(readings: [Int]) {
        let world = story(readings).run(until: .seconds(5))
        #expect(world.lines() == ["create wwan0 as backup", "wwan0 joined"])
        #expect(world.moves == 0)
    }

    @Test(
        "that wavers, or falls slowly, does nothing",
        arguments: [[-60, -63, -60, -64], [-50, -52, -54, -56, -58, -60]])
    func steady(readings: [Int]) {
        #expect(story(readings).run(until: .seconds(6)).lines().isEmpty)
    }

    @Test("that is good again has cellular let go after five seconds")
    func recovers() {
        let lines = story([-60, -77, -76, -64, -60, -60, -60, -60]).run(until: .seconds(20)).lines()
        #expect(lines.prefix(2) == ["create wwan0 as backup", "wwan0 joined"])
        #expect(lines.contains("wwan0 left: not needed now"), "\(lines)")
    }

    @Test("that fell before the path fell silent saves the join: the data goes on over what stands by")
    func silence() throws {
        var warned = story([-50, -56, -62])
        warned.changes.append((.seconds(4), Story.silence.change))
        var unwarned = Story()
        unwarned.changes = [(.seconds(4), Story.silence.change)]
        func move(_ story: Story) throws -> Double {
            try #require(
                story.run(until: .seconds(6)).events().first {
                    if case .moved = $0.event { true } else { false }
                }
            ).time
        }
        let (with, without) = (try move(warned), try move(unwarned))
        #expect(with <= without, "\(with) ms, without a warning \(without)")
        let lines = warned.run(until: .seconds(6)).lines(from: .seconds(4))
        #expect(!lines.contains { $0.hasPrefix("create") }, "\(lines)")
    }
}
