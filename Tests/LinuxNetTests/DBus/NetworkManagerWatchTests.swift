import Foundation
import PathCore
import TestSupport
import Testing

@testable import LinuxNet

@Suite(
    "A watch of NetworkManager", .serialized,
    .enabled(if: hasLibrary, "no libsystemd.so.0 on this machine: scripts/setup.sh test installs it"))
struct NetworkManagerWatchTests {
    private static let root = "/org/freedesktop/NetworkManager"
    private static let service = "org.freedesktop.NetworkManager"

    /// A Wi-Fi device, connected.
    private static func wifi(metered: UInt32 = 1) -> FakeBus.Answer {
        .objects([
            (
                "\(root)/Devices/1",
                [
                    (
                        "\(service).Device",
                        [
                            ("Interface", "s", { $0.string("wlan0") }),
                            ("IpInterface", "s", { $0.string("wlan0") }),
                            ("HwAddress", "s", { $0.string("02:00:5E:00:53:02") }),
                            ("Managed", "b", { $0.number(1) }),
                            ("Metered", "u", { $0.number(metered) }),
                            ("Ip4Config", "o", { $0.string("\(root)/IP4Config/1") }),
                            ("Ip6Config", "o", { $0.string("/") }),
                        ]
                    ),
                    (
                        "\(service).Device.Wireless",
                        [("ActiveAccessPoint", "o", { $0.string("\(root)/AccessPoint/7") })]
                    ),
                    ("\(service).Device.Statistics", [("TxBytes", "u", { $0.number(1) })]),
                ]
            ),
            (
                "\(root)/IP4Config/1",
                [
                    (
                        "\(service).IP4Config",
                        [
                            (
                                "Nameservers", "au",
                                { $0.array(alignment: 4) { $0.number(UInt32(bigEndian: 0xC000_0235)) } }
                            )
                        ]
                    )
                ]
            ),
            (
                "\(root)/AccessPoint/7",
                [
                    (
                        "\(service).AccessPoint",
                        [
                            (
                                "Ssid", "ay",
                                { $0.array(alignment: 1) { for byte in "home".utf8 { $0.byte(byte) } } }
                            ),
                            ("Strength", "y", { $0.byte(70) }),
                        ]
                    )
                ]
            ),
        ])
    }

    private static let expected = NetworkManagerDevice(
        metered: .yes, ssid: "home", nameServers: [IPAddress("192.0.2.53")!],
        hardwareAddress: [0x02, 0x00, 0x5E, 0x00, 0x53, 0x02])

    /// PropertiesChanged of one property of a device.
    private static func changed(
        _ name: String, _ type: String, _ value: @escaping (inout BusWriter) -> Void
    )
        -> FakeBus.Answer
    {
        FakeBus.Answer("sa{sv}as") {
            $0.string("\(service).Device")
            $0.properties([(name, type, value)])
            $0.array(alignment: 4) { _ in }
        }
    }

    @Test("knows the access point, the name servers and the hardware of a Wi-Fi device")
    func wifi() async throws {
        let bus = try FakeBus([Self.wifi()])
        let facts = WatchedFacts(bus.address)
        defer { facts.watch.stop() }
        try await facts.wait("the facts") { $0 != nil }
        #expect(facts.all == [["wlan0": Self.expected]])
        #expect(facts.watch.counters.malformed == 0)
    }

    @Test("follows what signals say without another reading")
    func signals() async throws {
        let bus = try FakeBus([Self.wifi()])
        let facts = WatchedFacts(bus.address)
        defer { facts.watch.stop() }
        try await facts.wait("the facts") { $0 != nil }
        var device = Self.expected

        bus.signal(
            "\(Self.root)/Devices/1", "PropertiesChanged", Self.changed("Metered", "u") { $0.number(4) })
        device.metered = .guessedNo
        try await facts.wait("the change") { $0 == ["wlan0": device] }

        bus.signal(
            "/org/freedesktop", "InterfacesRemoved", of: "org.freedesktop.DBus.ObjectManager",
            FakeBus.Answer("oas") {
                $0.string("\(Self.root)/AccessPoint/7")
                $0.array(alignment: 4) { $0.string("\(Self.service).AccessPoint") }
            })
        device.ssid = nil
        try await facts.wait("the loss of the access point") { $0 == ["wlan0": device] }

        bus.signal(
            "/org/freedesktop", "InterfacesAdded", of: "org.freedesktop.DBus.ObjectManager",
            FakeBus.Answer("oa{sa{sv}}") {
                $0.string("\(Self.root)/Devices/2")
                $0.interfaces([("\(Self.service).Device", [("Interface", "s", { $0.string("eth0") })])])
            })
        try await facts.wait("the new device") {
            $0 == ["wlan0": device, "eth0": NetworkManagerDevice(metered: .unknown)]
        }
        #expect(bus.readings == 1)
    }

