import Foundation
import PathCore
import TestSupport
import Testing

@testable import LinuxNet

@Suite(
    "A watch of NetworkManager", .serialized,
    .enabled(if: hasLibrary, "no libsystemd.so.0 on this machine: scripts/setup.sh test installs it"))
struct NetworkManagerWatchTests {
    @Test("knows the access point, the name servers and the hardware of a Wi-Fi device")
    func wifi() async throws {
        let bus = try FakeBus([FakeManager.wifi()])
        let facts = WatchedFacts(bus.address)
        defer { facts.watch.stop() }
        try await facts.wait("the facts") { $0 != nil }
        #expect(facts.all == [["wlan0": FakeManager.expected]])
        #expect(facts.watch.counters.malformed == 0)
    }

    @Test("follows what signals say without another reading")
    func signals() async throws {
        let bus = try FakeBus([FakeManager.wifi()])
        let facts = WatchedFacts(bus.address)
        defer { facts.watch.stop() }
        try await facts.wait("the facts") { $0 != nil }
        var device = FakeManager.expected

        bus.signal(
            "\(FakeManager.root)/Devices/1", "PropertiesChanged",
            FakeManager.changed("Metered", "u") { $0.number(4) })
        device.metered = .guessedNo
        try await facts.wait("the change") { $0 == ["wlan0": device] }

        bus.signal(
            "/org/freedesktop", "InterfacesRemoved", of: "org.freedesktop.DBus.ObjectManager",
            FakeBus.Answer("oas") {
                $0.string("\(FakeManager.root)/AccessPoint/7")
                $0.array(alignment: 4) { $0.string("\(FakeManager.service).AccessPoint") }
            })
        device.ssid = nil
        try await facts.wait("the loss of the access point") { $0 == ["wlan0": device] }

        bus.signal(
            "/org/freedesktop", "InterfacesAdded", of: "org.freedesktop.DBus.ObjectManager",
            FakeBus.Answer("oa{sa{sv}}") {
                $0.string("\(FakeManager.root)/Devices/2")
                $0.interfaces([
                    ("\(FakeManager.service).Device", [("Interface", "s", { $0.string("eth0") })])
                ])
            })
        try await facts.wait("the new device") {
            $0 == ["wlan0": device, "eth0": NetworkManagerDevice(metered: .unknown)]
        }
        #expect(bus.readings == 1)
    }

    @Test("ignores what another client of the bus says in NetworkManager's words")
    func forgedSignals() async throws {
        let bus = try FakeBus([FakeManager.wifi()])
        let facts = WatchedFacts(bus.address)
        defer { facts.watch.stop() }
        try await facts.wait("the facts") { $0 != nil }
        let path = "\(FakeManager.root)/Devices/1"
        bus.signal(
            path, "PropertiesChanged", from: ":1.66",
            FakeManager.changed("Metered", "u") { $0.number(2) })
        bus.signal(
            "/org/freedesktop/DBus", "NameOwnerChanged", of: "org.freedesktop.DBus", from: ":1.66",
            FakeBus.Answer("sss") {
                for text in [FakeManager.service, FakeBus.managerName, ""] { $0.string(text) }
            })
        // What comes behind them on the same connection is read after them.
        bus.signal(path, "PropertiesChanged", FakeManager.changed("Metered", "u") { $0.number(4) })
        var device = FakeManager.expected
        device.metered = .guessedNo
        try await facts.wait("the true change") { $0 == ["wlan0": device] }
        #expect(facts.all == [["wlan0": FakeManager.expected], ["wlan0": device]])
        #expect(bus.readings == 1)
        #expect(facts.watch.counters.forged == 2)
    }

