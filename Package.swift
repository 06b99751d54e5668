// swift-tools-version: 6.2

import PackageDescription

// CI sets this: a warning there is an error. It is off by default, because a newer compiler's new warning must not break
// the build of a package that depends on this one.
let strict: [SwiftSetting] =
    Context.environment["MULTIPATH_WARNINGS_AS_ERRORS"] == "1"
    ? [.unsafeFlags(["-warnings-as-errors"])] : []

let service = TargetDependencyCondition.when(traits: ["Service"])
let http = TargetDependencyCondition.when(traits: ["HTTP"])
let outbox = TargetDependencyCondition.when(traits: ["Outbox"])

let package = Package(
    name: "swift-multipath",
    products: [
        .library(name: "PathCore", targets: ["PathCore"]),
        .library(name: "Multipath", targets: ["Multipath"]),
        .library(name: "MultipathNIO", targets: ["MultipathNIO"]),
        .library(name: "MultipathTLS", targets: ["MultipathTLS"]),
        .library(name: "MultipathHTTP", targets: ["MultipathHTTP"]),
        .library(name: "MultipathWebSocket", targets: ["MultipathWebSocket"]),
        .library(name: "MultipathOutbox", targets: ["MultipathOutbox"]),
        .library(name: "MultipathDNS", targets: ["MultipathDNS"]),
        .library(name: "MultipathTesting", targets: ["MultipathTesting"]),
        .library(name: "MultipathService", targets: ["MultipathService"]),
        .executable(name: "mpconnect", targets: ["mpconnect"]),
        .executable(name: "mppaths", targets: ["mppaths"]),
        .library(name: "NetworkLab", targets: ["NetworkLab"]),
        .executable(name: "mplab", targets: ["mplab"]),
        .executable(name: "mpathd", targets: ["mpathd"]),
        .executable(name: "mpstream", targets: ["mpstream"]),
        .executable(name: "mpsync", targets: ["mpsync"]),
        .executable(name: "mprun", targets: ["mprun"]),
    ],
    traits: [
        // Off by default, so that only packages that ask for it fetch what its product needs.
        .trait(
            name: "Service",
            description: "MultipathService: swift-service-lifecycle, swift-metrics, swift-distributed-tracing"
        ),
        .trait(
            name: "HTTP",
            description:
                "MultipathHTTP: swift-http-types, swift-nio-http2, swift-nio-extras, swift-crypto"
        ),
        .trait(name: "Outbox", description: "MultipathOutbox: GRDB, and with it the system's SQLite"),
    ],
    dependencies: [
        .package(url: "https://github.com/apple/swift-nio", from: "2.101.2"),
        // For MultipathTLS, on which mpconnect's --tls and MultipathHTTP stand. MultipathNIO does without: a program
        // brings the TLS it wants.
        .package(url: "https://github.com/apple/swift-nio-ssl", from: "2.37.6"),
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
        .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
        // For MultipathService alone, with the trait Service.
        .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.13.0"),
        .package(url: "https://github.com/apple/swift-metrics", from: "2.13.0"),
        .package(url: "https://github.com/apple/swift-distributed-tracing", from: "1.7.3"),
        // For MultipathHTTP alone, with the trait HTTP: the values of requests and responses (RFC 9110) …
        .package(url: "https://github.com/apple/swift-http-types", from: "1.8.0"),
        // … HTTP/2 (RFC 9113), with its limits against floods …
        .package(url: "https://github.com/apple/swift-nio-http2", from: "1.46.0"),
        // … gzip and deflate with a limit, CONNECT to proxies, and the codecs between those values and SwiftNIO's …
        .package(url: "https://github.com/apple/swift-nio-extras", from: "1.35.2"),
        // … structured fields (RFC 9651), which digests and resumable uploads are written in …
        .package(url: "https://github.com/apple/swift-http-structured-headers", from: "1.7.0"),
        // … and SHA-256, for pins of public keys (RFC 7469) and the digests of downloads (RFC 9530).
        .package(url: "https://github.com/apple/swift-crypto", from: "4.5.2"),
        // For MultipathOutbox alone, with the trait Outbox: its requests stand in an SQLite file. GRDB brings transactions
        // on a queue of their own, WAL and migrations; it links the system's SQLite and has no dependency.
        .package(url: "https://github.com/groue/GRDB.swift", from: "7.10.0"),
    ],
    targets: [
        .systemLibrary(name: "CMnl", pkgConfig: "libmnl", providers: [.apt(["libmnl-dev"])]),
        .systemLibrary(name: "CLinux"),
        .systemLibrary(name: "CLab"),
        .systemLibrary(name: "CFolderSync"),
        // For MultipathDNS alone: DNS over sockets of one interface, which getaddrinfo can't do.
        .systemLibrary(name: "CAres", pkgConfig: "libcares", providers: [.apt(["libc-ares-dev"])]),
        // For the commands only: what has to happen before the Swift runtime starts.
        .target(name: "CCommandStartup"),
        // For mprun only: the filter, and the processes that answer for it.
        .target(name: "CTrap"),
        .target(name: "PathCore", swiftSettings: strict),
        .target(name: "LinuxNet", dependencies: ["CMnl", "CLinux", "PathCore"], swiftSettings: strict),
        // Steering for processes that lack the privilege: the protocol, the daemon that lends it, and its clients' end.
        .target(name: "PathBroker", dependencies: ["LinuxNet", "PathCore"], swiftSettings: strict),
        .target(
            name: "Multipath",
            dependencies: [
                "LinuxNet", "PathBroker", "PathCore", .product(name: "Logging", package: "swift-log"),
            ],
            swiftSettings: strict),
        .target(
            name: "MultipathDNS",
            dependencies: [
                "Multipath", "LinuxNet", "PathCore", "CAres",
                // For the resolver over HTTPS, which is there with the trait HTTP.
                .target(name: "MultipathHTTP", condition: http),
                .product(name: "HTTPTypes", package: "swift-http-types", condition: http),
                .product(name: "NIOCore", package: "swift-nio", condition: http),
                .product(name: "NIOSSL", package: "swift-nio-ssl", condition: http),
            ],
            swiftSettings: strict),
        .target(
            name: "MultipathNIO",
            dependencies: [
                "Multipath",
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "NIOTLS", package: "swift-nio"),
                .product(name: "NIOConcurrencyHelpers", package: "swift-nio"),
            ],
            swiftSettings: strict),
        // Whether a certificate is the host's (RFC 9525), for all here that speak TLS by NIOSSL.
        .target(
            name: "MultipathTLS",
            dependencies: [
                "Multipath", "MultipathNIO", "LinuxNet",
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOTLS", package: "swift-nio"),
                .product(name: "NIOSSL", package: "swift-nio-ssl"),
            ],
            swiftSettings: strict),
        .target(
            name: "MultipathHTTP",
            dependencies: [
                "Multipath", "MultipathNIO", "MultipathTLS", "LinuxNet",
                .product(name: "Crypto", package: "swift-crypto", condition: http),
                .product(name: "HTTPTypes", package: "swift-http-types", condition: http),
                .product(name: "NIOConcurrencyHelpers", package: "swift-nio", condition: http),
                .product(name: "NIOCore", package: "swift-nio", condition: http),
                .product(name: "NIOExtras", package: "swift-nio-extras", condition: http),
                .product(
                    name: "RawStructuredFieldValues", package: "swift-http-structured-headers",
                    condition: http),
                .product(name: "NIOHTTP1", package: "swift-nio", condition: http),
                .product(name: "NIOHTTP2", package: "swift-nio-http2", condition: http),
                .product(name: "NIOHTTPCompression", package: "swift-nio-extras", condition: http),
                .product(name: "NIOHTTPTypes", package: "swift-nio-extras", condition: http),
                .product(name: "NIOHTTPTypesHTTP1", package: "swift-nio-extras", condition: http),
                .product(name: "NIOHTTPTypesHTTP2", package: "swift-nio-extras", condition: http),
                .product(name: "NIOPosix", package: "swift-nio", condition: http),
                .product(name: "NIOSSL", package: "swift-nio-ssl", condition: http),
                .product(name: "NIOTLS", package: "swift-nio", condition: http),
            ],
            swiftSettings: strict),
        // SwiftNIO's own module has the frames and the upgrade; the protocol's rules are here.
        .target(
            name: "MultipathWebSocket",
            dependencies: [
                "Multipath", "MultipathNIO", "MultipathTLS", "MultipathHTTP", "LinuxNet",
                .product(name: "HTTPTypes", package: "swift-http-types", condition: http),
                .product(name: "NIOCore", package: "swift-nio", condition: http),
                .product(name: "NIOHTTP1", package: "swift-nio", condition: http),
                .product(name: "NIOWebSocket", package: "swift-nio", condition: http),
                .product(name: "NIOSSL", package: "swift-nio-ssl", condition: http),
            ],
            swiftSettings: strict),
        .target(
            name: "MultipathOutbox",
            dependencies: [
                "Multipath", "LinuxNet",
                // For its transport by HTTP, which is there with both traits.
                .target(name: "MultipathHTTP", condition: http),
                .product(name: "HTTPTypes", package: "swift-http-types", condition: http),
                .product(name: "GRDB", package: "GRDB.swift", condition: outbox),
            ],
            swiftSettings: strict),
        .target(
            name: "MultipathTesting", dependencies: ["Multipath", "LinuxNet"], swiftSettings: strict),
        .target(
            name: "MultipathService",
            dependencies: [
                "Multipath",
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle", condition: service),
                .product(name: "CoreMetrics", package: "swift-metrics", condition: service),
                .product(name: "Tracing", package: "swift-distributed-tracing", condition: service),
            ],
            swiftSettings: strict),
        .target(
            name: "CommandSupport",
            dependencies: [
                "Multipath", "LinuxNet", "CCommandStartup",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
            ],
            swiftSettings: strict),
        // The commands' TLS, and its errors in words.
        .target(
            name: "CommandTLS",
            dependencies: [
                "MultipathTLS", "CommandSupport",
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOSSL", package: "swift-nio-ssl"),
            ],
            swiftSettings: strict),
        // `mppaths check`: what it finds, and the verdict.
        .target(
            name: "PathDoctor",
            dependencies: [
                "Multipath", "MultipathDNS", "LinuxNet", "CommandSupport", "CommandTLS",
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "NIOTLS", package: "swift-nio"),
                .product(name: "NIOSSL", package: "swift-nio-ssl"),
            ],
            swiftSettings: strict),
        .executableTarget(
            name: "mpconnect",
            dependencies: [
                "MultipathNIO", "MultipathDNS", "LinuxNet", "CommandSupport", "CommandTLS",
                .product(name: "NIOTLS", package: "swift-nio"),
                .product(name: "NIOSSL", package: "swift-nio-ssl"),
            ],
            swiftSettings: strict),
        .executableTarget(
            name: "mppaths",
            dependencies: ["Multipath", "LinuxNet", "CommandSupport", "CommandTLS", "PathDoctor"],
            swiftSettings: strict),
        // The lab's syscalls, which the library does without: namespaces, taps, packet sockets, mounts.
        .target(
            name: "LabNet", dependencies: ["LinuxNet", "PathCore", "CLab", "CLinux"], swiftSettings: strict),
        .target(
            name: "NetworkLab", dependencies: ["LabNet", "LinuxNet", "PathCore"], swiftSettings: strict),
        .executableTarget(
            name: "mplab", dependencies: ["NetworkLab", "LinuxNet", "CommandSupport"],
            swiftSettings: strict),

        // HLS (RFC 8216). It stands on public API alone, as any client of this library would, and the compiler sees to that.
        .target(
            name: "HLSClient",
            dependencies: [
                "Multipath", "MultipathHTTP",
                .product(name: "Crypto", package: "swift-crypto", condition: http),
                // AES in CBC mode, which HLS encrypts with.
                .product(name: "CryptoExtras", package: "swift-crypto", condition: http),
                .product(name: "HTTPTypes", package: "swift-http-types", condition: http),
                .product(name: "NIOCore", package: "swift-nio", condition: http),
            ],
            packageAccess: false, swiftSettings: strict),
        .executableTarget(
            name: "mpstream",
            dependencies: [
                "HLSClient", "Multipath", "MultipathHTTP", "LinuxNet", "CommandSupport",
                .product(name: "HTTPTypes", package: "swift-http-types", condition: http),
                .product(name: "NIOCore", package: "swift-nio", condition: http),
                .product(name: "NIOHTTP1", package: "swift-nio", condition: http),
                .product(name: "NIOPosix", package: "swift-nio", condition: http),
                .product(name: "NIOSSL", package: "swift-nio-ssl", condition: http),
            ],
            swiftSettings: strict),

        .executableTarget(
            name: "mpathd", dependencies: ["PathBroker", "LinuxNet", "CommandSupport"], swiftSettings: strict),

        // A folder and a WebDAV server kept the same. It sees of this package what any program sees, and no more.
        .target(
            name: "FolderSync",
            dependencies: [
                "CFolderSync", "Multipath",
                .target(name: "MultipathHTTP", condition: http),
                .product(name: "Crypto", package: "swift-crypto", condition: http),
                .product(name: "GRDB", package: "GRDB.swift", condition: outbox),
                .product(name: "HTTPTypes", package: "swift-http-types", condition: http),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "NIOSSL", package: "swift-nio-ssl"),
            ],
            packageAccess: false, swiftSettings: strict),
        .executableTarget(
            name: "mpsync",
            dependencies: [
                "FolderSync", "LinuxNet", "CommandSupport",
                .product(name: "NIOSSL", package: "swift-nio-ssl"),
            ],
            swiftSettings: strict),

        // Steering for programs that know nothing of it: what mprun decides.
        .target(
            name: "ProgramSteering", dependencies: ["Multipath", "LinuxNet", "PathCore", "CTrap"],
            swiftSettings: strict),
        .executableTarget(
            name: "mprun",
            dependencies: ["ProgramSteering", "Multipath", "LinuxNet", "CTrap", "CommandSupport"],
            swiftSettings: strict),

        // Not a product: an example of the public interface, which `make demo` shows.
        .executableTarget(
            name: "side-by-side", dependencies: ["Multipath", "LinuxNet", "NetworkLab"],
            path: "Examples/side-by-side", swiftSettings: strict),

        // Nor is this one: a server and its client, by public API alone.
        .executableTarget(
            name: "pub-menu",
            dependencies: [
                "MultipathHTTP", "MultipathNIO", "MultipathWebSocket",
                .product(name: "HTTPTypes", package: "swift-http-types", condition: http),
                .product(name: "NIOCore", package: "swift-nio", condition: http),
                .product(name: "NIOHTTP1", package: "swift-nio", condition: http),
                .product(name: "NIOHTTPTypes", package: "swift-nio-extras", condition: http),
                .product(name: "NIOHTTPTypesHTTP1", package: "swift-nio-extras", condition: http),
            ],
            path: "Examples/pub-menu", packageAccess: false, swiftSettings: strict),

        // Shared by the test targets only.
        .target(
            name: "TestSupport", dependencies: ["LabNet", "LinuxNet", "PathCore"], path: "Tests/TestSupport",
            swiftSettings: strict),
        // Two ends of a connection in simulated time, and random worlds for them.
        .target(
            name: "SteeringSimulation", dependencies: ["PathCore"], path: "Tests/SteeringSimulation",
            swiftSettings: strict),
        // Runs as many of those worlds as one likes.
        .executableTarget(
            name: "steering-worlds", dependencies: ["SteeringSimulation"], path: "Tests/SteeringWorlds",
            swiftSettings: strict),
        // The broker's clients in simulated time, some of which lie; and a program that runs many such worlds.
        .target(
            name: "BrokerSimulation", dependencies: ["PathBroker", "PathCore"],
            path: "Tests/BrokerSimulation",
            swiftSettings: strict),
        .executableTarget(
            name: "broker-worlds", dependencies: ["BrokerSimulation", "PathBroker", "PathCore"],
            path: "Tests/BrokerWorlds",
            swiftSettings: strict),
        // Clients of the broker that need another process: other users', hostile ones.
        .executableTarget(
            name: "broker-probe", dependencies: ["PathBroker", "LinuxNet", "PathCore"],
            path: "Tests/BrokerProbe",
            swiftSettings: strict),
        // A program that a test runs in a namespace.
        .executableTarget(
            name: "racestorm",
            dependencies: ["MultipathNIO", .product(name: "NIOCore", package: "swift-nio")],
            path: "Tests/RaceStorm", swiftSettings: strict),
        // What tests need another process for: one that lacks a right, or that is killed.
        .executableTarget(
            name: "subflow-probe", dependencies: ["LinuxNet", "PathCore", "CLab"], path: "Tests/SubflowProbe",
            swiftSettings: strict),
        // A client in a lab, whose paths it lets go bad.
        .executableTarget(
            name: "modeprobe", dependencies: ["Multipath", "LinuxNet", "LabNet", "NetworkLab"],
            path: "Tests/ModeProbe",
            swiftSettings: strict),
        // The HTTP client that tests start in a lab.
        .executableTarget(
            name: "httpprobe",
            dependencies: [
                "MultipathHTTP", "Multipath", "LinuxNet",
                .product(name: "Crypto", package: "swift-crypto", condition: http),
                .product(name: "HTTPTypes", package: "swift-http-types", condition: http),
                .product(name: "NIOCore", package: "swift-nio", condition: http),
                .product(name: "NIOHTTP1", package: "swift-nio", condition: http),
                .product(name: "NIOHTTPTypes", package: "swift-nio-extras", condition: http),
                .product(name: "NIOHTTPTypesHTTP1", package: "swift-nio-extras", condition: http),
                .product(name: "NIOPosix", package: "swift-nio", condition: http),
                .product(name: "NIOResumableUpload", package: "swift-nio-extras", condition: http),
                .product(name: "NIOSSL", package: "swift-nio-ssl", condition: http),
            ],
            path: "Tests/HTTPProbe", swiftSettings: strict),
        // A thousand connections for a long time, of which nothing may grow.
        .executableTarget(
            name: "soak", dependencies: ["Multipath", "LinuxNet", "LabNet", "NetworkLab"], path: "Tests/Soak",
            swiftSettings: strict),
        // Programs as mprun has to bear with them, which know nothing of it.
        .executableTarget(name: "trap-probe", path: "Tests/TrapProbe"),
        .testTarget(
            name: "ProgramSteeringTests",
            dependencies: [
                "ProgramSteering", "Multipath", "TestSupport", "mprun", "mplab", "mpathd", "mpconnect",
                "trap-probe",
            ],
            swiftSettings: strict),
        .testTarget(
            name: "PathCoreTests", dependencies: ["PathCore", "SteeringSimulation", "TestSupport"],
            swiftSettings: strict),
        .testTarget(
            name: "LinuxNetTests", dependencies: ["LinuxNet", "LabNet", "TestSupport", "subflow-probe"],
            resources: [.copy("Fixtures")], swiftSettings: strict),
        .testTarget(
            name: "ProgramMatrixTests", dependencies: ["TestSupport", "mprun", "mpathd"],
            resources: [.copy("Fixtures")], swiftSettings: strict),
        .testTarget(
            name: "PathBrokerTests",
            dependencies: [
                "PathBroker", "BrokerSimulation", "TestSupport", "broker-probe", "mpathd", "mpconnect",
            ],
            resources: [.copy("Fixtures")], swiftSettings: strict),
        .testTarget(
            name: "MultipathTests",
            dependencies: ["Multipath", "MultipathTesting", "LabNet", "PathBroker", "TestSupport"],
            swiftSettings: strict),
        .testTarget(
            name: "MultipathDNSTests",
            dependencies: [
                "MultipathDNS", "MultipathNIO", "MultipathTLS", "LinuxNet", "TestSupport",
                .product(name: "NIOHTTP1", package: "swift-nio", condition: http),
                .product(name: "NIOHTTP2", package: "swift-nio-http2", condition: http),
                .product(name: "NIOPosix", package: "swift-nio", condition: http),
                .product(name: "NIOSSL", package: "swift-nio-ssl", condition: http),
            ],
            swiftSettings: strict),
        .testTarget(
            name: "MultipathTestingTests", dependencies: ["MultipathTesting", "LinuxNet"],
            swiftSettings: strict),
        .testTarget(
            name: "MultipathServiceTests",
            dependencies: [
                "MultipathService", "MultipathTesting",
                .product(
                    name: "ServiceLifecycleTestKit", package: "swift-service-lifecycle", condition: service),
                .product(name: "MetricsTestKit", package: "swift-metrics", condition: service),
                .product(name: "InMemoryTracing", package: "swift-distributed-tracing", condition: service),
            ],
            swiftSettings: strict),
        .testTarget(
            name: "MultipathNIOTests",
            dependencies: [
                "MultipathNIO", "LinuxNet", "racestorm", "TestSupport",
                .product(name: "NIOSSL", package: "swift-nio-ssl"),
                .product(name: "NIOTLS", package: "swift-nio"),
                .product(name: "NIOConcurrencyHelpers", package: "swift-nio"),
            ],
            swiftSettings: strict),
        .testTarget(
            name: "MultipathHTTPTests",
            dependencies: [
                "MultipathHTTP", "Multipath", "MultipathTLS", "MultipathTesting", "LinuxNet", "LabNet",
                "TestSupport",
                "httpprobe", "mplab",
                .product(name: "HTTPTypes", package: "swift-http-types", condition: http),
                .product(name: "NIOConcurrencyHelpers", package: "swift-nio", condition: http),
                .product(name: "NIOEmbedded", package: "swift-nio", condition: http),
                .product(name: "NIOHTTP1", package: "swift-nio", condition: http),
                .product(name: "NIOHTTP2", package: "swift-nio-http2", condition: http),
                .product(name: "NIOHTTPTypes", package: "swift-nio-extras", condition: http),
                .product(name: "NIOHTTPTypesHTTP1", package: "swift-nio-extras", condition: http),
                .product(name: "NIOResumableUpload", package: "swift-nio-extras", condition: http),
                .product(name: "NIOPosix", package: "swift-nio", condition: http),
                .product(name: "NIOSSL", package: "swift-nio-ssl", condition: http),
            ],
            swiftSettings: strict),
        .testTarget(
            name: "MultipathWebSocketTests",
            dependencies: [
                "MultipathWebSocket", "MultipathHTTP", "MultipathNIO", "TestSupport",
                .product(name: "HTTPTypes", package: "swift-http-types", condition: http),
                // SHA-1, for servers that a test makes of bytes.
                .product(name: "Crypto", package: "swift-crypto", condition: http),
                .product(name: "NIOConcurrencyHelpers", package: "swift-nio", condition: http),
                .product(name: "NIOHTTP1", package: "swift-nio", condition: http),
                .product(name: "NIOPosix", package: "swift-nio", condition: http),
                .product(name: "NIOSSL", package: "swift-nio-ssl", condition: http),
                .product(name: "NIOWebSocket", package: "swift-nio", condition: http),
            ],
            swiftSettings: strict),
        .testTarget(
            name: "HLSClientTests", dependencies: ["HLSClient", "TestSupport", "mpstream"],
            swiftSettings: strict),
        // A process with an outbox, which its test kills.
        .executableTarget(
            name: "outbox-probe",
            dependencies: [
                "MultipathOutbox", "MultipathTesting",
                .product(name: "NIOHTTP1", package: "swift-nio", condition: outbox),
                .product(name: "NIOPosix", package: "swift-nio", condition: outbox),
            ],
            path: "Tests/OutboxProbe", swiftSettings: strict),
        .testTarget(
            name: "MultipathOutboxTests",
            dependencies: [
                "MultipathOutbox", "MultipathTesting", "TestSupport", "outbox-probe",
                .target(name: "MultipathHTTP", condition: http),
                .product(name: "NIOConcurrencyHelpers", package: "swift-nio", condition: outbox),
                .product(name: "NIOHTTP1", package: "swift-nio", condition: outbox),
                .product(name: "NIOPosix", package: "swift-nio", condition: outbox),
            ],
            swiftSettings: strict),
        .testTarget(
            name: "FolderSyncTests",
            dependencies: [
                "FolderSync", "TestSupport", "mpsync", "mplab",
                .product(name: "NIOCore", package: "swift-nio", condition: http),
            ],
            swiftSettings: strict),
        // The code in the documentation's pages, which scripts/snippets.py compares with it.
        .testTarget(
            name: "DocumentationSnippets",
            dependencies: [
                "Multipath", "MultipathDNS", "MultipathHTTP", "MultipathNIO", "MultipathOutbox",
                "MultipathService", "MultipathTesting", "MultipathWebSocket", "NetworkLab",
                .product(name: "HTTPTypes", package: "swift-http-types", condition: http),
                .product(name: "NIOCore", package: "swift-nio"),
            ],
            swiftSettings: strict),
        .testTarget(
            name: "CommandTests",
            dependencies: [
                "mpconnect", "mppaths", "mplab", "subflow-probe", "CommandSupport", "MultipathTLS",
                "PathDoctor",
                "LinuxNet", "LabNet", "PathCore", "TestSupport",
            ],
            swiftSettings: strict),
        .testTarget(
            name: "NetworkLabTests",
            dependencies: [
                "NetworkLab", "PathCore", "TestSupport", "mplab", "mpconnect", "mppaths",
            ],
            swiftSettings: strict),
        // A download that follows the better path by public API alone, over TCP.
        .executableTarget(
            name: "download-probe",
            dependencies: [
                "MultipathNIO", .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
            ],
            path: "Tests/DownloadProbe", swiftSettings: strict),
        // The library and its commands in labs whose paths go bad.
        .testTarget(
            name: "EndToEndTests",
            dependencies: [
                "NetworkLab", "TestSupport", "mplab", "mpconnect", "mppaths", "download-probe", "modeprobe",
                "httpprobe", "mpstream", "mpsync", "pub-menu", "soak", "subflow-probe",
            ],
            swiftSettings: strict),
    ],
    swiftLanguageModes: [.v6]
)
