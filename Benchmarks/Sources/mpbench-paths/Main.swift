import CChanges
import Multipath

/// Measures the path monitor in the network namespace it is started in. `paths.sh` makes that, and says what
/// is changed there.
@main
enum Main {
    static func main() async throws {
        let arguments = CommandLine.arguments.dropFirst()
        switch arguments.first {
        case "startup": try await startup()
        default:
            print("usage: mpbench-paths startup")
        }
    }

    /// From nothing to the first snapshot, once: a process starts once. Prints milliseconds and KiB.
    private static func startup() async throws {
        let start = changes_now()
        let monitor = PathMonitor()
        let path = try await monitor.currentPath()
        let time = changes_now() - start
        print(
            String(Double(time / 1000) / 1000), Memory.residentKiB, path.interfaces.count, path.excluded.count,
            path.primary.map { "\($0.name) \($0.gateways) \($0.metric.map(String.init) ?? "none")" } ?? "none")
    }
}
