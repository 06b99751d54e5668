import Foundation
import LabNet
import LinuxNet
import TestSupport
import Testing

@testable import Multipath

/// What the kernel does seldom, late, or without a word.
@Suite("The path monitor stays right", .needsNamespaces, .needs("ip", "unshare", "nsenter"))
struct PathTroubleTests {
    private let monitor = PathMonitor()

    /// Waits until a snapshot looks as it should.
    private func wait(_ what: String, for condition: @escaping (PathSnapshot) -> Bool) async throws {
        // The monitor starts with its first consumer, and stays until it goes.
        _ = try await monitor.currentPath()
        try await Program.wait(
            "\(what); now: \(monitor.latestPath.map { "\($0)" } ?? "none")", within: .seconds(10)
        ) {
            monitor.latestPath.map(condition) == true
        }
    }

    private func describe(_ names: String...) -> (PathSnapshot) -> Bool {
        { $0.interfaces.map(\.name) == names }
    }

    @Test("when an interface is renamed, and when another is plugged in by its old name", .inNamespace)
    func renames() async throws {
        try await TestNetwork.make()
        try await wait("eth0", for: describe("eth0"))
        let index = monitor.latestPath?.primary?.index
        try await TestNetwork.ip("link set eth0 name lan0")
        try await wait("the new name") { $0.primary?.name == "lan0" && $0.primary?.index == index }
        try await TestNetwork.ip(
            "link add eth0 type veth peer name far1", "address add 198.51.100.2/24 dev eth0",
            "link set eth0 up",
            "link set far1 up", "route add default via 198.51.100.1 dev eth0 metric 200")
        try await wait("the other interface", for: describe("lan0", "eth0"))
        #expect(monitor.latestPath?.interface(named: "eth0")?.index != index)
    }

    @Test("when an interface is plugged in again, and says that it is another", .inNamespace)
    func replug() async throws {
        try await TestNetwork.make()
        try await wait("eth0", for: describe("eth0"))
        let first = try #require(monitor.latestPath)
        try await TestNetwork.ip("link del eth0")
        try await TestNetwork.make()
        try await wait("the new one") {
            $0.primary?.name == "eth0" && $0.primary?.index != first.primary?.index
        }
        #expect(monitor.latestPath?.changes(since: first).first?.reason == .interfaceReplaced)
    }

