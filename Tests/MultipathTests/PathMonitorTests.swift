import Foundation
import LinuxNet
import TestSupport
import Testing

@testable import Multipath

@Suite("The path monitor")
struct PathMonitorTests {
    @Test("tells the current path at once, with loopback left out and why")
    func currentPath() async throws {
        let path = try await PathMonitor().currentPath()
        #expect(path.generation >= 1)
        #expect(path.changes == [PathChange(.initial)])
        #expect(path.status == (path.interfaces.isEmpty ? .unsatisfied : .satisfied))
        #expect(path.excluded.contains { $0.interface.name == "lo" && $0.reason == .loopback })
        #expect(path.interface(named: "lo")?.addresses.isEmpty == false)
    }

    @Test("gives each of a thousand consumers the same first value")
    func manyConsumers() async throws {
        let monitor = PathMonitor()
        let expected = try await monitor.currentPath()
        let seen = await withTaskGroup(of: PathSnapshot?.self) { group in
            for _ in 0..<1_000 {
                group.addTask {
                    for await path in monitor.updates { return path }
                    return nil
                }
            }
            return await group.reduce(into: [PathSnapshot?]()) { $0.append($1) }
        }
        #expect(seen.count == 1_000)
        #expect(seen.allSatisfy { $0?.hasSameContent(as: expected) == true })
    }

    @Test("ends a consumer's stream when its task is cancelled, while it waits or before")
    func cancellation() async {
        let monitor = PathMonitor()
        for _ in 0..<100 {
            let task = Task {
                var count = 0
                for await _ in monitor.updates { count += 1 }
                return count
            }
            task.cancel()
            // The first value may have come before the cancellation, or not.
            #expect(await task.value <= 1)
        }
    }

    @Test("lives on while only an iterator is left of it")
    func iteratorKeepsMonitor() async {
        var iterator = PathMonitor().updates.makeAsyncIterator()
        #expect(await iterator.next() != nil)
        let task = Task { [iterator] in
            var iterator = iterator
            return await iterator.next()
        }
        task.cancel()
        #expect(await task.value == nil)
    }

    @Test("takes what it is told of an interface, and names the source")
    func overrides() async throws {
        var configuration = PathMonitor.Configuration()
        configuration.overrides["lo"] = InterfaceOverride(isExpensive: true, isConstrained: true)
        let lo = try await PathMonitor(configuration).currentPath().interface(named: "lo")
        #expect(lo?.expensive == Verdict(.yes, .configuration))
        #expect(lo?.constrained == Verdict(true, .configuration))
    }

    /// A source whose sinks a test holds.
    private final class HeldSource: PathSource {
        let sinks = Locked<[PathSink]>([])
        func start(_ sink: PathSink) { sinks.withLock { $0.append(sink) } }
        func stop() {}
    }

    @Test("that is started again in the very moment in which its source fails goes on with the new start")
    func restart() async throws {
        let source = HeldSource()
        let lifetime = PathMonitor.Lifetime(source, .process, mayStartAgain: true) { PathMonitor.Counters() }
        lifetime.start()
        let first = source.sinks.withLock { $0[0] }
        // A snapshot that is being told holds up what its sink does next.
        let (isTold, gate) = (Locked(false), DispatchSemaphore(value: 0))
        let observation = lifetime.channel.observe { _ in
            isTold.withLock { $0 = true }
            gate.wait()
        }
        Thread { first.send(PathSnapshot()) }.start()
        try await Program.wait("the snapshot") { isTold.withLock { $0 } }
        let hasFailed = Locked(false)
        Thread {
            first.fail(PathMonitorError("no descriptor is left"))
            hasFailed.withLock { $0 = true }
        }.start()
        // Until the failure is seen, or surely waits for the snapshot: then the restart comes, and then the rest of it.
        let deadline = ContinuousClock.now + .seconds(1)
        while lifetime.failure == nil, ContinuousClock.now < deadline {
            try await Task.sleep(for: .milliseconds(5))
        }
        lifetime.start()
        lifetime.channel.endObservation(observation)
        gate.signal()
        try await Program.wait("the end of the failure") { hasFailed.withLock { $0 } }
        lifetime.start()
        #expect(source.sinks.withLock { $0.count } == 2)
        #expect(lifetime.failure == nil)
        var iterator = PathUpdates(channel: lifetime.channel, lifetime: lifetime).makeAsyncIterator()
        #expect(await iterator.next() != nil)
        let news = Task { [iterator] in
            var iterator = iterator
            return await iterator.next()
        }
        // The new start's paths reach those that wait; what the old one still says ends nothing.
        first.end()
        var snapshot = PathSnapshot()
        snapshot.resumes = 1
        let second = source.sinks.withLock { $0[1] }
        second.send(PathSnapshot())
        second.send(snapshot)
        #expect(await news.value != nil)
    }

    @Test("counts nothing where nothing went wrong")
    func counters() async throws {
        let monitor = PathMonitor()
        #expect(monitor.counters == PathMonitor.Counters())
        _ = try await monitor.currentPath()
        #expect(monitor.counters.malformed == 0)
    }
}
