// swift-tools-version: 6.2

import PackageDescription

// A package of its own, so that the library does not depend on what it is measured against.
let package = Package(
    name: "multipath-benchmarks",
    dependencies: [
        .package(name: "swift-multipath", path: "..", traits: ["HTTP"]),
        .package(url: "https://github.com/apple/swift-nio", from: "2.101.2"),
        .package(url: "https://github.com/apple/swift-nio-ssl", from: "2.37.6"),
        // What MultipathHTTP is measured beside, and a framework that is a peer of it.
        .package(url: "https://github.com/swift-server/async-http-client", from: "1.37.0"),
        .package(url: "https://github.com/hummingbird-project/hummingbird", from: "2.28.1"),
    ],
    targets: [
        // Changes the network by its own few lines of netlink: the measure shares nothing with the measured.
        .target(name: "CChanges"),
        // What several of the programs do: open connections, look at their own process, print a line of JSON.
        .target(
            name: "BenchSupport",
            dependencies: [
                .product(name: "Multipath", package: "swift-multipath"),
                .product(name: "MultipathNIO", package: "swift-multipath"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
            ]),
        .executableTarget(
            name: "mpbench-paths",
            dependencies: [
                "BenchSupport", "CChanges", .product(name: "Multipath", package: "swift-multipath"),
            ]),
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
                "BenchSupport",
                .product(name: "Multipath", package: "swift-multipath"),
                .product(name: "MultipathNIO", package: "swift-multipath"),
                .product(name: "NetworkLab", package: "swift-multipath"),
                .product(name: "NIOPosix", package: "swift-nio"),
            ]),
        // HTTP clients, one after the other: this library's and AsyncHTTPClient.
        .executableTarget(
            name: "mpbench-http",
            dependencies: [
                .product(name: "Multipath", package: "swift-multipath"),
                .product(name: "MultipathHTTP", package: "swift-multipath"),
                .product(name: "AsyncHTTPClient", package: "async-http-client"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "NIOSSL", package: "swift-nio-ssl"),
            ]),
        // A server that is not this library's, for clients of it.
        .executableTarget(
            name: "mpbench-hummingbird",
            dependencies: [
                .product(name: "Hummingbird", package: "hummingbird"),
                .product(name: "HummingbirdHTTP2", package: "hummingbird"),
                .product(name: "HummingbirdTLS", package: "hummingbird"),
                .product(name: "NIOSSL", package: "swift-nio-ssl"),
            ]),
        // What moving data costs; plain C is the peer, and shows what it costs at least.
        .executableTarget(name: "mpbench-plain"),
        .executableTarget(
            name: "mpbench-data",
            dependencies: [
                "BenchSupport",
                .product(name: "Multipath", package: "swift-multipath"),
                .product(name: "MultipathNIO", package: "swift-multipath"),
                .product(name: "NIOPosix", package: "swift-nio"),
            ]),
    ],
    swiftLanguageModes: [.v6]
)
