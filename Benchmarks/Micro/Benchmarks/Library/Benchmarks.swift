import Benchmark

// What the library's decisions cost, in counts that are the same in every run:
//
//   swift package benchmark                              what they are; `--metric wallClock` for times instead
//   swift package benchmark thresholds check             fails where one is not what it was
//   swift package --allow-writing-to-package-directory benchmark thresholds update
//
// The last writes `Thresholds` anew, after a change that is meant. It finds no file of a name with a space.

let benchmarks: @Sendable () -> Void = {
    Benchmark.defaultConfiguration = .init(
        metrics: [Count.allocations], warmupIterations: 5, maxDuration: .seconds(1), maxIterations: 2_000)
    netlink()
    snapshots()
    races()
    modes()
    samples()
}
