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

    @Test("counts nothing where nothing went wrong")
    func counters() async throws {
        let monitor = PathMonitor()
        #expect(monitor.counters == PathMonitor.Counters())
        _ = try await monitor.currentPath()
        #expect(monitor.counters.malformed == 0)
    }
}
