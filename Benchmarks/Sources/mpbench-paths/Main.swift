import BenchSupport
import CChanges
import Foundation
import Multipath

/// Measures the path monitor in the network namespace it is started in, which `mpbench_suite/programs/world.sh` makes
/// and changes.
@main
enum Main {
    static func main() async throws {
        var arguments = Array(CommandLine.arguments.dropFirst())
        switch arguments.isEmpty ? "" : arguments.removeFirst() {
        case "startup": try await startup()
        case "latency":
            try await Latency.measure(
                samples: arguments.first.flatMap { Int($0) } ?? 2_000, peer: Array(arguments.dropFirst()))
        case "during": try await during(arguments)
        default: print("usage: mpbench-paths startup | latency SAMPLES PEER… | during COMMAND…")
        }
    }

    /// From nothing to the first snapshot, once: a process starts once. Prints milliseconds, those of CPU
    /// time, and KiB.
    private static func startup() async throws {
        let (start, cpuStart) = (changes_now(), ProcessUsage.cpu)
        let monitor = PathMonitor()
        let path = try await monitor.currentPath()
        let (time, cpu) = (changes_now() - start, ProcessUsage.cpu - cpuStart)
        print(
            Double(time / 1000) / 1000, Double(Int(cpu * 1e6)) / 1000, Int(ProcessUsage.residentKiB),
            path.interfaces.count,
            path.excluded.count,
            path.primary.map { "\($0.name) \($0.gateways) \($0.metric.map(String.init) ?? "none")" } ?? "none"
        )
    }

    private struct Cost: Encodable {
        var wakeups: Int
        var updates: Int
        var cpuSeconds: Double
        var seconds: Double
        var overflows: Int
        var interruptedDumps: Int
        var residentKiB: Int
    }

    /// What a monitor with one consumer costs while a command changes the network.
    private static func during(_ command: [String]) async throws {
        let monitor = PathMonitor()
        let updates = Counter()
        let consumer = Task {
            for await _ in monitor.updates { updates.add() }
        }
        _ = try await monitor.currentPath()
        let (before, start, cpuStart) = (monitor.counters, changes_now(), ProcessUsage.cpu)
        await Command.run(command)
        // The monitor gathers changes for 250 ms at most.
        try await Task.sleep(for: .milliseconds(500))
        let counters = monitor.counters
        let result = Cost(
            wakeups: counters.wakeups - before.wakeups, updates: updates.value - 1,
            cpuSeconds: ProcessUsage.cpu - cpuStart,
            seconds: Double(changes_now() - start) / 1e9, overflows: counters.overflows,
            interruptedDumps: counters.interruptedDumps, residentKiB: Int(ProcessUsage.residentKiB))
        print(String(decoding: try JSONEncoder().encode(result), as: UTF8.self))
        consumer.cancel()
    }
}
