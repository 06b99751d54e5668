import MultipathTesting
import PathCore
import Testing

#if canImport(Glibc)
    import Glibc
#endif

/// `WORLDS=100000 swift test -c release --filter Worlds` for a night; `WORLD=<seed>` runs one again and shows
/// what happened.
@Suite("In any world")
struct WorldsTests {
    private static func number(_ name: String) -> UInt64? {
        getenv(name).flatMap { UInt64(String(cString: $0)) }
    }

    @Test("a steered connection keeps its rules")
    func rules() {
        if let seed = Self.number("WORLD") { return show(seed) }
        let count = Self.number("WORLDS") ?? 600
        var failures: [String: [UInt64]] = [:]
        var stalls: [Int64] = []
        for seed in 1...count {
            if getenv("TRACE") != nil {
                print(seed)
                fflush(nil)
            }
            let (rules, world) = Self.run(RandomWorld(seed: seed))
            stalls.append(rules.longestStall)
            guard let broken = rules.broken else { continue }
            let kind = broken.drop { $0 != ":" }.prefix(40)
            failures[String(kind), default: []].append(seed)
            _ = world
        }
        stalls.sort()
        print(
            "stalls: median", stalls[stalls.count / 2] / 1_000_000, "p90",
            stalls[stalls.count * 9 / 10] / 1_000_000, "p99", stalls[stalls.count * 99 / 100] / 1_000_000,
            "max", stalls.last! / 1_000_000)
        for (kind, seeds) in failures.sorted(by: { $0.value.count > $1.value.count }) {
            print(seeds.count, kind, seeds.prefix(6))
        }
        #expect(failures.isEmpty)
    }

    static func run(_ plan: RandomWorld) -> (WorldRules, Simulation) {
        let world = plan.begin()
        var rules = WorldRules(plan)
        rules.look(world)
        let end = RandomWorld.activeTime.wholeNanoseconds + 5_000_000_000
        while rules.broken == nil, world.step(until: end) { rules.look(world) }
        return (rules, world)
    }

    private func show(_ seed: UInt64) {
        let plan = RandomWorld(seed: seed)
        let (rules, world) = Self.run(plan)
        print(plan)
        for step in world.steps { print(step) }
        print(world.summary(of: .client), world.summary(of: .server), separator: "\n")
        print(rules.broken ?? "all is well", rules.longestStall)
    }
}

extension Simulation.Step: CustomStringConvertible {
    public var description: String {
        var text = "\(Double(time) / 1e6) \(end == .client ? "" : "SERVER ")"
        switch action {
        case .tell(let event): text += "\(event)"
        case .share(let verdict): text += "    share \(verdict.path)"
        case .knock(let path, _, _): text += "    knock \(path)"
        case .perform(.create(let local, let isBackup, _)):
            text += "    create \(local.address) id \(local.id)\(isBackup ? " backup" : "")"
        case .perform(.destroy(let local, let remote)): text += "    destroy \(local) \(remote)"
        case .perform(.withdraw(let local)): text += "    withdraw \(local.address) id \(local.id)"
        case .perform(.prioritize(let local, _, let isBackup)):
            text += "    \(isBackup ? "backup" : "active") \(local)"
        case .perform(.announce(let local)): text += "    announce \(local.address)"
        }
        return text + (failure.map { " (\($0))" } ?? "")
    }
}
