import PathCore
import SteeringSimulation
import Testing

/// A link may be so slow that all a sender has queued takes seconds, and so may each repair.
@Suite("A slow stream")
struct SlowStreamTests {
    /// Fifty kilobytes a second over the only path: far less than a bulk transfer, and its server stops for a moment.
    private var story: Story {
        var story = Story()
        story.paths = [.wifi()]
        story.traffic = SimulatedTraffic([
            (.zero, .download(every: .milliseconds(20))), (.seconds(2), .idle),
            (.milliseconds(2700), .download(every: .milliseconds(20))), (.seconds(10), .idle),
        ])
        return story
    }

    @Test("keeps the other way that its sender was shown for as long as it goes on, and a second longer")
    func keepsSuccessor() throws {
        let world = story.run(until: .seconds(15))
        let lines = world.lines(from: .seconds(2))
        #expect(lines.contains("create wlan0"), "\(lines)")
        let end = try #require(
            world.steps.first { $0.end == .client && $0.words.hasPrefix("destroy wlan0") }?.time)
        #expect((11_000_000_000...12_000_000_000).contains(end), "\(world.lines())")
    }

    /// When the sender was shown another way, in milliseconds after the last byte of a stream over a path of so long a round
    /// trip, where each question is answered.
    private func offer(roundTrip: Duration) -> Int64? {
        var machine = HandFed.machine()
        var (received, lastAt) = (UInt64(0), Int64(0))
        for time in 1...9000 as ClosedRange<Int64> {
            if time <= 3000, time.isMultiple(of: 50) { (received, lastAt) = (received + 2000, time) }
            var sample = HandFed.download(
                received: received, early: 0, since: .milliseconds(time - lastAt))
            sample.subflows[0].receiverRTT = roundTrip
            var actions = machine.sample(sample, at: at(time)) + machine.timeReached(at(time))
            for case .startProbe(let path, _, _) in actions {
                actions += machine.probeAnswered(path, after: .milliseconds(20), at: at(time))
            }
            for case .perform(.create(let local, _, _)) in actions
            where local.address == HandFed.local.address {
                return time - 3000
            }
        }
        return nil
    }

    @Test("shows its sender another way only when a repair would have come: after two round trips and more")
    func offersLate() throws {
        #expect(250...450 ~= (try #require(offer(roundTrip: .milliseconds(40)))))
        #expect(1200...1700 ~= (try #require(offer(roundTrip: .milliseconds(600)))))
        // But not later than a sender gives a path up.
        #expect(2000...2500 ~= (try #require(offer(roundTrip: .seconds(9)))))
    }
}
