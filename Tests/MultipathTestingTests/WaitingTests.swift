import LinuxNet
import MultipathTesting
import Testing

/// Waits for a condition; an issue where it does not come.
private func eventually(
    _ what: String, sourceLocation: SourceLocation = #_sourceLocation, _ condition: () async -> Bool
) async {
    let deadline = ContinuousClock.now + .seconds(20)
    while await !condition() {
        guard ContinuousClock.now < deadline else {
            Issue.record("gave up waiting for \(what)", sourceLocation: sourceLocation)
            return
        }
        await Task.yield()
    }
}

/// A user's rules: nothing that costs money or that is to be spared.
private let careful: PathPolicy = {
    var policy = PathPolicy()
    policy.allowsConstrainedPaths = false
    policy.allowsExpensivePaths = false
    return policy
}()

@Suite("Waiting for a path")
struct WaitingForPathTests {
    @Test("returns at once where one is allowed, and the one that the policy likes best")
    func atOnce() async throws {
        let paths = ScriptedPaths([.wifi("wlan0"), .wired("eth0")])
        #expect(try await paths.monitor.waitForPath().name == "eth0")
        var policy = careful
        policy.preferredInterface = "wlan0"
        #expect(try await paths.monitor.waitForPath(satisfying: policy).name == "wlan0")
    }

    @Test("returns when one becomes allowed, and passes over those that are not")
    func later() async throws {
        let paths = ScriptedPaths([.cellular("wwan0")])
        let found = Locked<String?>(nil)
        let waiting = Task {
            let path = try await paths.monitor.waitForPath(satisfying: careful)
            found.withLock { $0 = path.name }
        }
        paths.add(.bluetooth("bnep0"))
        for _ in 0..<1000 { await Task.yield() }
        #expect(found.withLock { $0 } == nil)
        paths.update("bnep0") { $0.expensive = false }
        try await waiting.value
        #expect(found.withLock { $0 } == "bnep0")
    }

    @Test("throws where it is cancelled, whatever moment that is in", arguments: [0, 1, 10, 200])
    func cancelled(yields: Int) async {
        let paths = ScriptedPaths([.cellular("wwan0")])
        let waiting = Task { try await paths.monitor.waitForPath(satisfying: careful) }
        for _ in 0..<yields { await Task.yield() }
        waiting.cancel()
        await #expect(throws: CancellationError.self) { try await waiting.value }
    }

    @Test("throws where the monitor has failed, or tells no more")
    func failed() async {
        let failing = ScriptedPaths()
        failing.fail(PathMonitorError("no netlink"))
        await #expect(throws: PathMonitorError("no netlink")) { try await failing.monitor.waitForPath() }
        let ending = ScriptedPaths()
        ending.end()
        await #expect(throws: PathMonitorError("the path monitor has stopped")) {
            try await ending.monitor.waitForPath()
        }
    }

    @Test("hears of another choice and of its tags, of none, and of nothing else")
    func updates() async {
        let paths = ScriptedPaths([.wifi("wlan0"), .cellular("wwan0")])
        var updates = paths.monitor.updates(allowedBy: careful).makeAsyncIterator()
        func next() async -> String { await updates.next().map { $0?.name ?? "none" } ?? "the end" }
        #expect(await next() == "wlan0")
        paths.update("wlan0") { $0.nameServers = [] }
        paths.lose("wwan0")
        paths.update("wlan0") { $0.constrained = true }
        #expect(await next() == "none")
        paths.restore("wwan0")
        paths.update("wwan0") { $0.expensive = false }
        #expect(await next() == "wwan0")
        paths.update("wlan0") { $0.constrained = false }
        #expect(await next() == "wlan0")
        paths.end()
        #expect(await next() == "the end")
    }
}

@Suite("Work that is done while a path is allowed")
struct WhileAllowedTests {
    /// Work that goes on until it is cancelled, and what is seen of it.
    private final class Work: Sendable {
        struct Seen {
            var running = 0
            var most = 0
            var calls: [String] = []
        }
        private let state = Locked(Seen())
        var seen: Seen { state.withLock { $0 } }

        func run(over path: PathInterface) async throws {
            state.withLock {
                $0.running += 1
                $0.most = max($0.most, $0.running)
                $0.calls.append(path.name)
            }
            defer { state.withLock { $0.running -= 1 } }
            try await Task.sleep(for: .seconds(3600))
        }
    }

    private struct Seeded: RandomNumberGenerator {
        var state: UInt64
        mutating func next() -> UInt64 {
            state ^= state << 13
            state ^= state >> 7
            state ^= state << 17
            return state
        }
    }

