// swift-tools-version: 6.2

import PackageDescription

// A package of its own, so that no other package depends on what it takes to measure this little, not even the other
// benchmarks. The library's targets are built here a second time, from the same files (`Library` and `Simulation` are links to them),
// because the machines are no public interface: `package` reaches as far as one package.
let package = Package(
    name: "multipath-micro",
    dependencies: [
        // Without its interposers, whose packages it would fetch. `Allocations` counts instead.
        .package(url: "https://github.com/ordo-one/benchmark", from: "1.38.1", traits: []),
        .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
    ],
    targets: [
        .systemLibrary(
            name: "CMnl", path: "Library/CMnl", pkgConfig: "libmnl", providers: [.apt(["libmnl-dev"])]),
        .systemLibrary(name: "CLinux", path: "Library/CLinux"),
        .target(name: "PathCore", path: "Library/PathCore"),
        .target(name: "LinuxNet", dependencies: ["CMnl", "CLinux", "PathCore"], path: "Library/LinuxNet"),
        .target(
            name: "Multipath",
            dependencies: ["LinuxNet", "PathCore", .product(name: "Logging", package: "swift-log")],
            path: "Library/Multipath"),
        .target(name: "SteeringSimulation", dependencies: ["PathCore"], path: "Simulation"),
        .target(name: "Allocations", path: "Allocations"),
        .executableTarget(
            name: "Library",
            dependencies: [
                "PathCore", "LinuxNet", "SteeringSimulation", "Allocations",
                .product(name: "Benchmark", package: "benchmark"),
            ],
            path: "Benchmarks/Library",
            plugins: [.plugin(name: "BenchmarkPlugin", package: "benchmark")]),
    ],
    swiftLanguageModes: [.v6]
)