    @Test("counts what is of another type than it should be, and goes on with the rest")
    func wrongTypes() async throws {
        let bus = try FakeBus([FakeManager.wifi()])
        let facts = WatchedFacts(bus.address)
        defer { facts.watch.stop() }
        try await facts.wait("the facts") { $0 != nil }
        let path = "\(FakeManager.root)/Devices/1"
        bus.signal(
            path, "PropertiesChanged", FakeManager.changed("Metered", "s") { $0.string("yes") })
        bus.signal(
            path, "PropertiesChanged", FakeManager.changed("Ip4Config", "u") { $0.number(0) })
        bus.signal(
            path, "PropertiesChanged", FakeManager.changed("Metered", "u") { $0.number(99) })
        try await facts.wait("the change after them") { $0?["wlan0"]?.metered == .unknown }
        #expect(facts.watch.counters.malformed == 2)
        #expect(facts.watch.status == .live)
    }

    @Test("reads all again, and not at once, after a signal that makes no sense or names no values")
    func senselessSignals() async throws {
        let bus = try FakeBus([FakeManager.wifi(), FakeManager.wifi(metered: 2)])
        let facts = WatchedFacts(bus.address)
        defer { facts.watch.stop() }
        try await facts.wait("the facts") { $0 != nil }
        let start = ContinuousClock.now
        for _ in 0..<50 {
            bus.signal(
                "\(FakeManager.root)/Devices/1", "PropertiesChanged",
                FakeBus.Answer("sas") {
                    $0.string("\(FakeManager.service).Device")
                    $0.array(alignment: 4) { _ in }
                })
            bus.signal(
                "\(FakeManager.root)/Devices/1", "PropertiesChanged",
                FakeBus.Answer("sa{sv}as") {
                    $0.string("\(FakeManager.service).Device")
                    $0.properties([])
                    $0.array(alignment: 4) { $0.string("Metered") }
                })
        }
        try await facts.wait("the second reading") { $0?["wlan0"]?.metered == .no }
        #expect(ContinuousClock.now - start > .milliseconds(900))
        #expect(bus.readings == 2)
        #expect(facts.watch.counters.malformed == 50)
    }

    @Test(
        "knows nothing where the answer can't be read, and asks again",
        arguments: [
            FakeBus.Answer("s") { $0.string("hello") },
            FakeBus.Answer("") { _ in },
            FakeBus.Answer("a{oa{sa{sv}}}") { $0.bytes([0, 0, 0, 4]) },
            FakeBus.Answer("a{oa{sa{sv}}}") { writer in
                // An object whose path is none, then bytes that stand for nothing.
                writer.dictionary([("no path", { $0.bytes([0xFF, 0xFF, 0xFF, 0x7F, 1, 2, 3]) })])
            },
            .error("org.freedesktop.DBus.Error.AccessDenied"),
        ])
    func unreadable(_ answer: FakeBus.Answer) async throws {
        let bus = try FakeBus([answer, FakeManager.wifi()])
        let facts = WatchedFacts(bus.address)
        defer { facts.watch.stop() }
        try await facts.wait("nothing") { $0 == [:] }
        try await facts.wait("the facts after all") { $0 == ["wlan0": FakeManager.expected] }
        #expect(facts.watch.counters.failures > 0)
        #expect(facts.watch.status == .live)
    }

    @Test("survives answers in which some bytes are not what they should be")
    func wrongBytes() async throws {
        let good = FakeManager.wifi()
        var generator = SplitMix64(seed: 1)
        let answers = (0..<200).map { _ in
            var answer = good
            for _ in 0..<Int.random(in: 1...3, using: &generator) {
                let position = Int.random(in: 0..<answer.body.count, using: &generator)
                answer.body[position] = UInt8.random(in: 0...255, using: &generator)
            }
            return answer
        }
        let bus = try FakeBus(answers + [good])
        let facts = WatchedFacts(bus.address)
        defer { facts.watch.stop() }
        try await Program.wait("the first reading") { bus.readings == 1 }
        // Each new owner is read at once.
        for round in 1...answers.count {
            FakeManager.owner(":1.2", ":1.3", on: bus)
            try await Program.wait("reading \(round)") { bus.readings > round }
        }
        try await facts.wait("the good answer") { $0 == ["wlan0": FakeManager.expected] }
        #expect(bus.connections == 1)
        #expect(facts.watch.counters.malformed > 50)
    }
}

private let hasLibrary = Requirement.isStrict || (try? SystemdLibrary.load()) != nil
