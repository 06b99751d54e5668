import Multipath

func watchPaths() async throws {
    // snippet
    let monitor = PathMonitor()
    let now = try await monitor.currentPath()
    print(now.status, now.primary?.name ?? "no path")
    for await path in monitor.updates {
        print(path.interfaces.map(\.name), path.isExpensive, path.isConstrained, path.changes)
    }
    // end
}

func pauseWhileConstrained(monitor: PathMonitor, prefetch: Prefetch) async {
    // snippet
    var policy = PathPolicy()
    policy.allowsConstrainedPaths = false
    policy.allowsExpensivePaths = false
    for await path in monitor.updates {
        let isAllowed = path.interfaces.contains { policy.refusal(of: $0) == nil }
        await prefetch.setPaused(!isAllowed)
    }
    // end
}

func overridePaths() {
    // snippet
    var configuration = PathMonitor.Configuration()
    configuration.overrides["eth1"] = InterfaceOverride(type: .cellular, isExpensive: true)
    let monitor = PathMonitor(configuration)
    // end
    _ = monitor
}

actor Prefetch {
    func setPaused(_ isPaused: Bool) {}
}
