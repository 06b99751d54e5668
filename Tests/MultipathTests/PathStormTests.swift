import Foundation
import LinuxNet
import TestSupport
import Testing

@testable import Multipath

@Suite("In a storm of containers", .needsNamespaces, .needs("ip", "unshare"))
struct PathStormTests {
    @Test(
        "10,000 veth pairs that come and go are not worth one update, and a later question shows what is left",
        .inNamespace(within: .seconds(600)))
    func storm() async throws {
        try await TestNetwork.make()
        let monitor = PathMonitor()
        let seen = Locked([PathSnapshot]())
        let consumer = Task {
            for await path in monitor.updates { seen.withLock { $0.append(path) } }
        }
        defer { consumer.cancel() }
        try await Program.wait("the first path") { seen.withLock { $0.count } == 1 }
        let before = ProcessTime.now
        let start = ContinuousClock.now
        for _ in 0..<Self.rounds {
            // One `link del` costs the kernel 17 ms, a group of them little more.
            let pairs = (0..<Self.pairs).flatMap { number in
                [
                    "link add veth\(number) group 9 type veth peer name ceth\(number)",
                    "link set veth\(number) up",
                    "link set ceth\(number) up",
                ]
            }
            try await TestNetwork.ip(pairs + ["link del group 9"])
        }
        // A change that is worth telling comes after them all.
        try await TestNetwork.ip(
            "link add docker0 type bridge", "route replace default via 192.0.2.9 dev eth0 metric 100")
        try await Program.wait("the change after the storm") { seen.withLock { $0.count } > 1 }
        print(
            "measured: \(Self.rounds * Self.pairs) veth pairs in \(ContinuousClock.now - start),",
            "\(ProcessTime.now - before) of it this process's CPU time, \(monitor.counters)")
        let updates = seen.withLock { $0 }
        #expect(updates.count == 2)
        #expect(updates.last?.changes.map(\.reason) == [.gatewaysChanged])
        #expect(updates.last?.primary?.gateways.map(\.description) == ["192.0.2.9", "2001:db8::1"])
        // No consumer is told of the bridge; `currentPath()` knows it.
        try await Program.wait("the bridge") {
            let now = try await monitor.currentPath()
            return now.excluded.map(\.interface.name).sorted() == ["docker0", "far0", "lo"]
        }
    }

    private static let pairs = 500
    private static let rounds = 20
}
