// swift-tools-version: 6.1

import PackageDescription

// A package of its own, so that what is measured against is nobody's dependency.
let package = Package(
    name: "multipath-benchmarks",
    dependencies: [.package(name: "swift-multipath", path: "..")],
    targets: [
        // Changes the network by its own few lines of netlink: the measure shares nothing with the measured.
        .target(name: "CChanges"),
        .executableTarget(
            name: "mpbench-paths",
            dependencies: ["CChanges", .product(name: "Multipath", package: "swift-multipath")]),
    ],
    swiftLanguageModes: [.v6]
)
