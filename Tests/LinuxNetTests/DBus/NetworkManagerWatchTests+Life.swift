// How a watch begins and ends, with its bus and with NetworkManager.

import Foundation
import PathCore
import TestSupport
import Testing

@testable import LinuxNet

extension NetworkManagerWatchTests {
    @Test("says nothing of a NetworkManager that is not there, and hears when it comes and goes")
    func comesAndGoes() async throws {
        let bus = try FakeBus([
            .error("org.freedesktop.DBus.Error.ServiceUnknown"), FakeManager.wifi(),
        ])
        let facts = WatchedFacts(bus.address)
        defer { facts.watch.stop() }
        try await facts.wait("nothing") { $0 == [:] }
        #expect(facts.watch.status == .absent)
        FakeManager.owner("", ":1.2", on: bus)
        try await facts.wait("the facts") { $0 == ["wlan0": FakeManager.expected] }
        FakeManager.owner(":1.2", "", on: bus)
        try await facts.wait("nothing again") { $0 == [:] }
        #expect(facts.watch.status == .absent)
        FakeManager.owner("", ":1.3", on: bus)
        try await facts.wait("the facts again") { $0 == ["wlan0": FakeManager.expected] }
        // Replaced without a gap: the facts stay until others are read, and these are the same.
        FakeManager.owner(":1.3", ":1.4", on: bus)
        try await Program.wait("another reading") { bus.readings == 4 }
        #expect(facts.all.count == 4)
        #expect(facts.watch.counters.failures == 0)
    }

    @Test("drops the facts when the bus goes, and connects again not before a second has passed")
    func reconnects() async throws {
        let bus = try FakeBus([FakeManager.wifi()])
        let facts = WatchedFacts(bus.address)
        defer { facts.watch.stop() }
        try await facts.wait("the facts") { $0?.isEmpty == false }
        let start = ContinuousClock.now
        bus.disconnect()
        try await facts.wait("nothing") { $0 == [:] }
        try await facts.wait("the facts again") { $0 == ["wlan0": FakeManager.expected] }
        #expect(ContinuousClock.now - start > .seconds(1))
        #expect(bus.connections == 2)
        #expect(facts.watch.counters.failures == 1)
    }

    @Test("waits for a bus that says nothing without holding up the event thread, or using the processor")
    func silentBus() async throws {
        let bus = try FakeBus([], isSilent: true)
        let facts = WatchedFacts(bus.address)
        try await Program.wait("the connection") { bus.connections == 1 }
        let (before, start) = (Self.processorTime, ContinuousClock.now)
        for _ in 0..<20 {
            await withCheckedContinuation { continuation in
                WatchedFacts.thread.submit { continuation.resume() }
            }
            try await Task.sleep(for: .milliseconds(10))
        }
        let elapsed = ContinuousClock.now - start
        #expect(elapsed < .seconds(8), "the bus's time limit is longer than that")
        // A loop that never waits would have used all of it.
        #expect(Self.processorTime - before < elapsed / 2)
        #expect(facts.watch.status == .connecting)
        facts.watch.stop()
        #expect(facts.all.isEmpty)
    }

    /// What this process has used.
    private static var processorTime: Duration {
        var time = timespec()
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
        return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
    }

    @Test(
        "says why there is nothing to be known",
        arguments: [
            ("unix:path=/nowhere/bus", "No such file or directory"),
            ("tcp:host=192.0.2.1,port=1", "names no Unix socket"),
            ("", "names no Unix socket"),
            ("unix:nonsense", "Invalid argument"),
        ])
    func unavailable(_ address: String, _ reason: String) async throws {
        let facts = WatchedFacts(address)
        defer { facts.watch.stop() }
        try await facts.wait("nothing") { $0 == [:] }
        guard case .unavailable(let text) = facts.watch.status else {
            Issue.record("\(facts.watch.status)")
            return
        }
        #expect(text.contains(reason))
    }

    @Test("tells of a library that is not there")
    func noLibrary() {
        #expect(throws: SystemdLibrary.Missing.self) { try SystemdLibrary.load(["libnowhere.so.0"]) }
        // One that is there, but something else.
        #expect(throws: SystemdLibrary.Missing.self) { try SystemdLibrary.load(["libc.so.6"]) }
    }

    @Test("leaves no descriptor behind, and nothing is delivered once it has stopped")
    func descriptors() async throws {
        let bus = try FakeBus([FakeManager.wifi()])
        // The library and the threads are made at first use and stay.
        let first = WatchedFacts(bus.address)
        try await first.wait("the facts") { $0 != nil }
        first.watch.stop()
        try await Program.wait("the end of the connection") { !bus.isConnected }
        let before = Self.sockets
        for round in 0..<20 {
            let facts = WatchedFacts(bus.address)
            // Some are stopped before they have connected.
            if round % 2 == 0 { try await facts.wait("the facts") { $0 != nil } }
            facts.watch.stop()
            #expect(facts.watch.status == .idle)
            let count = facts.all.count
            try await Program.wait("the end of the connection") { !bus.isConnected }
            #expect(facts.all.count == count)
        }
        for _ in 0..<20 {
            let facts = WatchedFacts("unix:path=/nowhere/bus")
            try await facts.wait("nothing") { $0 != nil }
            facts.watch.stop()
        }
        try await Program.wait("the sockets' end") { Self.sockets <= before }
    }

    @Test("is gone when it has stopped and its owner drops it")
    func released() async throws {
        let bus = try FakeBus([FakeManager.wifi()])
        weak var watch: NetworkManagerWatch?
        do {
            let facts = WatchedFacts(bus.address)
            watch = facts.watch
            try await facts.wait("the facts") { $0 != nil }
            facts.watch.stop()
        }
        try await Program.wait("the end of the watch") { watch == nil }
    }

    /// How many sockets this process has open.
    private static var sockets: Int {
        let folder = "/proc/self/fd"
        let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
        return names.filter {
            (try? FileManager.default.destinationOfSymbolicLink(atPath: "\(folder)/\($0)"))?.hasPrefix(
                "socket:") == true
        }.count
    }
}
