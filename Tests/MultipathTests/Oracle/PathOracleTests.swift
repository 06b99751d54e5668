import Foundation
import LabNet
import LinuxNet
import TestSupport
import Testing

@testable import Multipath

@Suite("After random changes the path monitor", .needsNamespaces, .needs("ip", "unshare", "bash"))
struct PathOracleTests {
    @Test("says what an oracle makes of ip's tables", .inNamespace(within: .seconds(3_600)))
    func ordinary() async throws {
        var run = OracleRun(seed: Self.seed)
        let counters = try await run.go(changes: Self.changes / 2)
        #expect(counters.malformed == 0)
    }

    @Test("says the same where most notifications are lost", .inNamespace(within: .seconds(3_600)))
    func losses() async throws {
        // Room for one message. And routes by nexthop objects tell their number only.
        try ControlFile.sysctl("net/ipv4/nexthop_compat_mode", "0")
        var run = OracleRun(seed: Self.seed &+ 1, receiveBuffer: 1)
        let counters = try await run.go(changes: Self.changes / 2)
        #expect(counters.overflows > 0)
        #expect(counters.malformed == 0)
    }

    /// How many changes; a nightly run makes 20,000.
    private static let changes = number("ORACLE_CHANGES") ?? 1_000
    /// A failure names its seed, for running it again.
    private static let seed = UInt64(number("ORACLE_SEED") ?? 20_261_121)

    private static func number(_ name: String) -> Int? {
        ProcessInfo.processInfo.environment[name].flatMap { Int($0) }
    }
}

/// One world, changed in bursts.
struct OracleRun {
    let seed: UInt64
    private var changes: NetworkChanges
    private var configuration = PathMonitor.Configuration()

    init(seed: UInt64, receiveBuffer: Int? = nil) {
        self.seed = seed
        changes = NetworkChanges(random: SplitMix64(seed: seed))
        configuration.receiveBuffer = receiveBuffer
        configuration.coalescing.quietPeriod = .milliseconds(5)
        configuration.coalescing.maximumWait = .milliseconds(25)
    }

    /// Makes so many changes.
    /// - Returns: what the monitors counted.
    mutating func go(changes count: Int) async throws -> PathMonitor.Counters {
        let start = ContinuousClock.now
        _ = try await Self.apply(NetworkChanges.beginning)
        var total = PathMonitor.Counters()
        var (made, bursts, longest) = (0, 0, Duration.zero)
        var answers: Set<[String]> = []
        while made < count {
            // Now and then a new one begins with what is there.
            let monitor = PathMonitor(configuration)
            let last = Locked<PathSnapshot?>(nil)
            let consumer = Task {
                for await path in monitor.updates { last.withLock { $0 = path } }
            }
            defer { consumer.cancel() }
            for _ in 0..<20 where made < count {
                let burst = changes.burst()
                made += try await Self.apply(burst)
                bursts += 1
                let time = try await agreement(of: monitor, last)
                guard let time else {
                    Issue.record(
                        "seed \(seed), burst \(bursts) after \(made) changes:\n\(burst.joined(separator: "\n"))"
                    )
                    return monitor.counters
                }
                longest = max(longest, time)
                answers.insert(monitor.latestPath.map(PathOracle.lines) ?? [])
            }
            total.overflows += monitor.counters.overflows
            total.interruptedDumps += monitor.counters.interruptedDumps
            total.malformed += monitor.counters.malformed
            total.failures += monitor.counters.failures
            total.wakeups += monitor.counters.wakeups
        }
        print(
            "measured: seed \(seed), \(made) changes in \(bursts) bursts, \(ContinuousClock.now - start),",
            "\(answers.count) different answers, agreement after \(longest) at most, \(total)")
        // It is not one answer for all.
        #expect(answers.count > bursts / 5)
        return total
    }

    /// Waits until monitor, consumer and oracle agree.
    /// - Returns: how long that took; nil where it took 15 s.
    private func agreement(of monitor: PathMonitor, _ last: Locked<PathSnapshot?>) async throws -> Duration? {
        let start = ContinuousClock.now
        var (expected, answer) = ([String](), [String]())
        while ContinuousClock.now - start < .seconds(15) {
            expected = PathOracle(tables: try await IPTables.read()).lines
            guard let latest = monitor.latestPath else { continue }
            answer = PathOracle.lines(of: latest)
            let consumerAgrees = last.withLock { $0 }?.hasSameContent(as: latest) == true
            if answer == expected, consumerAgrees { return ContinuousClock.now - start }
        }
        let tables = try await Program.run([
            "bash", "-c",
            "ip rule; ip -6 rule; ip route show table all; ip -6 route show table all; ip nexthop",
        ])
        Issue.record("the tables:\n\(tables.outputText)")
        for difference in answer.difference(from: expected) {
            switch difference {
            case .insert(_, let line, _): Issue.record("the monitor: \(line)")
            case .remove(_, let line, _): Issue.record("the oracle:  \(line)")
            }
        }
        return nil
    }

    /// Makes changes as fast as `ip -batch` goes.
    /// - Returns: how many the kernel took.
    private static func apply(_ commands: [String]) async throws -> Int {
        let result = try await Program.run(
            ["ip", "-force", "-batch", "-"], input: Data(commands.joined(separator: "\n").utf8))
        let failed = result.errors.split(separator: "\n").count { $0.hasPrefix("Command failed") }
        return commands.count - failed
    }
}
