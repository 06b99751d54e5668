import CChanges
import Multipath

/// Measures the path monitor in the network namespace it is started in. `paths.sh` makes that, and says what
/// is changed there.
@main
enum Main {
    static func main() async throws {
        var arguments = Array(CommandLine.arguments.dropFirst())
        switch arguments.isEmpty ? "" : arguments.removeFirst() {
        case "startup": try await startup()
        case "latency": try await Latency.measure(samples: arguments.first.flatMap { Int($0) } ?? 2_000)
        case "during": try await during(arguments)
        default: print("usage: mpbench-paths startup | latency [SAMPLES] | during COMMAND…")
        }
    }

    /// From nothing to the first snapshot, once: a process starts once. Prints milliseconds, those of CPU
    /// time, and KiB.
    private static func startup() async throws {
        let (start, cpuStart) = (changes_now(), changes_cpu_time())
        let monitor = PathMonitor()
        let path = try await monitor.currentPath()
        let (time, cpu) = (changes_now() - start, changes_cpu_time() - cpuStart)
        print(
            Double(time / 1000) / 1000, Double(cpu / 1000) / 1000, Memory.residentKiB, path.interfaces.count,
            path.excluded.count,
            path.primary.map { "\($0.name) \($0.gateways) \($0.metric.map(String.init) ?? "none")" } ?? "none"
        )
    }

    /// What a monitor with one consumer costs while a command changes the network.
    private static func during(_ command: [String]) async throws {
        let monitor = PathMonitor()
        let updates = Counter()
        let consumer = Task {
            for await _ in monitor.updates { updates.add() }
        }
        _ = try await monitor.currentPath()
        let (before, start, cpuStart) = (monitor.counters, changes_now(), changes_cpu_time())
        await Command.run(command)
        // What is gathered is told after 250 ms at most.
        try await Task.sleep(for: .milliseconds(500))
        let counters = monitor.counters
        print(
            "\(counters.wakeups - before.wakeups) wakeups, \(updates.value - 1) updates,",
            "\(Double((changes_cpu_time() - cpuStart) / 100_000) / 10) ms of CPU in",
            "\(Double((changes_now() - start) / 1_000_000) / 1000) s, \(counters.overflows) overflows,",
            "\(counters.interruptedDumps) dumps interrupted, \(Memory.residentKiB) KiB resident")
        consumer.cancel()
    }
}
