import Allocations
import Benchmark

/// Counts of our own. None of them has a tolerance.
enum Count {
    static let allocations = BenchmarkMetric.custom("Allocations")
    /// Calls of a machine that pass something in.
    static let steps = BenchmarkMetric.custom("Machine steps")
    /// What the machine wanted done.
    static let actions = BenchmarkMetric.custom("Actions")
    static let samples = BenchmarkMetric.custom("Samples")

    static func configuration(_ counts: BenchmarkMetric...) -> Benchmark.Configuration {
        var configuration = Benchmark.defaultConfiguration
        configuration.metrics = [allocations] + counts
        return configuration
    }
}

extension Benchmark {
    /// Measures a closure, and counts what it allocates.
    func measured<Result>(_ body: () throws -> Result) rethrows -> Result {
        startMeasurement()
        let before = allocations_of_thread()
        let result = try body()
        let made = allocations_of_thread() - before
        stopMeasurement()
        measurement(Count.allocations, Int(made))
        return result
    }
}
