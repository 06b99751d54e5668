import SteeringSimulation
import Testing

@testable import PathCore

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

    @Test(
        "leaves a path that another connection has found dead when the reserve is there, which carries from its beginning",
        arguments: [
            SimulatedTraffic.Pattern.upload(every: .milliseconds(1)), .download(every: .milliseconds(1)),
        ])
    func shared(_ pattern: SimulatedTraffic.Pattern) {
        var story = Self.story(pattern)
        story.changes = [
            Story.silence, (.milliseconds(2015), .verdict(0)),
        ]
        #expect(
            story.run(until: .milliseconds(2100)).lines(from: .seconds(2)) == [
                "wlan0 failed: no answer", "create wwan0", "moved from wlan0 to wwan0: no answer",
                "withdraw wlan0", "reset wlan0 40001", "wlan0 left: no answer",
            ])
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

    @Test(
        "gives its reserve up only late for a successor of a subflow that brings nothing, where the other path brings it all"
    )
    func offer() throws {
        var story = Self.story(.download(every: .milliseconds(4)))
        story.changes = [(.seconds(2), .forget(0))]
        let world = story.run(until: .seconds(30))
        let made = try #require(
            world.steps.first {
                $0.end == .client && $0.time > 2_000_000_000 && $0.words == "create wlan0"
            }?.time)
        #expect((12_000_000_000...26_000_000_000).contains(made), "\(world.lines(from: .seconds(2)))")
        let ended = world.steps.first { $0.end == .client && $0.words.hasPrefix("destroy") }?.time
        #expect(ended ?? .max >= 12_000_000_000, "\(world.lines(from: .seconds(2)))")
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

@Suite("What a subflow in reserve does")
struct ReserveSubflowStepTests {
    private static func subflow(_ number: Int, on path: Int, _ role: Subflow.Role, isBackup: Bool) -> Subflow
    {
        let interface = InterfaceIndex(path)
        let local = SubflowAction.LocalAddress(SimulatedPath.wifi().address, id: 1, interface: interface)
        let route = Subflow.Route(
            path: PathKey(path), interface: interface, address: local, remote: HandFed.remote)
        return Subflow(SubflowID(number: number), route, role, isBackup: isBackup, at: .zero)
    }

    private static let first = subflow(1, on: 1, .data, isBackup: false)
    private static let second = subflow(2, on: 2, .data, isBackup: false)

    private static func step(
        _ reserve: inout ReserveSubflow, well carrying: [Subflow], _ existing: Subflow? = nil,
        need: ReserveSubflow.Need = .none, sends: Bool = false, at time: Int = 0
    ) -> ReserveSubflow.Step {
        reserve.step(
            carrying: carrying, existing, need: need, sends: sends, at: at(time), SteeringTuning())
    }

    @Test("carries over its path while no other is well, and stands by as soon as one is")
    func carries() {
        var reserve = ReserveSubflow()
        #expect(
            Self.step(&reserve, well: [Self.second], need: .likely)
                == .make(beside: Self.second.id, isBackup: false))
        let existing = Self.subflow(3, on: 2, .reserve, isBackup: false)
        #expect(Self.step(&reserve, well: [Self.second], existing) == .none)
        #expect(Self.step(&reserve, well: [], existing) == .none)
        let standsBy = ReserveSubflow.Step.prioritize(existing.id, isBackup: true)
        var other = reserve
        #expect(Self.step(&other, well: [Self.first, Self.second], existing) == standsBy)
        #expect(Self.step(&reserve, well: [Self.first], existing) == standsBy)
    }

    @Test(
        "is made to stand by where this end sends and may not need it",
        arguments: [(ReserveSubflow.Need.likely, true), (.certain, false)])
    func sending(_ need: ReserveSubflow.Need, standsBy: Bool) {
        var reserve = ReserveSubflow()
        #expect(
            Self.step(&reserve, well: [Self.second], need: need, sends: true)
                == .make(beside: Self.second.id, isBackup: standsBy))
        let existing = Self.subflow(3, on: 2, .reserve, isBackup: standsBy)
        #expect(Self.step(&reserve, well: [Self.second], existing, sends: true) == .none)
        reserve.begins()
        #expect(
            Self.step(&reserve, well: [Self.second], existing, sends: true)
                == (standsBy ? .prioritize(existing.id, isBackup: false) : .none))
    }

    @Test("is not made again for ten seconds after it was given up")
    func again() {
        var reserve = ReserveSubflow()
        reserve.wasGivenUp(at: .zero, SteeringTuning())
        #expect(Self.step(&reserve, well: [Self.first], need: .certain, at: 9999) == .none)
        #expect(
            Self.step(&reserve, well: [Self.first], need: .certain, at: 10_000)
                == .make(beside: Self.first.id, isBackup: false))
    }
}
