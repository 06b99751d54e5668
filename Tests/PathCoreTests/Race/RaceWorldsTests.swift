import PathCore
import TestSupport
import Testing

@Suite("In any world")
struct RaceWorldsTests {
    @Test("the race keeps its rules: 20 000 worlds, four seeds", arguments: [1, 2, 3, 4] as [UInt64])
    func keepsItsRules(seed: UInt64) {
        var random = SplitMix64(seed: seed)
        var ends: [String: Int] = [:]
        for number in 0..<5000 {
            let world = random.world()
            let run = world.run()
            if let broken = RaceRules(world, run).broken {
                Issue.record("seed \(seed), world \(number): \(broken)\n\(world)\n\(run.lines)")
                return
            }
            ends[run.kindOfEnd, default: 0] += 1
        }
        // Worlds that all end alike would prove little.
        let common = ends.filter { $0.value > 50 }.keys.sorted()
        #expect(
            common == ["allFailed", "cancelled", "noCandidate", "resolution", "timedOut", "win"], "\(ends)")
    }

    @Test("the same inputs give the same actions")
    func isDeterministic() {
        var random = SplitMix64(seed: 5)
        for _ in 0..<200 {
            let world = random.world()
            let (first, second) = (world.run(), world.run())
            #expect(first.steps == second.steps && first.machine.attempts == second.machine.attempts)
        }
    }
}

extension RaceWorld.Run {
    fileprivate var kindOfEnd: String {
        switch steps.last?.action {
        case .fail(.resolution): "resolution"
        case .fail(let failure): "\(failure)"
        case .win: "win"
        default: "none"
        }
    }
}

extension SplitMix64 {
    /// Times are mostly multiples of 10 ms, so that many things happen at the same moment.
    fileprivate mutating func world() -> RaceWorld {
        let coarse = !oneIn(4)
        func time(_ limit: UInt64) -> Int {
            let time = Int(next() % limit)
            return coarse ? time / 10 * 10 : time
        }
        func fate(_ mood: UInt64) -> RaceWorld.Fate {
            switch next() % 4 {
            case mood: .silent
            case 0, 1: .refuses(time(oneIn(2) ? 40 : 1500))
            case 2: mood == 1 ? .refuses(time(400)) : .answers(time(2000))
            default: mood == 1 || mood == 2 ? .silent : .answers(time(300))
            }
        }
        var world = RaceWorld(
            branches: (0..<Int(next() % 5)).map { _ in
                let mood = next() % 6
                return (0..<Int(next() % 6)).map { _ in fate(mood) }
            })
        switch next() % 16 {
        case 0: world.resolution = .fails(time(800))
        case 1: world.resolution = .silent
        case 2..<8: world.resolution = .answers(time(400))
        default: world.resolution = .answers(0)
        }
        world.attemptDelay = [0, 10, 50, 100, 250, 250, 3000][Int(next() % 7)]
        world.timeout = [0, 300, 1000, 3000, 10_000, 10_000][Int(next() % 6)]
        if oneIn(8) { world.cancelled = time(1000) }
        world.timersFirst = oneIn(2)
        if oneIn(5) { world.timerLag = time(300) }
        return world
    }
}
