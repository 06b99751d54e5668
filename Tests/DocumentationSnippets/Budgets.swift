import Multipath
import MultipathNIO

func synchronise() async throws {
    // snippet
    let sync = try await MultipathConnection.connect(host: "photos.example", port: 443) {
        $0.budget = .bytes(50_000_000, per: .day, on: .expensive)
        $0.whenPathIsRefused = .close
    }
    // end
    _ = sync
}

func prefetchWithinBudget(
    _ monitor: PathMonitor, _ prefetch: @escaping @Sendable (PathInterface) async throws -> Void
) async throws {
    // snippet
    var cautious = PathPolicy()
    cautious.budget = .bytes(10_000_000, per: .week, on: .interfaces(["wwan0"]))
    try await monitor.whileAllowed(cautious) { path in
        try await prefetch(path)
    }
    // end
}
