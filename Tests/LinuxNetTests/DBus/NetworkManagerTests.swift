import Foundation
import PathCore
import TestSupport
import Testing

@testable import LinuxNet

@Suite(
    "With the real NetworkManager, a watch", .serialized, .needsNamespaces,
    .needs("unshare", "ip", "dbus-daemon", "NetworkManager", "nmcli"))
struct NetworkManagerTests {
    @Test("knows what each interface is, and hears within a second when a connection becomes metered or not")
    func metered() async throws {
        let network = try await ManagedNetwork()
        let facts = WatchedFacts(network.address)
        defer { facts.watch.stop() }
        try await facts.wait("the first facts") { $0?["wlan0"]?.metered == .yes }
        #expect(
            facts.latest?["wlan0"]
                == NetworkManagerDevice(
                    metered: .yes, nameServers: [IPAddress("192.0.2.53")!, IPAddress("2001:db8::53")!],
                    hardwareAddress: [0x02, 0x00, 0x5E, 0x00, 0x53, 0x01]))
        #expect(facts.watch.status == .live)

        for (value, expected) in [("no", NetworkManagerDevice.Metered.no), ("yes", .yes), ("no", .no)] {
            let start = ContinuousClock.now
            try await network.run(
                "nmcli connection modify home connection.metered \(value) && nmcli device reapply wlan0")
            try await facts.wait("metered \(value)") { $0?["wlan0"]?.metered == expected }
            // Its last reading came by the signal, and not by asking again after a minute.
            #expect(facts.latestTime - start < .seconds(10))
        }
        #expect(facts.watch.counters.malformed == 0)
        #expect(facts.watch.counters.readings == 1)
    }

    @Test("believes NetworkManager alone, and no other client of the bus that sends it the same signals")
    func forged() async throws {
        let network = try await ManagedNetwork()
        let facts = WatchedFacts(network.address)
        defer { facts.watch.stop() }
        try await facts.wait("the first facts") { $0?["wlan0"]?.metered == .yes }
        let forger = try BusForger(path: String(network.address.dropFirst("unix:path=".count)))
        let service = "org.freedesktop.NetworkManager"
        for number in 0..<10 as Range<UInt32> {
            forger.signal(
                "/org/freedesktop/NetworkManager/IP4Config/\(number)", "PropertiesChanged",
                FakeBus.Answer("sa{sv}as") {
                    $0.string("\(service).IP4Config")
                    $0.properties([
                        (
                            "Nameservers", "au",
                            { $0.array(alignment: 4) { $0.number(UInt32(bigEndian: 0x0606_0606)) } }
                        )
                    ])
                    $0.array(alignment: 4) { _ in }
                })
        }
        forger.signal(
            "/org/freedesktop/DBus", "NameOwnerChanged", of: "org.freedesktop.DBus",
            FakeBus.Answer("sss") { for text in [service, ":1.1", ""] { $0.string(text) } })
        try forger.waitForBus()
        try await network.run(
            "nmcli connection modify home connection.metered no && nmcli device reapply wlan0")
        try await facts.wait("the true change") { $0?["wlan0"]?.metered == .no }
        let servers = Set(facts.all.compactMap { $0["wlan0"]?.nameServers })
        #expect(servers == [[IPAddress("192.0.2.53")!, IPAddress("2001:db8::53")!]])
        #expect(facts.watch.status == .live)
        #expect(facts.watch.counters.readings == 1)
        #expect(facts.watch.counters.forged > 0)
    }

    @Test("follows an interface that appears and one that goes")
    func interfaces() async throws {
        let network = try await ManagedNetwork()
        let facts = WatchedFacts(network.address)
        defer { facts.watch.stop() }
        try await facts.wait("the first facts") { $0?["wlan0"] != nil }
        try await network.run("ip link add wwan0 type veth peer name other")
        try await facts.wait("the new interface") { $0?["wwan0"] != nil && $0?["other"] != nil }
        try await network.run("ip link del wwan0")
        try await facts.wait("its end") { $0?["wwan0"] == nil && $0?["other"] == nil }
        #expect(facts.latest?["wlan0"]?.metered == .yes)
        try await network.run("nmcli connection down home")
        try await facts.wait("the loss of the connection's facts") { $0?["wlan0"]?.nameServers == [] }
        #expect(facts.latest?["wlan0"]?.metered == .unknown)
    }

    @Test("drops the facts when NetworkManager is killed, and has them again when it is back")
    func killedManager() async throws {
        let network = try await ManagedNetwork()
        let facts = WatchedFacts(network.address)
        defer { facts.watch.stop() }
        try await facts.wait("the first facts") { $0?["wlan0"]?.metered == .yes }
        try await network.run("stop_manager")
        try await facts.wait("the end of the facts") { $0 == [:] }
        #expect(facts.watch.status == .absent)
        try await network.run("start_manager")
        try await network.run("nmcli connection up home")
        try await facts.wait("the facts again") { $0?["wlan0"]?.metered == .yes }
        #expect(facts.watch.status == .live)
        #expect(facts.watch.counters.failures == 0)
    }

    @Test("survives the bus: killed and started again, with it come the facts")
    func killedBus() async throws {
        let network = try await ManagedNetwork()
        let facts = WatchedFacts(network.address)
        defer { facts.watch.stop() }
        try await facts.wait("the first facts") { $0?["wlan0"]?.metered == .yes }
        try await network.run("stop_bus")
        try await facts.wait("the end of the facts") { $0 == [:] }
        guard case .unavailable = facts.watch.status else {
            Issue.record("\(facts.watch.status)")
            return
        }
        // NetworkManager does not look for another bus.
        try await network.run("stop_manager")
        try await network.run("start_bus")
        try await network.run("start_manager")
        try await network.run("nmcli connection up home")
        try await facts.wait("the facts again") { $0?["wlan0"]?.metered == .yes }
        #expect((1...5).contains(facts.watch.counters.failures))
    }

    @Test("does not start a NetworkManager that does not run")
    func startsNothing() async throws {
        let network = try await ManagedNetwork()
        try await network.run("stop_manager")
        let facts = WatchedFacts(network.address)
        defer { facts.watch.stop() }
        try await facts.wait("nothing") { $0 == [:] }
        #expect(facts.watch.status == .absent)
    }
}

/// A watch, and the newest of what it delivers.
final class WatchedFacts: Sendable {
    typealias Facts = [String: NetworkManagerDevice]

    let watch: NetworkManagerWatch
    /// One for all: it never ends.
    static let thread = EventThread(name: "bus")
    private let deliveries: Locked<[(time: ContinuousClock.Instant, facts: Facts)]>

    init(_ address: String) {
        let deliveries = Locked<[(time: ContinuousClock.Instant, facts: Facts)]>([])
        watch = NetworkManagerWatch(address: address, on: Self.thread) { facts in
            deliveries.withLock { $0.append((.now, facts)) }
        }
        self.deliveries = deliveries
        watch.start()
    }

    var all: [Facts] { deliveries.withLock { $0.map(\.facts) } }
    /// Nil before the first.
    var latest: Facts? { all.last }
    /// When that was delivered.
    var latestTime: ContinuousClock.Instant { deliveries.withLock { $0.last?.time } ?? .now }

    func wait(_ what: String, until condition: (Facts?) -> Bool) async throws {
        do {
            try await Program.wait(what) { condition(latest) }
        } catch {
            throw Program.TimedOut(
                description: "\(error); the watch is \(watch.status), \(watch.counters), and said \(all)")
        }
    }
}
