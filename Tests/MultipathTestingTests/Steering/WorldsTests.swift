import Foundation
import MultipathTesting
import PathCore
import Testing

/// Tens of thousands: `WORLDS=100000 swift test -c release -Xswiftc -enable-testing --filter WorldsTests`, and
/// `FIRST_WORLD` to begin elsewhere; some 20 ms each. `WORLD=<seed>` runs one again and shows what happened.
@Suite("In any world")
struct WorldsTests {
    private static func number(_ name: String) -> UInt64? {
        ProcessInfo.processInfo.environment[name].flatMap(UInt64.init)
    }

    private static let first = number("FIRST_WORLD") ?? 1
    /// An hour; `REST` says other seconds.
    private static let restTime = Int64(number("REST") ?? 3600) * 1_000_000_000
    private static let count = number("WORLDS") ?? 150

    @Test("a steered connection keeps its rules")
    func rules() {
        if let seed = Self.number("WORLD") { return Self.show(seed) }
        var stalls: [Int64] = []
        var moves = 0
        for seed in Self.first..<Self.first + Self.count {
            let (rules, _) = Self.run(RandomWorld(seed: seed))
            if let broken = rules.broken { Issue.record("WORLD=\(seed) \(broken)") }
            stalls.append(rules.longestStall)
            moves += rules.moves
        }
        stalls.sort()
        let (middle, late) = (stalls[stalls.count / 2], stalls[stalls.count * 95 / 100])
        // Half of all worlds cost no wait worth the name, and nineteen in twenty less than a second.
        #expect(middle <= 50_000_000 && late <= 1_000_000_000, "median \(middle) ns, 95 % \(late) ns")
        // Worlds where nothing moves would prove little.
        #expect(moves > stalls.count / 4)
    }

    @Test("the same seed gives the same run")
    func isDeterministic() {
        for seed in 1...3 as ClosedRange<UInt64> {
            let (first, second) = (Self.run(RandomWorld(seed: seed)).1, Self.run(RandomWorld(seed: seed)).1)
            #expect(first.steps == second.steps && first.samples == second.samples)
        }
    }

    private static func run(_ plan: RandomWorld) -> (WorldRules, Simulation) {
        let world = plan.begin()
        var rules = WorldRules(plan)
        rules.look(world)
        // Its users fall silent, and some seconds and round trips later the kernels too.
        var end = RandomWorld.activeTime.wholeNanoseconds + 5_000_000_000
        while rules.broken == nil, world.step(until: end) { rules.look(world) }
        end += 6 * (world.paths.map(\.roundTrip).max() ?? 0)
        while rules.broken == nil, world.step(until: end) { rules.look(world) }
        guard rules.broken == nil, plan.endsWell else { return (rules, world) }
        rules.beginsRest(world)
        while rules.broken == nil, world.step(until: end + Self.restTime) { rules.look(world) }
        rules.endRest(world)
        return (rules, world)
    }

    private static func show(_ seed: UInt64) {
        let plan = RandomWorld(seed: seed)
        let (rules, world) = run(plan)
        print(plan)
        for step in world.steps { print(step) }
        print(world.summary(of: .client), world.summary(of: .server), separator: "\n")
        print(
            rules.broken ?? "all is well",
            "longest wait \(rules.longestStall / 1_000_000) ms, \(world.samples) samples")
    }
}
