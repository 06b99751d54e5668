// swift-tools-version: 6.2

import PackageDescription

// A package of its own, so that what is measured against is nobody's dependency.
let package = Package(
    name: "multipath-benchmarks",
    dependencies: [
        .package(name: "swift-multipath", path: ".."),
        .package(url: "https://github.com/apple/swift-nio", from: "2.101.2"),
    ],
    targets: [
        // Changes the network by its own few lines of netlink: the measure shares nothing with the measured.
        .target(name: "CChanges"),
        .executableTarget(
            name: "mpbench-paths",
            dependencies: ["CChanges", .product(name: "Multipath", package: "swift-multipath")]),
        .executableTarget(
            name: "mpbench-race",
            dependencies: [
                .product(name: "Multipath", package: "swift-multipath"),
                .product(name: "NIOPosix", package: "swift-nio"),
            ]),
        .executableTarget(
            name: "mpbench-instructions",
            dependencies: [
                .product(name: "Multipath", package: "swift-multipath"),
                .product(name: "MultipathNIO", package: "swift-multipath"),
                .product(name: "NIOPosix", package: "swift-nio"),
            ]),
        .executableTarget(
            name: "mpbench-modes",
            dependencies: [
                .product(name: "Multipath", package: "swift-multipath"),
                .product(name: "MultipathNIO", package: "swift-multipath"),
                .product(name: "NetworkLab", package: "swift-multipath"),
                .product(name: "NIOPosix", package: "swift-nio"),
            ]),
        // What data costs on its way; plain C is the peer, and what it can cost at least.
        .executableTarget(name: "mpbench-plain"),
        .executableTarget(
            name: "mpbench-data",
            dependencies: [
                .product(name: "Multipath", package: "swift-multipath"),
                .product(name: "MultipathNIO", package: "swift-multipath"),
                .product(name: "NIOPosix", package: "swift-nio"),
            ]),
    ],
    swiftLanguageModes: [.v6]
)
