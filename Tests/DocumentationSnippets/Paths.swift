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
    for await path in monitor.updates(allowedBy: policy) {
        await prefetch.setPaused(path == nil)
    }
    // end
}

func prefetchWhileAllowed(monitor: PathMonitor, policy: PathPolicy, prefetch: Prefetch) async throws {
    // snippet
    try await monitor.whileAllowed(policy) { path in
        print("over", path.name)
        try await prefetch.run()  // cancelled when no path is allowed any more, and called again when one is
    }
    // end
}

func waitThenConnect(monitor: PathMonitor, policy: PathPolicy) async throws {
    // snippet
    let path = try await monitor.waitForPath(satisfying: policy)
    // end
    _ = path
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
    func run() async throws {}
}
