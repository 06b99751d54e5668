import PathCore
import SteeringSimulation
import Testing

/// Faults that seeded worlds had found, each told again in a world without chance.
@Suite("A steered connection, in the words of a world that broke it,")
struct FoundInWorldsTests {
    private static func free(_ change: (time: Duration, change: SimulatedChange)...) -> Story {
        var story = Story.free
        story.changes = change
        return story
    }

    private static let silence = SimulatedChange.open(0, upwards: false, downwards: false)

    @Test("looks after a subflow that takes up what had waited for one, though nobody writes any more")
    func takesUp() throws {
        var story = Self.free(
            (.seconds(2), .carrier(0, false)), (.seconds(4), .carrier(0, true)),
            // Just after a probe and a handshake.
            (.milliseconds(4045), Self.silence))
        story.paths = [.wifi()]
        // The buffer is full long before the path is back.
        story.traffic = SimulatedTraffic([(.zero, .upload(every: .milliseconds(5)))])
        let world = story.run(until: .milliseconds(4500))
        let joined = try #require(world.time(of: .joined("wlan0")))
        let suspected = try #require(world.time(of: .suspected("wlan0", .noAcknowledgement)))
        // A quarter of a second, because there is no other path.
        #expect(suspected - joined < 300)
    }

    @Test("joins a path that takes two seconds to answer")
    func slow() throws {
        var story = Self.free(
            (.seconds(1), .carrier(0, false)), (.milliseconds(1500), .roundTrip(0, .milliseconds(2200))),
            (.seconds(2), .carrier(0, true)))
        story.paths = [.wifi()]
        let world = story.run(until: .seconds(20))
        // A probe, a join that is given up after a second and one after two, each when a probe was answered, and the last.
        #expect(try #require(world.time(of: .joined("wlan0"))) < 11_000)
        #expect(world.chunksRead(by: .client) > 0)
    }

    @Test("does not take an address back that is being joined anew")
    func withdrawal() {
        let story = Self.free(
            (.seconds(2), .carrier(0, false)), (.milliseconds(2001), .carrier(1, false)),
            (.seconds(4), .carrier(1, true)), (.seconds(4), .carrier(0, true)))
        let events = story.run(until: .seconds(6)).events(from: .seconds(3)).map(\.event)
        #expect(events.filter { $0 == .joined("wlan0") || $0 == .joined("wwan0") }.count == 2)
        #expect(!events.contains { if case .left = $0 { true } else { false } })
    }

    @Test("leaves a subflow that was forgotten on a path where no other can take its place")
    func refusedReplacement() throws {
        let story = Self.free((.milliseconds(1900), .joins(0, .refused)), (.seconds(2), .forget(0)))
        let world = story.run(until: .seconds(4))
        let moved = SteeringEvent.moved(
            from: "wlan0", to: "wwan0", because: .trouble(.noAcknowledgement))
        #expect(2500...2800 ~= (try #require(world.time(of: moved))))
        #expect(
            world.waitingSince(from: .client) == nil
                || world.now - world.waitingSince(from: .client)! < 50_000_000)
    }

    @Test("asks ever less often about a subflow that is stuck on a path that answers")
    func patience() throws {
        var story = Self.free((.seconds(2), .forget(0)))
        story.paths = [.wifi(.milliseconds(5))]
        let world = story.run(until: .seconds(3))
        let stuck = try #require(world.time(of: .left("wlan0", because: .stuck)))
        #expect(stuck < 2900)
        // After a quarter of a second, which is nothing where there is no other path; twice that; and the one that decides.
        let probes = world.lines(from: .seconds(2)).count { $0 == "probe wlan0" }
        #expect(probes <= 4)
    }

    @Test("has a second path as soon as the first words were acknowledged, however seldom somebody speaks")
    func ready() throws {
        var story = Self.free()
        story.traffic = SimulatedTraffic([(.zero, .requests(answers: 1, pause: .milliseconds(300)))])
        let world = story.run(until: .seconds(1))
        #expect(try #require(world.time(of: .joined("wwan0"))) < 150)
    }

    @Test("asks a path that has just joined a stream when it falls silent")
    func joinsStream() throws {
        var story = Self.free(
            (.seconds(3), .plugged(1, true)), (.milliseconds(3200), .open(1, upwards: true, downwards: false))
        )
        story.mode = .aggregate
        story.paths[1].exists = false
        story.traffic = SimulatedTraffic([
            (.zero, .requests(answers: 1, pause: .milliseconds(20))),
            (.seconds(1), .download(every: .milliseconds(10))),
        ])
        let world = story.run(until: .seconds(4))
        let failed = try #require(world.time(of: .failed("wwan0", .noAnswer)))
        #expect(failed < 3400)
    }

    @Test("does not go on replacing a subflow because small messages took the way that a probe had shown")
    func smallMessages() {
        var story = Self.free()
        story.paths = [.wifi(.milliseconds(5))]
        story.mode = .interactive
        story.traffic = SimulatedTraffic([
            (.zero, .download(every: .milliseconds(10))),
            (.seconds(2), .requests(answers: 1, pause: .milliseconds(50))),
        ])
        let events = story.run(until: .seconds(6)).events(from: .seconds(2)).map(\.event)
        #expect(events.count { $0 == .left("wlan0", because: .stuck) } <= 5)
    }

    @Test("tries the next path when a handshake has taken too long, not when somebody happens to speak")
    func nextInTime() throws {
        var story = Story()
        story.traffic = SimulatedTraffic([
            (.zero, .requests(answers: 1, pause: .milliseconds(20))), (.seconds(1), .idle),
        ])
        story.paths[1].exists = false
        story.changes = [
            (.seconds(2), .carrier(0, false)),
            // The one that comes back first answers nothing.
            (.seconds(3), .open(1, upwards: false, downwards: false)), (.seconds(4), .plugged(1, true)),
            (.milliseconds(4100), .expensive(0, true)), (.milliseconds(4100), .expensive(1, false)),
            (.milliseconds(4100), .carrier(0, true)),
        ]
        let world = story.run(until: .seconds(7))
        // A second for the handshake that is not answered, a probe and a handshake over the other path.
        #expect(try #require(world.time(of: .joined("wlan0"))) < 5300)
    }
}
