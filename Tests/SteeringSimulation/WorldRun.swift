import PathCore

/// One random world, run from its beginning until it has come to rest.
package struct WorldRun: CustomStringConvertible {
    package let seed: UInt64
    /// What was wrong; nil where the steered connection kept its rules.
    package let broken: String?
    /// The longest wait of data beyond what no path could have helped, in nanoseconds.
    package let longestStall: Int64
    /// How often the data went another way.
    package let moves: Int
    /// How many samples were taken.
    package let samples: Int
    package let steps: [Simulation.Step]
    private let text: @Sendable () -> String

    /// - Parameters:
    ///   - rest: how long the machines are watched after everything has come to rest.
    ///   - tellsExpectation: whether the client's user says what it awaits; as the seed has it unless given.
    ///   - othersHear: whether other connections hear the server all the time, whatever happens to this one.
    package init(
        seed: UInt64, rest: Duration = .seconds(3600), tellsExpectation: Bool? = nil, othersHear: Bool = false
    ) {
        self.seed = seed
        let plan = RandomWorld(seed: seed, tellsExpectation: tellsExpectation, othersHear: othersHear)
        let world = plan.begin()
        var rules = WorldRules(plan)
        Self.run(world, plan, &rules, rest)
        broken = rules.broken
        longestStall = rules.longestStall
        moves = rules.moves
        samples = world.samples
        steps = world.steps
        let ends = [world.summary(of: .client), world.summary(of: .server)]
        text = { ([plan.description] + ends).joined(separator: "\n") }
    }

    private static func run(
        _ world: Simulation, _ plan: RandomWorld, _ rules: inout WorldRules, _ rest: Duration
    ) {
        rules.look(world)
        // Its users fall silent, and some seconds and round trips later the kernels too.
        var end = RandomWorld.activeTime.wholeNanoseconds + 5_000_000_000
        while rules.broken == nil, world.step(until: end) { rules.look(world) }
        end += 6 * (world.paths.map(\.roundTrip).max() ?? 0)
        while rules.broken == nil, world.step(until: end) { rules.look(world) }
        guard rules.broken == nil, plan.endsWell else { return }
        rules.beginsRest(world)
        while rules.broken == nil, world.step(until: end + rest.wholeNanoseconds) { rules.look(world) }
        rules.endRest(world)
    }

    /// The world, and what both ends have in the end.
    package var description: String { text() }

    /// Of everything that the machines wanted, and of the figures. Two runs with the same digest gave the same orders at
    /// the same times. No text that people read is part of it.
    package var digest: UInt64 {
        var digest = Digest()
        for step in steps { digest.add(step) }
        digest.add(samples)
        digest.add(longestStall)
        digest.add(moves)
        return digest.value
    }
}