    @Test("ignores what another client of the bus says in NetworkManager's words")
    func forgedSignals() async throws {
        let bus = try FakeBus([Self.wifi()])
        let facts = WatchedFacts(bus.address)
        defer { facts.watch.stop() }
        try await facts.wait("the facts") { $0 != nil }
        let path = "\(Self.root)/Devices/1"
        bus.signal(
            path, "PropertiesChanged", from: ":1.66", Self.changed("Metered", "u") { $0.number(2) })
        bus.signal(
            "/org/freedesktop/DBus", "NameOwnerChanged", of: "org.freedesktop.DBus", from: ":1.66",
            FakeBus.Answer("sss") {
                for text in [Self.service, FakeBus.managerName, ""] { $0.string(text) }
            })
        // What comes behind them on the same connection is read after them.
        bus.signal(path, "PropertiesChanged", Self.changed("Metered", "u") { $0.number(4) })
        var device = Self.expected
        device.metered = .guessedNo
        try await facts.wait("the true change") { $0 == ["wlan0": device] }
        #expect(facts.all == [["wlan0": Self.expected], ["wlan0": device]])
        #expect(bus.readings == 1)
        #expect(facts.watch.counters.forged == 2)
    }

    @Test("counts what is of another type than it should be, and goes on with the rest")
    func wrongTypes() async throws {
        let bus = try FakeBus([Self.wifi()])
        let facts = WatchedFacts(bus.address)
        defer { facts.watch.stop() }
        try await facts.wait("the facts") { $0 != nil }
        let path = "\(Self.root)/Devices/1"
        bus.signal(path, "PropertiesChanged", Self.changed("Metered", "s") { $0.string("yes") })
        bus.signal(path, "PropertiesChanged", Self.changed("Ip4Config", "u") { $0.number(0) })
        bus.signal(path, "PropertiesChanged", Self.changed("Metered", "u") { $0.number(99) })
        try await facts.wait("the change after them") { $0?["wlan0"]?.metered == .unknown }
        #expect(facts.watch.counters.malformed == 2)
        #expect(facts.watch.status == .live)
    }

