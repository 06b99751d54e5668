import BenchSupport
import NIOCore

/// Wall time and CPU time since it was made.
struct Stopwatch {
    private let begun = NIODeadline.now()
    private let cpuBefore = ProcessUsage.cpu

    var seconds: Double { Double((NIODeadline.now() - begun).nanoseconds) / 1e9 }
    var cpu: Double { ProcessUsage.cpu - cpuBefore }
}
