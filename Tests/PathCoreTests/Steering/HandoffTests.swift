import PathCore
import SteeringSimulation
import Testing

/// How a path is left whose link, address or route is gone. Wi-Fi takes 20 ms and comes first; cellular takes 40 and
/// stands by.
@Suite("Before it leaves a lost path, a steered connection")
struct HandoffTests {
    private static let loss = Duration.seconds(3)

    private static func story(
        _ pattern: SimulatedTraffic.Pattern, chunkSize: UInt64 = 10_000, _ change: SimulatedChange
    ) -> Story {
        var story = Story.free
        story.traffic = SimulatedTraffic([(.zero, pattern)])
        story.chunkSize = chunkSize
        story.changes = [(loss, change)]
        return story
    }

    /// Milliseconds from the loss until Wi-Fi was left.
    private static func delay(_ world: Simulation, _ trouble: PathTrouble) throws -> Double {
        try #require(world.time(of: .left("wlan0", because: .trouble(trouble)))) - Double(
            loss.wholeNanoseconds) / 1e6
    }

    @Test("asks the peer, in an upload, what it has, and leaves when it knows: a round trip later")
    func upload() throws {
        let world = Self.story(.upload(every: .milliseconds(1)), .carrier(0, false)).run(
            until: .milliseconds(3500))
        #expect(
            world.lines(from: Self.loss) == [
                "probe what is idle", "wlan0 failed: no carrier", "withdraw wlan0", "reset wlan0 40001",
                "wlan0 left: no carrier", "moved from wlan0 to wwan0: no carrier", "active wwan0 40002",
            ])
        #expect(41...45 ~= (try Self.delay(world, .noCarrier)))
    }

    @Test("asks when the last that is in a queue there has arrived")
    func queue() throws {
        var story = Self.story(.upload(every: .milliseconds(1)), .carrier(0, false))
        // Some fifty milliseconds of what is on its way wait there, and the question takes 20.
        (story.paths[0].chunkTime, story.paths[0].queue) = (2_000_000, 200_000_000)
        let world = story.run(until: .milliseconds(3500))
        #expect(world.lines(from: Self.loss).first == "probe what is idle")
        let asked = try #require(
            world.steps.first { $0.time >= Self.loss.wholeNanoseconds && $0.action == .probeIdle })
        let pause = Double(asked.time - Self.loss.wholeNanoseconds) / 1e6
        #expect(30...61 ~= pause)
        #expect(pause + 39...pause + 45 ~= (try Self.delay(world, .noCarrier)))
    }

    @Test("waits no longer than a round trip takes where no answer comes")
    func unanswered() throws {
        var story = Self.story(.upload(every: .milliseconds(1)), .carrier(0, false))
        story.changes.insert((.milliseconds(2995), .open(1, upwards: false, downwards: false)), at: 0)
        let world = story.run(until: .milliseconds(3200))
        #expect(world.lines(from: Self.loss).first == "probe what is idle")
        #expect(55...75 ~= (try Self.delay(world, .noCarrier)))
    }

    @Test("asks nothing for the sake of a few bytes: they go again at once")
    func few() throws {
        let world = Self.story(.requests(answers: 1, pause: .milliseconds(20)), .carrier(0, false))
            .run(until: .milliseconds(3500))
        #expect(try Self.delay(world, .noCarrier) < 3)
        #expect(!world.lines().contains("probe what is idle"))
    }

    @Test("takes what a path still brings that has lost its route")
    func download() throws {
        let world = Self.story(.download(every: .milliseconds(1)), .route(0, false)).run(
            until: .milliseconds(3500))
        #expect(
            world.lines(from: Self.loss).prefix(6) == [
                "wlan0 failed: route gone", "withdraw wlan0", "reset wlan0 40001", "wlan0 left: route gone",
                "moved from wlan0 to wwan0: route gone", "active wwan0 40002",
            ])
        // The last is on its way for 10 ms, and after 8 more it was the last.
        #expect(10...40 ~= (try Self.delay(world, .routeGone)))
    }

    @Test("expects nothing over a link that is down")
    func downloadWithoutLink() throws {
        let world = Self.story(.download(every: .milliseconds(1)), .carrier(0, false)).run(
            until: .milliseconds(3500))
        #expect(try Self.delay(world, .noCarrier) < 3)
    }

    @Test("knows what the peer has of an upload when a silent path is found dead")
    func silent() throws {
        var story = Self.story(.upload(every: .milliseconds(1)), .open(0, upwards: false, downwards: false))
        // It answers later than the probes' time.
        (story.paths[1].upwards, story.paths[1].downwards) = (40_000_000, 40_000_000)
        let world = story.run(until: .milliseconds(3600))
        let lines = world.lines(from: Self.loss)
        let asked = try #require(
            world.steps.first { $0.time >= Self.loss.wholeNanoseconds && $0.action == .probeIdle })
        let left = try #require(world.time(of: .left("wlan0", because: .trouble(.noAcknowledgement))))
        // The round trip of what stands by.
        #expect(80...95 ~= left - Double(asked.time) / 1e6, "\(lines)")
        #expect(lines.filter { $0 == "probe what is idle" }.count == 1, "\(lines)")
        #expect(lines.filter { $0.hasPrefix("share") } == ["share wlan0"], "\(lines)")
    }

    @Test(
        "leaves what only stood by and is gone, and joins there anew, once what carries a bulk transfer is silent"
    )
    func standbyOfSilentCarrier() throws {
        var story = Self.story(.download(every: .milliseconds(1)), .plugged(1, false))
        story.changes += [
            (.milliseconds(3500), .plugged(1, true)),
            (.seconds(5), .open(0, upwards: false, downwards: false)),
        ]
        let world = story.run(until: .seconds(9))
        let left = try #require(world.time(of: .left("wwan0", because: .trouble(.interfaceGone))))
        let joined = try #require(world.time(of: .joined("wwan0"), from: .seconds(5)))
        #expect(left > 5000 && left < joined && joined < 7000)
    }

    @Test("leaves what only stood by and is gone at once where its interface is back, but not allowed")
    func standbyNotAllowed() {
        var story = Self.story(.download(every: .milliseconds(1)), .plugged(1, false))
        story.policy.allowsExpensivePaths = false
        story.changes += [(.milliseconds(3500), .plugged(1, true)), (.seconds(4), .expensive(1, true))]
        let events = story.run(until: .milliseconds(4200)).events(from: .milliseconds(3990)).map(\.event)
        #expect(events.contains(.left("wwan0", because: .trouble(.interfaceGone))))
    }

    @Test(
        "ends what only stood by when the transfer pauses, and not in the middle of it",
        arguments: [true, false])
    func standby(isDownload: Bool) {
        var story = Self.story(
            isDownload ? .download(every: .milliseconds(1)) : .upload(every: .milliseconds(1)),
            .carrier(1, false))
        story.traffic.phases.append((.seconds(5), .idle))
        #expect(
            story.run(until: .seconds(5)).lines(from: Self.loss) == ["wwan0 failed: no carrier"])
        #expect(
            story.run(until: .seconds(7)).lines(from: .seconds(5)).filter { $0.contains("wwan0") } == [
                "withdraw wwan0", "destroy wwan0 40002", "wwan0 left: no carrier",
            ])
    }
}
