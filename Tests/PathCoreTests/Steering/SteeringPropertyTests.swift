import PathCore
import SteeringSimulation
import Testing

@Suite("Steering, by numbers")
struct SteeringPropertyTests {
    static let modes = MultipathMode.allCases

    @Test(
        "a warm path's silence is certain within three and a half round trips",
        arguments: [20, 40, 80, 150], [0, 7, 13])
    func verdict(roundTrip: Int, offset: Int) throws {
        var story = Story.free
        story.paths[0] = .wifi(.milliseconds(roundTrip))
        story.traffic = SimulatedTraffic([(.zero, .requests(answers: 1, pause: .milliseconds(1)))])
        let start = Duration.milliseconds(3000 + offset)
        story.changes = [(start, .open(0, upwards: false, downwards: false))]
        let world = story.run(until: .seconds(6))
        let failed = try #require(world.time(of: .failed("wlan0", .noAcknowledgement)))
        #expect((failed - start.inMilliseconds) / Double(roundTrip) <= 3.5)
    }

    @Test(
        "the uplink's end under a download is certain within fifteen round trips, whatever the peer sends again",
        arguments: [0, 0.02, 0.05], 1...8 as ClosedRange<UInt64>)
    func uplink(loss: Double, seed: UInt64) throws {
        var story = Story.free
        story.seed = seed
        story.paths[0].loss = loss
        story.traffic = SimulatedTraffic([(.zero, .download(every: .milliseconds(1)))])
        let start = Duration.milliseconds(3000 + Int(seed) * 7)
        story.changes = [(start, .open(0, upwards: false, downwards: true))]
        let world = story.run(until: .seconds(6))
        let failed = try #require(world.time(of: .failed("wlan0", .noAnswer)))
        #expect(0...300 ~= failed - start.inMilliseconds)
    }

    @Test(
        "a download over a path that loses segments stays on it in handover, though handshakes get lost as well",
        arguments: [0.02, 0.05], 1...6 as ClosedRange<UInt64>)
    func lossyDownload(loss: Double, seed: UInt64) {
        var story = Story()
        story.seed = seed
        story.paths[0].loss = loss
        story.traffic = SimulatedTraffic([(.zero, .download(every: .milliseconds(1)))])
        #expect(story.run(until: .seconds(30)).moves == 0)
    }

    @Test("data is back on the preferred path two seconds after it is", arguments: modes, [21, 500, 3000])
    func comesBack(mode: MultipathMode, length: Int) throws {
        var story = Story()
        story.mode = mode
        let end = Duration.milliseconds(2000 + length)
        story.changes = [
            Story.silence,
            (end, .open(0, upwards: true, downwards: true)),
        ]
        let world = story.run(until: end + .seconds(2))
        #expect(world.machine(.client)?.carrier == "wlan0")
    }

    /// Interactive leaves a path that stalls at once and aggregate puts a suspect aside, so they move with each run of
    /// losses that is longer than an answer takes.
    @Test(
        "one packet in ten lost at random moves data less than once a minute in handover",
        arguments: zip(modes, [1, 60, 120] as [Double]))
    func loss(mode: MultipathMode, most: Double) {
        var moves = 0
        for seed in 1...12 as ClosedRange<UInt64> {
            var story = Story.free
            (story.mode, story.seed) = (mode, seed)
            story.paths[0].loss = 0.1
            story.paths[1].loss = 0.1
            story.delaysAcknowledgements = seed.isMultiple(of: 2)
            story.traffic = SimulatedTraffic([(.zero, .requests(answers: 1, pause: .milliseconds(30)))])
            moves += story.run(until: .seconds(60)).moves
        }
        #expect(Double(moves) / 12 <= most)
    }

    @Test(
        "an hour of idleness costs four probes a path at most and no move, and the machine comes to rest",
        arguments: modes, [0, 1, 2, 3])
    func rest(mode: MultipathMode, kind: Int) {
        var story = Story()
        story.mode = mode
        let patterns: [SimulatedTraffic.Pattern] = [
            .requests(answers: 3, pause: .milliseconds(20)), .upload(every: .milliseconds(15)),
            .download(every: .milliseconds(15)), .both(every: .milliseconds(30)),
        ]
        story.traffic = SimulatedTraffic([(.zero, patterns[kind]), (.seconds(3), .idle)])
        let world = story.run(until: .seconds(3))
        let (creations, moves) = (world.creations, world.moves)
        world.run(until: .seconds(60))
        #expect(world.machine(.client)?.nextDeadline == nil)
        world.run(until: .seconds(3600))
        let most = mode == .handover ? 4 : 8
        #expect(world.creations - creations <= most, "\(world.lines(from: .seconds(3)))")
        #expect(world.moves == moves)
    }
}