    @Test("when an interface moves to another network namespace and comes back", .inNamespace)
    func namespaces() async throws {
        try await TestNetwork.make()
        try await wait("eth0", for: describe("eth0"))
        let other = try Running(["unshare", "--net", "sleep", "60"])
        let own = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/ns/net")
        try await Program.wait("the other namespace") {
            (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/\(other.identifier)/ns/net"))
                != own
        }
        try await TestNetwork.ip("link set eth0 netns \(other.identifier)")
        try await wait("its leaving") { $0.interfaces.isEmpty && $0.interface(named: "eth0") == nil }
        let moved = try await Program.run([
            "nsenter", "--net=/proc/\(other.identifier)/ns/net", "ip", "link", "set", "eth0", "netns",
            "\(ProcessInfo.processInfo.processIdentifier)",
        ])
        #expect(moved.status == 0, "\(moved.errors)")
        // It comes back without addresses, and down.
        try await wait("its return") {
            $0.excluded.contains { $0.interface.name == "eth0" && $0.reason == .down }
        }
        try await TestNetwork.ip(
            "address add 192.0.2.2/24 dev eth0", "link set eth0 up",
            "route add default via 192.0.2.1 dev eth0")
        try await wait("its path", for: describe("eth0"))
    }

    @Test(
        "when carriers go together, though the kernel tells of all but the first a second late", .inNamespace)
    func lateCarriers() async throws {
        let taps = try ["tap0", "tap1", "tap2"].map { try TapPort($0) }
        for (number, _) in taps.enumerated() {
            try await TestNetwork.ip(
                "link set tap\(number) up", "address add 192.0.2.\(number + 2)/24 dev tap\(number)",
                "route add default via 192.0.2.1 dev tap\(number) metric \(100 + number)")
        }
        try await wait("all three", for: describe("tap0", "tap1", "tap2"))
        for tap in taps { try tap.setCarrier(false) }
        try await wait("the end of all three") { path in
            path.excluded.filter { $0.reason == .noCarrier }.map(\.interface.name) == [
                "tap0", "tap1", "tap2",
            ]
        }
        for tap in taps { try tap.setCarrier(true) }
        try await wait("all three again", for: describe("tap0", "tap1", "tap2"))
    }

    @Test("about IPv6 addresses that are being checked, are another's, or are on their way out", .inNamespace)
    func addressStates() async throws {
        try await TestNetwork.make()
        try await TestNetwork.ip(
            "address flush dev eth0", "address add 2001:db8:7::7/64 dev far0 nodad",
            "address add 2001:db8:7::7/64 dev eth0")
        // The other end of the cable has that address.
        try await Program.wait("the duplicate's discovery") {
            try await Program.run(["ip", "address", "show", "dev", "eth0", "dadfailed"]).outputText.contains(
                "7::7")
        }
        try await wait("no path") { path in
            path.excluded.contains { $0.interface.name == "eth0" && $0.reason == .noAddress }
        }
        try await TestNetwork.ip("address add 2001:db8:7::8/64 dev eth0 preferred_lft 0 valid_lft 600")
        try await wait("the deprecated address, which still works") { path in
            path.primary?.name == "eth0"
                && path.primary?.addresses.map(\.description).contains("2001:db8:7::8/64") == true
        }
    }

    @Test("when its socket breaks: it opens another, once, and reads everything again", .inNamespace)
    func brokenSocket() async throws {
        try await TestNetwork.make()
        try await wait("eth0", for: describe("eth0"))
        let descriptor = try #require(Self.notificationDescriptor)
        // The socket itself stays, for the event thread to hear it; its number becomes something unreadable.
        let kept = dup(descriptor)
        #expect(dup2(open("/dev/null", O_RDONLY), descriptor) == descriptor)
        try await TestNetwork.ip("route replace default via 192.0.2.9 dev eth0 metric 100")
        try await Program.wait("a new socket") { monitor.counters.reopened > 0 }
        close(kept)
        try await wait("what changed meanwhile") { $0.primary?.gateways.first?.description == "192.0.2.9" }
        try await TestNetwork.ip("route replace default via 192.0.2.8 dev eth0 metric 100")
        try await wait("what changes now") { $0.primary?.gateways.first?.description == "192.0.2.8" }
        #expect(monitor.counters.reopened == 1)
    }

    /// The netlink socket of this process that is a member of groups.
    private static var notificationDescriptor: CInt? {
        // `String(contentsOfFile:)` takes one page of such a file.
        let bytes = try? FileHandle(forReadingAtPath: "/proc/net/netlink")?.readToEnd()
        let table = String(decoding: bytes ?? Data(), as: UTF8.self)
        let members = Set(
            table.split(separator: "\n").dropFirst().map { $0.split(separator: " ") }
                .filter { $0.count > 9 && $0[3] != "00000000" }.map { "socket:[\($0[9])]" })
        return (0..<256).first { number in
            (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\(number)"))
                .map(members.contains) == true
        }
    }

    @Test("with thousands of routes, of which no more is read than is needed", .inNamespace)
    func manyRoutes() async throws {
        try await TestNetwork.make()
        try await TestNetwork.ip("route add default via 192.0.2.7 dev eth0 metric 200")
        try await TestNetwork.ip(
            (0..<9_000).flatMap { number in
                [
                    "route add 11.\(number / 256).\(number % 256).0/24 via 192.0.2.1 dev eth0",
                    "route add 2001:100:\(String(number, radix: 16))::/48 via 2001:db8::1 dev eth0",
                ]
            })
        let path = try await monitor.currentPath()
        #expect(path.primary?.gateways.map(\.description) == ["192.0.2.1", "192.0.2.7", "2001:db8::1"])
        #expect(path.primary?.metric == 100)
        try await TestNetwork.ip("route del default via 192.0.2.1 dev eth0")
        try await wait("the loss of the first") { path in
            path.primary?.gateways.map(\.description) == ["192.0.2.7", "2001:db8::1"]
        }
    }
}