    @Test("reads all again, and not at once, after a signal that makes no sense or names no values")
    func senselessSignals() async throws {
        let bus = try FakeBus([Self.wifi(), Self.wifi(metered: 2)])
        let facts = WatchedFacts(bus.address)
        defer { facts.watch.stop() }
        try await facts.wait("the facts") { $0 != nil }
        let start = ContinuousClock.now
        for _ in 0..<50 {
            bus.signal(
                "\(Self.root)/Devices/1", "PropertiesChanged",
                FakeBus.Answer("sas") {
                    $0.string("\(Self.service).Device")
                    $0.array(alignment: 4) { _ in }
                })
            bus.signal(
                "\(Self.root)/Devices/1", "PropertiesChanged",
                FakeBus.Answer("sa{sv}as") {
                    $0.string("\(Self.service).Device")
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
        let bus = try FakeBus([answer, Self.wifi()])
        let facts = WatchedFacts(bus.address)
        defer { facts.watch.stop() }
        try await facts.wait("nothing") { $0 == [:] }
        try await facts.wait("the facts after all") { $0 == ["wlan0": Self.expected] }
        #expect(facts.watch.counters.failures > 0)
        #expect(facts.watch.status == .live)
    }

    @Test("survives answers in which some bytes are not what they should be")
    func wrongBytes() async throws {
        let good = Self.wifi()
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
            Self.owner(":1.2", ":1.3", on: bus)
            try await Program.wait("reading \(round)") { bus.readings > round }
        }
        try await facts.wait("the good answer") { $0 == ["wlan0": Self.expected] }
        #expect(bus.connections == 1)
        #expect(facts.watch.counters.malformed > 50)
    }

    /// NetworkManager's name goes from one connection to another; "" is none.
    private static func owner(_ old: String, _ new: String, on bus: FakeBus) {
        bus.signal(
            "/org/freedesktop/DBus", "NameOwnerChanged", of: "org.freedesktop.DBus",
            from: "org.freedesktop.DBus",
            FakeBus.Answer("sss") { for text in [service, old, new] { $0.string(text) } })
    }

    @Test("says nothing of a NetworkManager that is not there, and hears when it comes and goes")
    func comesAndGoes() async throws {
        let bus = try FakeBus([.error("org.freedesktop.DBus.Error.ServiceUnknown"), Self.wifi()])
        let facts = WatchedFacts(bus.address)
        defer { facts.watch.stop() }
        try await facts.wait("nothing") { $0 == [:] }
        #expect(facts.watch.status == .absent)
        Self.owner("", ":1.2", on: bus)
        try await facts.wait("the facts") { $0 == ["wlan0": Self.expected] }
        Self.owner(":1.2", "", on: bus)
        try await facts.wait("nothing again") { $0 == [:] }
        #expect(facts.watch.status == .absent)
        Self.owner("", ":1.3", on: bus)
        try await facts.wait("the facts again") { $0 == ["wlan0": Self.expected] }
        // Replaced without a gap: the facts stay until others are read, and these are the same.
        Self.owner(":1.3", ":1.4", on: bus)
        try await Program.wait("another reading") { bus.readings == 4 }
        #expect(facts.all.count == 4)
        #expect(facts.watch.counters.failures == 0)
    }

    @Test("drops the facts when the bus goes, and connects again not before a second has passed")
    func reconnects() async throws {
        let bus = try FakeBus([Self.wifi()])
        let facts = WatchedFacts(bus.address)
        defer { facts.watch.stop() }
        try await facts.wait("the facts") { $0?.isEmpty == false }
        let start = ContinuousClock.now
        bus.disconnect()
        try await facts.wait("nothing") { $0 == [:] }
        try await facts.wait("the facts again") { $0 == ["wlan0": Self.expected] }
        #expect(ContinuousClock.now - start > .seconds(1))
        #expect(bus.connections == 2)
        #expect(facts.watch.counters.failures == 1)
    }

    @Test("waits for a bus that says nothing without holding up the event thread, or using the processor")
    func silentBus() async throws {
        let bus = try FakeBus([], isSilent: true)
        let facts = WatchedFacts(bus.address)
        try await Program.wait("the connection") { bus.connections == 1 }
        let before = Self.processorTime
        for _ in 0..<20 {
            let start = ContinuousClock.now
            await withCheckedContinuation { continuation in
                EventThread.shared.submit { continuation.resume() }
            }
            #expect(ContinuousClock.now - start < .milliseconds(100))
            try await Task.sleep(for: .milliseconds(10))
        }
        // A loop that never waits would have used all of the 200 ms.
        #expect(Self.processorTime - before < .milliseconds(100))
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
        let bus = try FakeBus([Self.wifi()])
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
        let bus = try FakeBus([Self.wifi()])
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

private let hasLibrary = Requirement.isStrict || (try? SystemdLibrary.load()) != nil

@Suite("The wait before a retry")
struct RetryDelayTests {
    @Test("doubles from one second to one minute, and starts again after a success")
    func doubles() {
        var generator = SplitMix64(seed: 7)
        var delay = RetryDelay()
        for base in [1, 2, 4, 8, 16, 32, 40, 40, 40] {
            let wait = delay.next(using: &generator)
            #expect(wait >= .seconds(base) && wait <= .seconds(base) * 1.5)
        }
        delay.reset()
        #expect(delay.next(using: &generator) <= .seconds(1.5))
    }
}
