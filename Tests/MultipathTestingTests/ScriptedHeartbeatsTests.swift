import LinuxNet
import MultipathTesting
import Testing

@Suite("Heartbeats on a manual clock")
struct ScriptedHeartbeatsTests {
    /// What a connection's user was told.
    private final class Told: Sendable {
        private let events = Locked<[Heartbeat.Event]>([])
        var all: [Heartbeat.Event] { events.withLock { $0 } }
        func add(_ event: Heartbeat.Event) { events.withLock { $0.append(event) } }
    }

    @Test("find out what a scripted translator bears, at the cost of connections that are told of")
    func finds() {
        let heartbeats = ScriptedHeartbeats()
        var losses = 0
        var interval: Duration?
        for _ in 0..<10 {
            let told = Told()
            let connection = heartbeats.connection(behind: ScriptedNAT(forgetsAfter: .seconds(120)))
            let heartbeat = connection.answeredHeartbeat(told: told.add)
            heartbeats.clock.advance(by: .seconds(3 * 3_600))
            interval = heartbeat.report.interval
            guard case .dead? = told.all.last else { break }
            losses += 1
        }
        #expect(losses <= 3)
        #expect(
            interval.map { $0 >= .seconds(84) && $0 < .seconds(120) } == true,
            "\(String(describing: interval))")
    }

    @Test("tell that a peer is dead after the second ping without an answer")
    func dies() {
        let heartbeats = ScriptedHeartbeats()
        let told = Told()
        let connection = heartbeats.connection()
        let pings = Locked(0)
        let heartbeat = connection.heartbeat(ping: { pings.withLock { $0 += 1 } }, told: told.add)
        heartbeats.clock.advance(by: .seconds(30))
        #expect(pings.withLock { $0 } == 1)
        #expect(connection.answer(heartbeat))
        connection.killPeer()
        #expect(!connection.answer(heartbeat))
        heartbeats.clock.advance(by: .seconds(120))
        #expect(pings.withLock { $0 } == 3)
        #expect(told.all.count == 3)
        #expect(told.all[1] == .unanswered)
        if case .dead = told.all[2] {} else { Issue.record("\(told.all)") }
        #expect(
            heartbeat.report.interval == nil && heartbeat.report.pings == 3
                && heartbeat.report.bytesSent == 18)
        heartbeats.clock.advance(by: .seconds(3_600))
        #expect(told.all.count == 3)
    }

    @Test("are silent while bytes come, go together, and end when they are dropped")
    func together() {
        let heartbeats = ScriptedHeartbeats()
        let connections = (0..<20).map { _ in
            heartbeats.clock.advance(by: .milliseconds(700))
            let connection = heartbeats.connection(network: "cafe")
            return (connection: connection, heartbeat: connection.answeredHeartbeat())
        }
        for _ in 0..<25 {
            heartbeats.clock.advance(by: .seconds(1))
            for (connection, _) in connections { connection.receive() }
        }
        #expect(heartbeats.wakeUps == 0)
        heartbeats.clock.advance(by: .seconds(3_600))
        let pings = connections.reduce(0) { $0 + $1.heartbeat.report.pings }
        #expect(pings >= 20 * 5 && heartbeats.wakeUps <= pings / 10, "\(pings) in \(heartbeats.wakeUps)")
        for (connection, heartbeat) in connections {
            if heartbeat.report.pings.isMultiple(of: 2) { connection.close() } else { heartbeat.stop() }
        }
        heartbeats.clock.advance(by: .seconds(1_200))
        let before = heartbeats.wakeUps
        heartbeats.clock.advance(by: .seconds(7_200))
        #expect(heartbeats.wakeUps == before)
    }

    @Test("ask again over the network that a connection has moved to")
    func moves() {
        let heartbeats = ScriptedHeartbeats()
        let told = Told()
        let connection = heartbeats.connection(behind: ScriptedNAT(forgetsAfter: .seconds(20)))
        let heartbeat = connection.answeredHeartbeat(told: told.add)
        heartbeats.clock.advance(by: .milliseconds(30_500))
        #expect(heartbeat.report.pings == 1)
        connection.move(to: "cellular")
        heartbeats.clock.advance(by: .seconds(10))
        #expect(heartbeat.report.pings == 2 && heartbeat.report.answers == 1)
        #expect(told.all.first == .unanswered)
        #expect(heartbeat.report.interval == .seconds(30))
    }
}

@Suite("Scripted budgets")
struct ScriptedBudgetTests {
    private static func policy(_ budget: PathBudget) -> PathPolicy {
        var policy = PathPolicy()
        policy.budget = budget
        return policy
    }

    @Test("refuse the paths they cover to policies that have them, until they are filled again")
    func refuse() async throws {
        let paths = ScriptedPaths([.cellular("wwan0")])
        let budget = PathBudget.bytes(1_000, per: .day, on: .expensive)
        let policy = Self.policy(budget)
        #expect(try await paths.monitor.waitForPath(satisfying: policy).name == "wwan0")
        paths.spend(budget)
        let spent = try await paths.monitor.currentPath()
        #expect(policy.refusal(of: try #require(spent.primary)) == .budgetSpent)
        #expect(PathPolicy().refusal(of: try #require(spent.primary)) == nil)
        async let path = paths.monitor.waitForPath(satisfying: policy)
        paths.add(.wired("eth0"))
        #expect(try await path.name == "eth0", "what a budget does not cover is as it was")
        paths.remove("eth0")
        paths.refill(budget)
        #expect(try await paths.monitor.waitForPath(satisfying: policy).name == "wwan0")
    }

    @Test("end work that is done only while a path is allowed, and let it begin again")
    func whileAllowed() async throws {
        let paths = ScriptedPaths([.cellular("wwan0")])
        let budget = PathBudget.bytes(1_000, per: .day, on: .interfaces(["wwan0"]))
        let policy = Self.policy(budget)
        let runs = Locked(0)
        try await paths.monitor.whileAllowed(policy) { _ in
            let run = runs.withLock { runs in
                runs += 1
                return runs
            }
            if run == 2 { return }
            paths.spend(budget)
            defer { paths.refill(budget) }
            try await Task.sleep(for: .seconds(60))
        }
        #expect(runs.withLock { $0 } == 2)
    }
}
