import PathCore
import TestSupport
import Testing

@Suite("A recording")
struct RecordingTests {
    private static let hints: InterfaceHints = {
        var hints = InterfaceHints()
        hints.settings.entries = [
            "wlan0": .init(isExpensive: true), "Café": .init(isExpensive: false, isConstrained: true),
        ]
        hints.networkManager["wlan0"] = NetworkManagerDevice(
            metered: .guessedYes, ssid: "Café", nameServers: [ip("192.0.2.53")], hardwareAddress: [2, 0, 1])
        hints.leases[3] = LeaseHint(
            isAndroidMetered: true, nameServers: [ip("2001:db8::53")], address: ip("192.0.2.2"))
        hints.wireless = [
            3: WirelessHint(ssid: "Café", signal: -71, rate: 866, isFading: true), 4: WirelessHint(),
        ]
        hints.linkSpeeds = [2: 2_500]
        hints.nameServers = [ip("fe80::1").inZone(3), ip("203.0.113.53")]
        hints.resumes = 7
        return hints
    }()

    private static let overrides = InterfaceOverrides(
        configuration: ["eth0": InterfaceOverride(type: .cellular, isConstrained: false)],
        environment: ["wwan0": InterfaceOverride(isExpensive: true), "eth0": InterfaceOverride()])

    private static let routes = RecordedRoutes(
        defaults: [
            .ipv4(2, via: "192.0.2.1", metric: 100),
            DefaultRouteFact(
                family: .ipv6, interface: .max, gateway: nil, metric: .max, preference: .low),
        ], reach: InternetReach(chosen: [.ipv4: 2], interfaces: [.ipv4: [2, 3], .ipv6: [.max]]))

    private static var link: LinkFact {
        var link = LinkFact.wifi()
        link.device = LinkFact.Device(devtype: "wlan", hasRadio: true, driver: "iwlwifi")
        return link
    }

    /// A record of each kind.
    private static let records: [PathRecord] = [
        PathRecord(.overrides, at: .zero, overrides.recorded),
        PathRecord(.hints, at: .milliseconds(1), hints.recorded),
        PathRecord(.device, at: .milliseconds(2), link.recordedDevice),
        PathRecord(.notification, at: .milliseconds(3), [1, 2, 3]),
        PathRecord(.taken, at: .milliseconds(3), [0]),
        PathRecord(.links, at: .seconds(4), []),
        PathRecord(.addresses, at: .seconds(5), [0]),
        PathRecord(.notification, at: .seconds(100_000), Array(repeating: 0xFF, count: 70_000)),
        PathRecord(.routes, at: .seconds(100_000), routes.recorded),
        PathRecord(.told, at: .seconds(100_000)),
    ]

    private static let file: [UInt8] = PathRecord.header + records.flatMap(\.bytes)

    /// The records of a file up to its end or an error.
    private func read(_ bytes: [UInt8]) -> (records: [PathRecord], error: RecordingError?) {
        var records: [PathRecord] = []
        do throws(RecordingError) {
            var reader = try PathRecord.Reader(bytes)
            while var record = try reader.next() {
                record.offset = 0
                records.append(record)
            }
            return (records, nil)
        } catch {
            return (records, error)
        }
    }

    /// Whether a payload can be read as what its kind says; netlink's own bytes are the decoder's business.
    private func decode(_ record: PathRecord) throws(RecordingError) {
        switch record.kind {
        case .overrides: _ = try InterfaceOverrides(record)
        case .hints: _ = try InterfaceHints(record)
        case .device: _ = try LinkFact.Device.read(record)
        case .routes: _ = try RecordedRoutes(record)
        case .notification, .taken, .links, .addresses, .told: break
        }
    }

    @Test("gives back what was written, of every kind")
    func roundTrip() throws {
        let (records, error) = read(Self.file)
        #expect(error == nil)
        #expect(records == Self.records)
        #expect(Set(records.map(\.kind)) == Set(PathRecord.Kind.allCases))
        #expect(try InterfaceOverrides(records[0]) == Self.overrides)
        #expect(try InterfaceHints(records[1]) == Self.hints)
        let device = try LinkFact.Device.read(records[2])
        #expect(device.index == 3 && device.name == "wlan0" && device.device == Self.link.device)
        #expect(try RecordedRoutes(records[8]) == Self.routes)
        let empty = PathRecord(.hints, at: .zero, InterfaceHints().recorded)
        #expect(try InterfaceHints(empty) == InterfaceHints())
    }

