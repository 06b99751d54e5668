import MultipathTesting
import Testing

@Suite("Consumers of path updates")
struct ConsumerTests {
    @Test(
        "get the last state or their cancellation, a thousand at once, whatever moment they are cancelled in",
        .timeLimit(.minutes(1)))
    func thousand() async throws {
        let paths = ScriptedPaths([.wifi("wlan0"), .cellular("wwan0")])
        // One that never reads, beside them all.
        let idle = paths.monitor.updates.makeAsyncIterator()
        try await withThrowingTaskGroup(of: Bool.self) { group in
            for number in 0..<1000 {
                group.addTask {
                    let reader = Task {
                        var last: PathSnapshot?
                        for await path in paths.monitor.updates { last = path }
                        return last
                    }
                    // Every third is cancelled: before it began, while it waits, or while it is being told.
                    if number.isMultiple(of: 3) {
                        for _ in 0..<number % 50 { await Task.yield() }
                        reader.cancel()
                        _ = await reader.value
                        return true
                    }
                    return await reader.value?.primary?.name == "eth9"
                }
            }
            for round in 0..<200 {
                if round.isMultiple(of: 2) { paths.lose("wlan0") } else { paths.restore("wlan0") }
                await Task.yield()
            }
            paths.add(.wired("eth9"))
            paths.end()
            for try await isRight in group { #expect(isRight) }
        }
        withExtendedLifetime(idle) {}
    }

    @Test(
        "leave nothing behind when they and the monitor are gone, though one was iterating",
        .timeLimit(.minutes(1)))
    func released() async throws {
        weak var weakMonitor: PathMonitor?
        weak var weakPaths: ScriptedPaths?
        do {
            let paths = ScriptedPaths([.wifi("wlan0")])
            (weakMonitor, weakPaths) = (paths.monitor, paths)
            let updates = paths.monitor.updates
            let reader = Task {
                for await _ in updates {}
            }
            // It has its first value, and waits for the next when it is cancelled and all others let go.
            _ = try await paths.monitor.currentPath()
            reader.cancel()
            await reader.value
        }
        let deadline = ContinuousClock.now + .seconds(10)
        while weakMonitor != nil || weakPaths != nil, ContinuousClock.now < deadline { await Task.yield() }
        #expect(weakMonitor == nil && weakPaths == nil)
    }
}