    @Test(
        "runs exactly while one is, over 1,000 changes, once at a time, and leaves nothing behind",
        arguments: [18, 1, 7, 2_026, 65_537] as [UInt64])
    func seeded(seed: UInt64) async throws {
        let paths = ScriptedPaths([.wifi("wlan0"), .cellular("wwan0")])
        weak var leaked: Work?
        var generator = Seeded(state: seed)
        do {
            let work = Work()
            leaked = work
            let running = Task {
                try await paths.monitor.whileAllowed(careful) { try await work.run(over: $0) }
            }
            var (allowed, changes) = (0, 0)
            while changes < 1000 {
                let name = ["wlan0", "wwan0"].randomElement(using: &generator) ?? "wlan0"
                switch Int.random(in: 0..<4, using: &generator) {
                case 0: paths.lose(name)
                case 1: paths.restore(name)
                case 2: paths.update(name) { $0.constrained = Bool.random(using: &generator) }
                default: paths.update(name) { $0.expensive = Bool.random(using: &generator) }
                }
                changes += 1
                // Several at once, now and then.
                if Int.random(in: 0..<5, using: &generator) == 0 { continue }
                let isAllowed = paths.snapshot.interfaces.contains { careful.refusal(of: $0) == nil }
                allowed += isAllowed ? 1 : 0
                await eventually("change \(changes), allowed: \(isAllowed)") {
                    work.seen.running == (isAllowed ? 1 : 0)
                }
            }
            #expect(work.seen.most == 1)
            #expect(allowed > 100 && work.seen.calls.count > 50, "\(allowed), \(work.seen.calls.count)")
            running.cancel()
            await #expect(throws: CancellationError.self) { try await running.value }
            #expect(work.seen.running == 0)
        }
        await eventually("the end of all that held the work") { leaked == nil }
    }

    @Test("goes on undisturbed from one allowed path to another, and ends with what it returns")
    func returns() async throws {
        let paths = ScriptedPaths([.wifi("wlan0"), .wired("eth0")])
        let (steps, step) = AsyncStream.makeStream(of: Void.self)
        let begun = Locked<[String]>([])
        let running = Task {
            try await paths.monitor.whileAllowed(careful) { path in
                begun.withLock { $0.append(path.name) }
                for await _ in steps { break }
                return 7
            }
        }
        await eventually("the work") { begun.withLock { $0 } == ["eth0"] }
        paths.remove("eth0")
        step.yield()
        #expect(try await running.value == 7)
        #expect(begun.withLock { $0 } == ["eth0"])
    }

    @Test(
        "throws what it throws while a path is allowed, and takes what it throws after that for its interruption"
    )
    func errors() async throws {
        struct Broken: Error {}
        let paths = ScriptedPaths([.wifi("wlan0")])
        await #expect(throws: Broken.self) {
            try await paths.monitor.whileAllowed(careful) { _ in throw Broken() }
        }
        let calls = Locked(0)
        let running = Task {
            try await paths.monitor.whileAllowed(careful) { _ in
                let call = calls.withLock { count in
                    count += 1
                    return count
                }
                if call == 2 { return call }
                // Not cancelled, but cut off: the path goes, and with it the connection.
                paths.lose("wlan0")
                throw Broken()
            }
        }
        await eventually("the first call") { calls.withLock { $0 } == 1 && paths.snapshot.primary == nil }
        // Until it waits for a path.
        for _ in 0..<10_000 { await Task.yield() }
        paths.restore("wlan0")
        #expect(try await running.value == 2)
    }

    @Test("is cancelled with its caller while it waits, while it runs, and while it takes its time to end")
    func cancelled() async throws {
        let paths = ScriptedPaths([.cellular("wwan0")])
        let work = Work()
        let waiting = Task {
            try await paths.monitor.whileAllowed(careful) { try await work.run(over: $0) }
        }
        for _ in 0..<100 { await Task.yield() }
        waiting.cancel()
        await #expect(throws: CancellationError.self) { try await waiting.value }
        #expect(work.seen.calls == [])

        paths.add(.wifi("wlan0"))
        let running = Task {
            try await paths.monitor.whileAllowed(careful) { try await work.run(over: $0) }
        }
        await eventually("the work") { work.seen.running == 1 }
        running.cancel()
        await #expect(throws: CancellationError.self) { try await running.value }
        #expect(work.seen.running == 0)

        let isEnding = Locked(false)
        let (permissions, permission) = AsyncStream.makeStream(of: Void.self)
        let slow = Task {
            try await paths.monitor.whileAllowed(careful) { path in
                do {
                    try await work.run(over: path)
                } catch {
                    isEnding.withLock { $0 = true }
                    // It saves what it has, and may not be cut off in that.
                    await Task.detached { for await _ in permissions { break } }.value
                    throw error
                }
            }
        }
        await eventually("the work") { work.seen.running == 1 }
        paths.lose("wlan0")
        await eventually("its end") { isEnding.withLock { $0 } }
        paths.restore("wlan0")
        for _ in 0..<100 { await Task.yield() }
        #expect(work.seen.calls.count == 2, "there is one call at a time")
        slow.cancel()
        permission.yield()
        await #expect(throws: CancellationError.self) { try await slow.value }
        #expect(work.seen.calls.count == 2 && work.seen.running == 0)
    }

    @Test("ends where the monitor tells no more and none is allowed")
    func ended() async {
        let paths = ScriptedPaths([.wifi("wlan0")])
        let work = Work()
        let running = Task {
            try await paths.monitor.whileAllowed(careful) { try await work.run(over: $0) }
        }
        await eventually("the work") { work.seen.running == 1 }
        paths.lose("wlan0")
        paths.end()
        await #expect(throws: PathMonitorError("the path monitor has stopped")) { try await running.value }
    }
}
