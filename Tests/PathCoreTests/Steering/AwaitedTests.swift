import PathCore
import SteeringSimulation
import Testing

/// A connection whose user says when it awaits bytes, as HTTP clients do, and Wi-Fi that may have lost them.
@Suite("A steered connection whose user says what it awaits")
struct AwaitedTests {
    @Test(
        "shows no other way where a stream ends with what was awaited, and does not ask a lone path",
        arguments: [1, 2], MultipathMode.allCases)
    func answered(paths: Int, mode: MultipathMode) {
        func orders(awaits: Bool) -> [String] {
            var story = Story.free
            story.mode = mode
            if paths == 1 { story.paths = [.wifi()] }
            story.traffic = SimulatedTraffic([
                (.zero, .download(every: .milliseconds(20))), (.seconds(2), .idle),
            ])
            // As late as an HTTP connection tells.
            if awaits {
                story.changes = [
                    (.milliseconds(500), .awaits(true)), (.milliseconds(2200), .awaits(false)),
                ]
            }
            return story.run(until: .seconds(60)).lines(from: .seconds(2))
        }
        #expect(!orders(awaits: true).contains { $0.hasPrefix("create") })
        if paths == 1 { #expect(!orders(awaits: true).contains { $0.hasPrefix("probe") }) }
        #expect(orders(awaits: false).contains { $0.hasPrefix("create") })
    }

    @Test("asks about messages that come seldom, where they are awaited and stay away")
    func awaitedMessages() throws {
        var story = Story.free
        story.traffic = SimulatedTraffic([(.zero, .download(every: .milliseconds(500)))])
        story.changes = [
            (.milliseconds(600), .awaits(true)),
            (.milliseconds(3300), .open(0, upwards: false, downwards: false)),
        ]
        let world = story.run(until: .milliseconds(7900))
        let failed = try #require(world.time(of: .failed("wlan0", .noAnswer)))
        // The last came at 3,010 ms. They are 500 ms apart: the first probe comes at the longest pause, 400 ms, and two more
        // are to prove it in the second after that.
        #expect((1200..<1600).contains(failed - 3010))
        // Those that were lost came over the other path, and so do all others.
        #expect(world.chunksRead(by: .client) == 16)
        #expect(world.moves == 1)
    }

    @Test(
        "asks an awaited peer that says nothing four times, ever less often; one that is not awaited, never",
        arguments: [true, false])
    func awaitedInVain(isAwaited: Bool) {
        var story = Story.free
        story.traffic = SimulatedTraffic([
            (.zero, .requests(answers: 1, pause: .milliseconds(100))), (.seconds(1), .idle),
        ])
        if isAwaited { story.changes = [(.seconds(2), .awaits(true)), (.seconds(120), .awaits(false))] }
        let world = story.run(until: .seconds(300))
        let probes = world.steps.filter { $0.words == "probe wlan0" }.map { $0.time / 1_000_000 }
        // An answer takes up to 30 ms.
        let expected: [ClosedRange<Int64>] = [
            2120...2140, 2370...2390, 4000...4010, 22_000...22_010,
        ]
        #expect(probes.count == (isAwaited ? expected.count : 0), "\(probes)")
        #expect(zip(expected, probes).allSatisfy { $0.contains($1) }, "\(probes)")
        #expect(world.moves == 0)
        // Only a stream's sender is shown another way.
        #expect(world.creations == 1)
    }

    @Test("asks about what is awaited also over a subflow that has taken a forgotten one's place")
    func awaitedOverSuccessor() {
        var story = Story.free
        story.traffic = SimulatedTraffic([(.zero, .upload(every: .milliseconds(100))), (.seconds(5), .idle)])
        story.changes = [
            (.seconds(2), .awaits(true)), (.seconds(3), .forget(0)),
            (.seconds(6), .open(0, upwards: false, downwards: false)),
        ]
        let world = story.run(until: .seconds(15))
        #expect(world.time(of: .left("wlan0", because: .stuck), from: .seconds(3)) != nil)
        #expect(world.time(of: .failed("wlan0", .noAnswer), from: .seconds(6)) != nil)
        #expect(world.moves == 1)
    }

    @Test(
        "does not give up a quiet path for a radio that sleeps, nor a lone one whatever is lost",
        arguments: [
            (silent: 600, paths: 2, end: 60_000), (silent: 5000, paths: 1, end: 60_000),
            // What was awaited is given up meanwhile.
            (silent: 600, paths: 2, end: 2300), (silent: 5000, paths: 1, end: 2400),
        ])
    func awaitedOnSleepyRadio(silent: Int64, paths: Int, end: Int64) {
        var story = Story.free
        story.traffic = SimulatedTraffic([
            (.zero, .requests(answers: 1, pause: .milliseconds(100))), (.seconds(1), .idle),
        ])
        story.changes = [
            (.seconds(2), .awaits(true)), (.milliseconds(2100), .open(0, upwards: false, downwards: false)),
            (.milliseconds(2100 + silent), .open(0, upwards: true, downwards: true)),
            (.milliseconds(end), .awaits(false)),
        ]
        if paths == 1 { story.changes.append((.zero, .carrier(1, false))) }
        let world = story.run(until: .seconds(60))
        #expect(world.time(of: .failed("wlan0", .noAnswer)) == nil)
        #expect(world.moves == 0)
        #expect(world.steps.contains { $0.words == "probe wlan0" })
    }

    @Test("does not wait for a radio that may sleep where data of its own waits as well")
    func awaitedWhileDataWaits() throws {
        var story = Story.free
        story.traffic = SimulatedTraffic([
            (.zero, .requests(answers: 1, pause: .milliseconds(100))), (.seconds(1), .idle),
            (.milliseconds(2200), .upload(every: .milliseconds(100))),
        ])
        story.changes = [
            (.seconds(2), .awaits(true)), (.milliseconds(2100), .open(0, upwards: false, downwards: false)),
        ]
        let world = story.run(until: .seconds(5))
        let failed = try #require(
            world.events().first { if case .failed("wlan0", _) = $0.event { true } else { false } })
        #expect(failed.time < 2700)
        #expect(world.moves == 1)
    }
}
