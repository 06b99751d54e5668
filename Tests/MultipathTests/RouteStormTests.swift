import LinuxNet
import TestSupport
import Testing

@testable import Multipath

@Suite("A router that changes its mind", .needsNamespaces, .needs("ip", "unshare"))
struct RouteStormTests {
    @Test(
        "has the routes read a few dozen times a second and no more, and its last word is known", .inNamespace
    )
    func storm() async throws {
        try await TestNetwork.make()
        let monitor = PathMonitor()
        #expect(try await monitor.currentPath().primary?.name == "eth0")
        let before = (monitor.counters.readings, ProcessTime.now, MonotonicTime.now)
        // As router advertisements with a lifetime of 0 and of 1,800 s do.
        let change = [
            "route del ::/0 via 2001:db8::1 dev eth0 metric 100",
            "route del default via 192.0.2.1 dev eth0 metric 100",
            "route add default via 192.0.2.1 dev eth0 metric 100",
            "route add ::/0 via 2001:db8::1 dev eth0 metric 100",
        ]
        for _ in 0..<20 { try await TestNetwork.ip((0..<200).flatMap { _ in change }) }
        try await TestNetwork.ip("route del default via 192.0.2.1 dev eth0 metric 100")
        try await Program.wait("the last change") {
            let path = try await monitor.currentPath().primary
            return path?.supportsIPv4 == false && path?.supportsIPv6 == true
        }
        let time = before.2.duration(to: .now)
        let readings = monitor.counters.readings - before.0
        print(
            "measured: \(readings) readings in \(time) of 16,000 changes, \(ProcessTime.now - before.1) of CPU time"
        )
        #expect(readings < 80 + Int(time / .milliseconds(20)))
    }
}
