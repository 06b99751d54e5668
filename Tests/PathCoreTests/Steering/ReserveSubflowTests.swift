import PathCore
import SteeringSimulation
import Testing

/// Aggregate makes a subflow in reserve when a path may be dying. Wi-Fi takes 20 ms and comes first, cellular 40 ms.
@Suite("A bulk transfer over two paths")
struct ReserveSubflowTests {
    private static func story(_ pattern: SimulatedTraffic.Pattern) -> Story {
        var story = Story()
        story.mode = .aggregate
        story.traffic = SimulatedTraffic([(.zero, pattern)])
        story.chunkSize = 10_000
        return story
    }

    /// What happens when a path dies for two seconds.
    private static func death(of path: Int, in pattern: SimulatedTraffic.Pattern) -> [String] {
        var story = story(pattern)
        story.changes = [
            (.seconds(2), .open(path, upwards: false, downwards: false)),
            (.seconds(4), .open(path, upwards: true, downwards: true)),
        ]
        return story.run(until: .seconds(8)).lines()
    }

    @Test(
        "has no reserve while both paths are well",
        arguments: [
            SimulatedTraffic.Pattern.upload(every: .milliseconds(1)), .download(every: .milliseconds(1)),
        ])
    func calm(_ pattern: SimulatedTraffic.Pattern) {
        #expect(Self.story(pattern).run(until: .seconds(8)).lines() == ["create wwan0", "wwan0 joined"])
    }

    @Test(
        "makes a reserve beside the other path when one is suspect, which carries from when that is left until it is back"
    )
    func upload() {
        #expect(
            Self.death(of: 0, in: .upload(every: .milliseconds(1))) == [
                "create wwan0", "wwan0 joined",
                "wlan0 is suspect: no acknowledgement", "probe wlan0", "backup wlan0 40001",
                "create wwan0 as backup",
                "moved from wlan0 to wwan0: no acknowledgement", "probe wlan0", "share wlan0",
                "wlan0 failed: no acknowledgement", "active wwan0 40003", "withdraw wlan0",
                "reset wlan0 40001",
                "wlan0 left: no acknowledgement", "probe wlan0", "probe wlan0",
                "probe wlan0",
                // The peer has room for two beside the first, which has ended.
                "destroy wwan0 40003", "create wlan0 as backup", "wlan0 joined", "wlan0 answers again",
                "active wlan0 40004", "moved from wwan0 to wlan0: the preferred path works",
            ])
    }

    @Test("makes it beside the preferred path where it is the other that is suspect")
    func second() {
        #expect(
            Self.death(of: 1, in: .upload(every: .milliseconds(1))) == [
                "create wwan0", "wwan0 joined",
                "wwan0 is suspect: no acknowledgement", "probe wwan0", "backup wwan0 40002",
                "create wlan0 as backup", "share wwan0",
                "wwan0 failed: no acknowledgement", "active wlan0 40003", "withdraw wwan0",
                "destroy wwan0 40002",
                "wwan0 left: no acknowledgement", "probe wwan0", "probe wwan0",
                "probe wwan0",
                "create wwan0 as backup", "wwan0 joined", "wwan0 answers again", "active wwan0 40004",
                // All carry again.
                "backup wlan0 40003",
            ])
    }

    @Test("has it carry from its beginning where the peer sends")
    func download() {
        #expect(
            Self.death(of: 0, in: .download(every: .milliseconds(1))) == [
                "create wwan0", "wwan0 joined", "probe wlan0", "create wwan0", "probe wlan0", "share wlan0",
                "wlan0 failed: no answer", "withdraw wlan0", "reset wlan0 40001", "wlan0 left: no answer",
                "moved from wlan0 to wwan0: no answer", "probe wlan0", "probe wlan0",
                "probe wlan0", "destroy wwan0 40003", "create wlan0 as backup", "wlan0 joined",
                "wlan0 answers again", "active wlan0 40004",
                "moved from wwan0 to wlan0: the preferred path works",
            ])
    }

    @Test("makes it beside the preferred path when the first answer is late")
    func late() {
        #expect(
            Self.death(of: 1, in: .download(every: .milliseconds(1))) == [
                "create wwan0", "wwan0 joined", "probe wwan0", "create wlan0", "probe wlan0", "probe wlan0",
                "share wwan0", "wwan0 failed: no answer", "withdraw wwan0", "destroy wwan0 40002",
                "wwan0 left: no answer", "probe wwan0", "probe wwan0", "probe wwan0",
                "create wwan0 as backup", "wwan0 joined", "wwan0 answers again", "active wwan0 40004",
                // All carry again.
                "backup wlan0 40003",
            ])
    }

    @Test("leaves a path without a link when the reserve is there")
    func down() {
        var story = Self.story(.download(every: .milliseconds(1)))
        story.changes = [(.seconds(2), .carrier(0, false))]
        let world = story.run(until: .seconds(3))
        #expect(
            world.lines(from: .seconds(2)) == [
                "create wwan0", "wlan0 failed: no carrier", "withdraw wlan0", "reset wlan0 40001",
                "wlan0 left: no carrier", "moved from wlan0 to wwan0: no carrier",
            ])
        // A round trip over cellular.
        #expect(world.time(of: .left("wlan0", because: .trouble(.noCarrier))) == 2041.05)
    }

    @Test("leaves it without the reserve where that takes too long")
    func slow() throws {
        var story = Self.story(.download(every: .milliseconds(1)))
        story.changes = [
            (.seconds(2), .roundTrip(1, .seconds(1))), (.milliseconds(2001), .carrier(0, false)),
        ]
        let world = story.run(until: .seconds(3))
        #expect(
            world.lines(from: .seconds(2)).prefix(6) == [
                "create wwan0", "wlan0 failed: no carrier", "withdraw wlan0", "reset wlan0 40001",
                "wlan0 left: no carrier", "moved from wlan0 to wwan0: no carrier",
            ])
        let left = try #require(world.time(of: .left("wlan0", because: .trouble(.noCarrier))))
        #expect(2040...2152 ~= left)
    }

    @Test("leaves a path at once that is not allowed any more")
    func refusedPath() {
        var story = Self.story(.download(every: .milliseconds(1)))
        story.policy.allowsConstrainedPaths = false
        story.changes = [(.seconds(2), .constrained(0, true))]
        let world = story.run(until: .milliseconds(2200))
        #expect(
            world.lines(from: .seconds(2)) == [
                "create wwan0", "withdraw wlan0", "reset wlan0 40001",
                "wlan0 left: not allowed any more: constrained",
                "moved from wlan0 to wwan0: not allowed any more: constrained",
            ])
        #expect(world.time(of: .left("wlan0", because: .refused(.constrained))) == 2001)
    }

    @Test("gives its reserve up for a successor, and leaves the path where that is refused")
    func refusal() {
        var story = Self.story(.upload(every: .milliseconds(1)))
        story.changes = [(.seconds(2), .joins(0, .refused)), (.milliseconds(2005), .forget(0))]
        #expect(
            story.run(until: .milliseconds(3500)).lines(from: .milliseconds(2500)).filter {
                $0.hasPrefix("create") || $0.hasPrefix("destroy") || $0.hasPrefix("reset")
                    || $0.contains("failed")
            }.prefix(4) == [
                "destroy wwan0 40003", "create wlan0",
                "wlan0 failed: no acknowledgement", "reset wlan0 40001",
            ])
    }
}
