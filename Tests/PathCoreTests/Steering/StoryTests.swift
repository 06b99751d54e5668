import PathCore
import SteeringSimulation
import Testing

/// What a steered connection does, told from beginning to end. Wi-Fi takes 20 ms and comes first, cellular 40 ms.
@Suite("A steered connection")
struct StoryTests {
    @Test("leaves a silent path for one that stands by: RM_ADDR first, then the subflow, then the word")
    func warm() {
        var story = Story.free
        story.changes = [Story.silence]
        let world = story.run(until: .milliseconds(2200))
        #expect(
            world.lines() == [
                "create wwan0 as backup", "wwan0 joined",
                "wlan0 is suspect: no acknowledgement", "probe wlan0",
                "share wlan0", "wlan0 failed: no acknowledgement",
                "withdraw wlan0", "reset wlan0 40001", "wlan0 left: no acknowledgement",
                "moved from wlan0 to wwan0: no acknowledgement", "active wwan0 40002",
            ])
        let times = world.steps.filter { ["withdraw wlan0", "active wwan0 40002"].contains($0.words) }.map(
            \.time)
        #expect(times[1] - times[0] == 20_000_000, "the peer's worker has run by then")
    }

    @Test("tells the peer at once which is to carry of several that stand by")
    func several() {
        var story = Story.free
        story.paths.insert(.wired(.milliseconds(20)), at: 0)
        story.changes = [Story.silence]
        let lines = story.run(until: .milliseconds(2200)).lines()
        #expect(
            lines.suffix(5) == [
                "active wlan0 40002", "withdraw eth0", "reset eth0 40001",
                "eth0 left: no acknowledgement", "moved from eth0 to wlan0: no acknowledgement",
            ])
    }

    @Test("warms an expensive path on suspicion; leaves when it is joined; withdraws one round trip later")
    func cold() throws {
        var story = Story()
        story.changes = [Story.silence]
        let world = story.run(until: .milliseconds(2200))
        #expect(
            world.lines() == [
                "wlan0 is suspect: no acknowledgement", "probe wlan0", "probe wlan0",
                "create wwan0 as backup", "share wlan0", "wlan0 failed: no acknowledgement",
                "wwan0 joined", "reset wlan0 40001", "wlan0 left: no acknowledgement",
                "active wwan0 40002", "moved from wlan0 to wwan0: no acknowledgement", "withdraw wlan0",
            ])
        let left = try #require(world.time(of: .left("wlan0", because: .trouble(.noAcknowledgement))))
        let withdrawn = try #require(world.steps.last { $0.words == "withdraw wlan0" })
        #expect(42...44 ~= Double(withdrawn.time) / 1e6 - left)
    }

    @Test("goes back when the path has answered and kept it up for a while, and lets the expensive one go")
    func back() {
        var story = Story()
        story.changes = [Story.silence, (.seconds(4), .open(0, upwards: true, downwards: true))]
        let world = story.run(until: .seconds(12))
        #expect(
            world.lines(from: .milliseconds(4050)) == [
                "probe wlan0", "create wlan0 as backup", "wlan0 joined", "wlan0 answers again",
                "active wlan0 40003", "backup wwan0 40002",
                "moved from wwan0 to wlan0: the preferred path works",
                "withdraw wwan0", "destroy wwan0 40002", "wwan0 left: not needed now",
            ])
    }

    @Test("proves itself for longer after each failure")
    func trials() {
        var story = Story.free
        for second in [2, 6, 10] as [Int64] {
            story.changes.append((.seconds(second), .open(0, upwards: false, downwards: false)))
            story.changes.append((.seconds(second + 1), .open(0, upwards: true, downwards: true)))
        }
        let events = story.run(until: .seconds(15)).events()
        let answers = events.filter { $0.event == .answered("wlan0") }.map(\.time)
        let returns = events.filter { $0.event == .moved(from: "wwan0", to: "wlan0", because: .preferred) }
        #expect(zip(answers, returns).map { Int($1.time - $0) } == [200, 400, 800])
    }

    @Test("takes a probe's answer for what it is: the path lives, its data was slow")
    func cleared() {
        var story = Story.free
        // One packet is lost.
        story.changes = [
            (.milliseconds(2000), .open(0, upwards: false, downwards: true)),
            (.milliseconds(2021), .open(0, upwards: true, downwards: true)),
        ]
        let world = story.run(until: .seconds(3))
        #expect(
            world.lines(from: .seconds(2)).prefix(3) == [
                "wlan0 is suspect: no acknowledgement", "probe wlan0", "wlan0 is well",
            ])
        #expect(world.moves == 0)
    }

    @Test(
        "finds an uplink dead no later where the peer still owes an acknowledgement",
        // Every other chunk is acknowledged at once.
        arguments: [3000, 3001])
    func deadUplink(fault: Int) throws {
        var story = Story.free
        story.delaysAcknowledgements = true
        story.chunkSize = 10_000
        story.traffic = SimulatedTraffic([(.zero, .upload(every: .milliseconds(1)))])
        story.changes = [(.milliseconds(fault), .open(0, upwards: false, downwards: true))]
        let world = story.run(until: .milliseconds(3300))
        let events = world.events(from: .seconds(3)).prefix(2)
        #expect(
            events.map(\.event) == [
                .suspected("wlan0", .noAcknowledgement), .failed("wlan0", .noAcknowledgement),
            ])
        let failed = try #require(events.last).time
        #expect(80...90 ~= failed - Double(fault))
    }

    @Test("leaves a path at once that is not allowed any more, even if it is the last")
    func refused() {
        var story = Story()
        story.policy.allowsExpensivePaths = false
        story.changes = [(.seconds(2), .expensive(0, true)), (.seconds(4), .expensive(0, false))]
        let world = story.run(until: .seconds(6))
        #expect(
            world.lines() == [
                "reset wlan0 40001", "wlan0 left: not allowed any more: expensive",
                "no path is left; waiting for one", "create wlan0", "wlan0 joined",
            ])
        #expect(world.steps.first?.time == 2_001_000_000)
    }

    @Test("gives up a path whose carrier is gone without asking, and joins it as soon as it answers again")
    func unplugged() {
        var story = Story.free
        story.changes = [(.seconds(2), .carrier(0, false)), (.seconds(3), .carrier(0, true))]
        let world = story.run(until: .seconds(4))
        #expect(
            world.lines(from: .seconds(1)) == [
                "wlan0 failed: no carrier", "withdraw wlan0", "reset wlan0 40001",
                "wlan0 left: no carrier", "moved from wlan0 to wwan0: no carrier", "active wwan0 40002",
                "probe wlan0", "create wlan0 as backup", "wlan0 joined", "wlan0 answers again",
                "active wlan0 40003", "backup wwan0 40002",
                "moved from wwan0 to wlan0: the preferred path works",
            ])
    }

    @Test("takes the old address back when a path has a new one")
    func renumbered() {
        var story = Story()
        story.paths = [.wifi()]
        story.changes = [(.seconds(2), .renumber(0))]
        let world = story.run(until: .seconds(3))
        #expect(
            world.lines() == [
                "wlan0 failed: address gone", "destroy wlan0 40001", "wlan0 left: address gone",
                "probe wlan0", "no path is left; waiting for one",
                "create 198.51.100.3", "wlan0 joined", "wlan0 answers again", "reset wlan0 40001",
                "withdraw wlan0",
            ])
    }

    @Test("keeps the connection without any path for as long as the caller's patience lasts")
    func stranded() {
        var story = Story()
        story.paths = [.wifi()]
        story.patience = .seconds(3)
        story.changes = [(.seconds(2), .carrier(0, false)), (.seconds(4), .carrier(0, true))]
        let back = story.run(until: .seconds(5))
        #expect(
            back.lines() == [
                "wlan0 failed: no carrier", "destroy wlan0 40001", "wlan0 left: no carrier",
                "no path is left; waiting for one", "probe wlan0", "create wlan0 as backup", "wlan0 joined",
                "wlan0 answers again", "active wlan0 40002", "reset wlan0 40001",
            ])
        story.changes.removeLast()
        let lost = story.run(until: .seconds(10))
        #expect(lost.steps.last?.words == "gave up after 3.0 s without a path")
        #expect(lost.steps.last?.time == 5_001_000_000)
        #expect(lost.machine(.client)?.isOver == true && lost.machine(.client)?.nextDeadline == nil)
    }

    @Test("is not kept for ever where the peer resets each new subflow at once")
    func strandedByResets() {
        var story = Story()
        story.paths = [.wifi()]
        story.patience = .seconds(3)
        story.changes = [
            (.seconds(2), .carrier(0, false)), (.milliseconds(2100), .joins(0, .closedAtOnce)),
            (.milliseconds(2500), .carrier(0, true)),
        ]
        let world = story.run(until: .seconds(10))
        #expect(world.steps.contains { $0.words == "wlan0 joined" })
        #expect(world.steps.last?.words == "gave up after 3.0 s without a path", "\(world.lines())")
    }

    @Test("replaces a subflow that was forgotten on the way, when its path has answered for half a second")
    func forgotten() throws {
        var story = Story()
        story.paths = [.wifi()]
        story.changes = [(.seconds(2), .forget(0))]
        let world = story.run(until: .seconds(5))
        let stuck = try #require(world.time(of: .left("wlan0", because: .stuck)))
        // After a quarter of a second more: there is no other path to go to.
        #expect(750...850 ~= stuck - 2000)
        #expect(world.waitingSince(from: .client) ?? world.now > world.now - 100_000_000)
        #expect(!world.hasForgotten)
        #expect(world.machine(.client)?.isOver == false)
    }

    @Test("shows the sender of a stream another way when it falls silent and the path answers")
    func forgottenStream() {
        var story = Story()
        story.paths = [.wifi()]
        story.traffic = SimulatedTraffic([(.zero, .download(every: .milliseconds(20)))])
        story.changes = [(.seconds(2), .forget(0))]
        let world = story.run(until: .seconds(4))
        #expect(
            world.lines(from: .seconds(2)).prefix(6) == [
                "probe wlan0", "probe wlan0", "create wlan0", "destroy wlan0 40001",
                "wlan0 left: its subflow is stuck", "wlan0 joined",
            ])
        let before = world.chunksRead(by: .client)
        world.run(until: .seconds(5))
        #expect(world.chunksRead(by: .client) - before >= 48)
    }

    @Test("asks about a stream that stops, which needs no data of its own")
    func download() throws {
        var story = Story.free
        story.traffic = SimulatedTraffic([(.zero, .download(every: .milliseconds(10)))])
        story.changes = [Story.silence]
        let world = story.run(until: .seconds(3))
        let failed = try #require(world.time(of: .failed("wlan0", .noAnswer)))
        #expect(failed - 2000 < 100)
    }

    @Test("asks again seldom where the peer refuses to be asked")
    func refusals() {
        for fate in [SimulatedPath.JoinFate.refused, .closedAtOnce] {
            for mode in MultipathMode.allCases {
                var story = Story.free
                story.mode = mode
                story.changes = [(.seconds(1), .joins(0, fate)), (.seconds(1), .joins(1, fate))]
                story.changes.append((.seconds(2), .forget(0)))
                let world = story.run(until: .seconds(12))
                #expect(world.creations < 60, "\(mode), \(fate): \(world.lines())")
            }
        }
    }

    @Test("moves small messages off a path that has become slow, and stays off while it is")
    func slow() throws {
        var story = Story.free
        story.mode = .interactive
        story.changes = [(.seconds(2), .roundTrip(0, .milliseconds(300)))]
        let world = story.run(until: .seconds(10))
        let moved = try #require(world.time(of: .moved(from: "wlan0", to: "wwan0", because: .stalled)))
        #expect(moved - 2000 < 50)
        #expect(world.moves == 1)
    }

    @Test(
        "measures nothing in the middle of a bulk transfer, and is not waked for that",
        arguments: [
            SimulatedTraffic.Pattern.download(every: .milliseconds(2)), .upload(every: .milliseconds(2)),
        ])
    func interactiveBulk(pattern: SimulatedTraffic.Pattern) {
        func wakeUps(_ mode: MultipathMode) -> Int {
            var story = Story.free
            story.mode = mode
            story.chunkSize = 10_000
            story.traffic = SimulatedTraffic([(.zero, pattern)])
            return story.run(until: .seconds(5)).wakeUps
        }
        let (interactive, handover) = (wakeUps(.interactive), wakeUps(.handover))
        #expect(interactive <= handover + handover / 10, "\(interactive) times, \(handover) in handover")
    }

    @Test("uses all paths for throughput, and goes on without one that fails")
    func aggregate() {
        var story = Story()
        story.mode = .aggregate
        story.traffic = SimulatedTraffic([(.zero, .upload(every: .milliseconds(10)))])
        story.changes = [Story.silence]
        let world = story.run(until: .seconds(3))
        #expect(
            world.lines().prefix(11) == [
                "create wwan0", "wwan0 joined", "wlan0 is suspect: no acknowledgement",
                "probe wlan0", "backup wlan0 40001",
                "moved from wlan0 to wwan0: no acknowledgement",
                "probe wlan0", "share wlan0", "wlan0 failed: no acknowledgement", "withdraw wlan0",
                "reset wlan0 40001",
            ])
    }

    @Test("asks nothing over what is gone when the machine wakes")
    func sleep() {
        var story = Story.free
        story.changes = [(.seconds(2), .sleep(forgets: true)), (.seconds(2), .carrier(0, false))]
        let lines = story.run(until: .milliseconds(2005)).lines(from: .seconds(2))
        #expect(lines.first == "wlan0 failed: no carrier")
        #expect(!lines.contains("probe wlan0") && lines.contains("probe wwan0"))
    }
}
