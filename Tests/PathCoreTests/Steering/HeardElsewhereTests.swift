import SteeringSimulation
import Testing

@testable import PathCore

@Suite("A suspected path over which other connections hear the peer")
struct HeardElsewhereTests {
    private func run(
        until end: Int?, opensAt opening: Int? = nil, traffic: SimulatedTraffic.Pattern? = nil
    ) -> Simulation {
        var story = Story.free
        if let traffic { story.traffic = SimulatedTraffic([(.zero, traffic)]) }
        story.changes = [Story.silence]
        if let opening {
            story.changes.append((.milliseconds(opening), .open(0, upwards: true, downwards: true)))
        }
        story.othersHearUntil = end.map { at($0) }
        return story.run(until: .milliseconds(2_700))
    }

    private func probes(_ world: Simulation) -> Int {
        let lines = world.lines(from: .seconds(2))
        return lines.prefix { !$0.hasPrefix("wlan0 failed") }.count { $0 == "probe wlan0" }
    }

    private func failure(_ world: Simulation) -> Double? {
        world.events(from: .seconds(2)).first {
            if case .failed("wlan0", _) = $0.event { true } else { false }
        }?.time
    }

    @Test(
        "is probed twice more, and given up all the same",
        arguments: [
            SimulatedTraffic.Pattern.requests(answers: 1, pause: .milliseconds(20)),
            .download(every: .milliseconds(2)),
        ])
    func givenUp(traffic: SimulatedTraffic.Pattern) throws {
        let (alone, heard) = (run(until: nil, traffic: traffic), run(until: 10_000, traffic: traffic))
        #expect(probes(heard) == probes(alone) + SteeringTuning().mostProbesForOthers)
        let (soon, later) = (try #require(failure(alone)), try #require(failure(heard)))
        #expect(later > soon && later < soon + 400, "\(soon), \(later)")
        #expect(heard.moves == 1)
    }

    @Test("is given up as soon as alone where they heard nothing since the first probe")
    func before() throws {
        #expect(run(until: 2_000).steps == run(until: nil).steps)
    }

    @Test("is stayed with where it answers a later probe")
    func stays() throws {
        let alone = try #require(failure(run(until: nil)))
        let opening = Int(alone) - 15
        #expect(failure(run(until: nil, opensAt: opening)) != nil, "for one connection that is too late")
        let world = run(until: 10_000, opensAt: opening)
        #expect(world.moves == 0 && failure(world) == nil, "\(world.lines(from: .seconds(2)))")
    }

    @Test(
        "is told of to the others where none hears the peer any more: who heard it since the first probe stays"
    )
    func shared() throws {
        #expect(!run(until: 10_000).lines().contains("share wlan0"))
        let world = run(until: 2_040)
        let step = try #require(world.steps.first { $0.words == "share wlan0" })
        guard case .share(let verdict) = step.action else { return }
        let first = try #require(world.steps.first { $0.words == "probe wlan0" && $0.time >= 2_000_000_000 })
        #expect(verdict.since.nanoseconds == first.time)
        #expect(probes(world) > probes(run(until: nil)))
    }

    @Test("is probed no more once its verdict was shared")
    func sharedAlready() {
        var probing = Probing(.trouble(.noAnswer), needed: 1)
        let plan = ProbePlan(answerTime: .milliseconds(40), SteeringTuning())
        _ = probing.advance(plan, repairedAt: nil, at: at(100))
        probing.isShared = true
        probing.heardElsewhere(sign(120))
        #expect(probing.advance(plan, repairedAt: nil, at: at(150)) == .unanswered)
    }

    private func sign(_ milliseconds: Int) -> SignOfLife {
        SignOfLife(at: at(milliseconds), answerTime: .milliseconds(80))
    }

    @Test("is measured in peace: what they hear adds no probe of a path that is not suspected")
    func measurement() {
        var probing = Probing(.measurement, needed: 1)
        let plan = ProbePlan(answerTime: .milliseconds(40), SteeringTuning())
        _ = probing.advance(plan, repairedAt: nil, at: at(100))
        probing.heardElsewhere(sign(120))
        #expect(probing.advance(plan, repairedAt: nil, at: at(120)) == .wait(until: at(150)))
    }

    @Test("tells others what it hears itself: what the latest sample found, and only that")
    func news() {
        var machine = HandFed.machine()
        _ = machine.sample(HandFed.sample(acknowledged: 100), written: nil, at: at(1_000))
        _ = machine.sample(
            HandFed.sample(acknowledged: 200, since: .milliseconds(10)), written: nil, at: at(2_000))
        let news = machine.news(at: at(2_000))
        #expect(
            news.map(\.way) == [PathToHost(3, HandFed.remote.address)] && news.map(\.sign.at) == [at(1_990)])
        _ = machine.sample(HandFed.sample(acknowledged: 200), written: nil, at: at(3_000))
        #expect(machine.news(at: at(3_000)).isEmpty)
    }
}
