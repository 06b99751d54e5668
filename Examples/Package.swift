// swift-tools-version: 6.2

import PackageDescription

// A package of its own, so that a package which depends on swift-multipath does not resolve what only the examples
// need. `make examples` at the top builds it.
let package = Package(
    name: "Examples",
    dependencies: [
        .package(name: "swift-multipath", path: ".."),
        .package(url: "https://github.com/apple/swift-nio", from: "2.101.2"),
        .package(url: "https://github.com/apple/swift-nio-ssl", from: "2.37.6"),
        .package(url: "https://github.com/apple/swift-nio-http2", from: "1.46.0"),
        .package(url: "https://github.com/swift-server/async-http-client", from: "1.37.0"),
    ],
    targets: [
        // AsyncHTTPClient with MPTCP on, and a look at each of its connections.
        .executableTarget(
            name: "multipath-http-client",
            dependencies: [
                .product(name: "MultipathNIO", package: "swift-multipath"),
                .product(name: "AsyncHTTPClient", package: "async-http-client"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOConcurrencyHelpers", package: "swift-nio"),
                .product(name: "NIOSSL", package: "swift-nio-ssl"),
            ]),
        // HTTP/2 over MultipathBootstrap: raced until TLS is up.
        .executableTarget(
            name: "multipath-http2",
            dependencies: [
                .product(name: "Multipath", package: "swift-multipath"),
                .product(name: "MultipathNIO", package: "swift-multipath"),
                .product(name: "MultipathTLS", package: "swift-multipath"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "NIOSSL", package: "swift-nio-ssl"),
                .product(name: "NIOHTTP2", package: "swift-nio-http2"),
                .product(name: "NIOHPACK", package: "swift-nio-http2"),
            ]),
    ],
    swiftLanguageModes: [.v6]
)