    @Test("leaves out no hint: each field that the type has is one that this test knows to be written")
    func hintFields() {
        #expect(
            Mirror(reflecting: InterfaceHints()).children.compactMap(\.label) == [
                "settings", "networkManager", "leases", "wireless", "linkSpeeds", "nameServers", "resumes",
            ])
        #expect(Mirror(reflecting: PathSettings()).children.count == 1)
        #expect(Mirror(reflecting: PathSettings.Entry()).children.count == 2)
        #expect(Mirror(reflecting: NetworkManagerDevice(metered: .no)).children.count == 4)
        #expect(Mirror(reflecting: LeaseHint()).children.count == 3)
        #expect(Mirror(reflecting: WirelessHint()).children.count == 4)
        #expect(Mirror(reflecting: InterfaceOverride()).children.count == 3)
        #expect(Mirror(reflecting: LinkFact.Device()).children.count == 3)
        #expect(Mirror(reflecting: InternetReach()).children.count == 2)
        #expect(Mirror(reflecting: DefaultRouteFact.ipv4(1)).children.count == 5)
    }

    @Test("that is cut anywhere gives what stands before, and says where it is cut")
    func cut() {
        var boundaries = [PathRecord.header.count]
        for record in Self.records {
            boundaries.append(boundaries[boundaries.count - 1] + record.bytes.count)
        }
        let lengths = Array(0..<400) + (Self.file.count - 100..<Self.file.count)
        for length in lengths {
            let (records, error) = read(Array(Self.file.prefix(length)))
            let whole = boundaries.lastIndex { $0 <= length }
            #expect(records == Array(Self.records.prefix(whole ?? 0)))
            switch whole {
            case nil: #expect(error?.description == "byte 0: this is no recording of mppaths")
            case let whole? where boundaries[whole] == length: #expect(error == nil)
            case let whole?:
                #expect(error?.description == "byte \(boundaries[whole]): the file ends within a record")
            }
        }
    }

    @Test("notices each changed byte")
    func changed() {
        var random = SplitMix64(seed: 20_261_121)
        for _ in 0..<2_000 {
            var bytes = Self.file
            // The small records at the start, and anywhere.
            let place = Int.random(in: 0..<(random.oneIn(2) ? 400 : bytes.count), using: &random)
            bytes[place] ^= UInt8.random(in: 1...255, using: &random)
            let (records, error) = read(bytes)
            #expect(error != nil, "byte \(place)")
            #expect(error?.offset ?? .max <= place)
            #expect(records == Array(Self.records.prefix(records.count)))
        }
    }

    @Test("of another version, and a record of an unknown kind, are told as such")
    func versions() {
        var bytes = Self.file
        bytes[7] = 2
        #expect(read(bytes).error?.description == "byte 7: this recording is of version 2, not 1")
    }

    @Test("whose values are nonsense is an error or another value, never a trap")
    func nonsense() {
        var random = SplitMix64(seed: 63)
        var errors = 0
        for _ in 0..<20_000 {
            guard var record = Self.records.filter({ $0.payload.count < 1_000 }).randomElement(using: &random)
            else { continue }
            record.payload.mutate(&random)
            do throws(RecordingError) { try decode(record) } catch { errors += 1 }
        }
        #expect(errors > 1_000)
    }
}

extension [UInt8] {
    /// Some bytes changed, cut, put in twice.
    fileprivate mutating func mutate(_ random: inout SplitMix64) {
        for _ in 0..<Int.random(in: 1...4, using: &random) where !isEmpty {
            let place = Int.random(in: 0..<count, using: &random)
            switch random.next() % 4 {
            case 0: self[place] = UInt8.random(in: 0...255, using: &random)
            case 1: self[place] = [0, 1, 0x7F, 0x80, 0xFF].randomElement(using: &random)!
            case 2: removeSubrange(place...)
            default: insert(contentsOf: self[place...].prefix(8), at: place)
            }
        }
    }
}
