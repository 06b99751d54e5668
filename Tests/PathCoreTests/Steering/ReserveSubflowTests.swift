import PathCore
import SteeringSimulation
import Testing

/// Aggregate keeps a subflow in reserve. Wi-Fi takes 20 ms and comes first, cellular 40 ms.
@Suite("A bulk transfer over two paths")
struct ReserveSubflowTests {
    private static func story(_ pattern: SimulatedTraffic.Pattern) -> Story {
        var story = Story()
        story.mode = .aggregate
        story.traffic = SimulatedTraffic([(.zero, pattern)])
        story.chunkSize = 10_000
        return story
    }

    @Test(
        "has a reserve beside the less preferred one, which carries from when the other is left until it is back"
    )
    func use() {
        var story = Self.story(.upload(every: .milliseconds(1)))
        story.changes = [
            (.seconds(2), .open(0, upwards: false, downwards: false)),
            (.seconds(4), .open(0, upwards: true, downwards: true)),
        ]
        let world = story.run(until: .seconds(8))
        #expect(
            world.lines() == [
                "create wwan0", "wwan0 joined", "create wwan0 as backup",
                "wlan0 is suspect: no acknowledgement", "probe wlan0", "backup wlan0 40001",
                "moved from wlan0 to wwan0: no acknowledgement", "probe wlan0",
                "share wlan0", "wlan0 failed: no acknowledgement",
                "active wwan0 40003", "withdraw wlan0", "reset wlan0 40001",
                "wlan0 left: no acknowledgement", "probe wlan0", "probe wlan0", "probe wlan0",
                // The peer has room for two beside the first, which has ended.
                "destroy wwan0 40003", "create wlan0 as backup", "wlan0 joined", "wlan0 answers again",
                "active wlan0 40004", "moved from wwan0 to wlan0: the preferred path works",
            ])
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
