import Dispatch
import Glibc
import PathCore
import TestSupport
import Testing

@testable import LinuxNet

/// Builds netlink messages by hand, as the kernel's nla_put does.
private struct Bytes {
    var bytes: [UInt8] = []

    static func number(_ value: some FixedWidthInteger) -> [UInt8] {
        withUnsafeBytes(of: value) { Array($0) }
    }

    static func attribute(_ type: UInt16, _ value: [UInt8]) -> [UInt8] {
        let padding = [UInt8](repeating: 0, count: (4 - value.count % 4) % 4)
        return number(UInt16(4 + value.count)) + number(type) + value + padding
    }

    static func attribute(_ type: UInt16, _ value: some FixedWidthInteger) -> [UInt8] {
        attribute(type, number(value))
    }

    /// NLA_F_NESTED is set, as by newer kernels.
    static func nest(_ type: UInt16, _ attributes: [UInt8]...) -> [UInt8] {
        attribute(type | 0x8000, attributes.flatMap(\.self))
    }

    /// A whole message of nl80211's.
    static func message(_ command: UInt8, _ attributes: [UInt8]...) -> [UInt8] {
        let payload = [command, 1, 0, 0] + attributes.flatMap(\.self)
        return number(UInt32(16 + payload.count)) + number(UInt16(28)) + number(UInt16(0))
            + number(UInt32(1)) + number(UInt32(0)) + payload
    }
}

/// What a decoder makes of the first message.
private func decoded<Value>(_ bytes: [UInt8], _ decode: (GenericMessage) -> Value?) -> Value? {
    var value: Value?
    bytes.withUnsafeBytes { datagram in
        _ = try? NetlinkMessage.forEach(in: datagram) { message throws(SystemError) in
            value = value ?? GenericMessage(message).flatMap(decode)
        }
    }
    return value
}

@Suite("nl80211's messages")
struct WirelessDecoderTests {
    static func interface(type: UInt32 = 2, _ ssid: String?) -> [UInt8] {
        Bytes.message(
            WirelessCommand.newInterface, Bytes.attribute(3, UInt32(4)),
            Bytes.attribute(4, Array("wlan0\0".utf8)),
            Bytes.attribute(5, type), ssid.map { Bytes.attribute(52, Array($0.utf8)) } ?? [])
    }

    static func station(_ information: [UInt8]...) -> [UInt8] {
        Bytes.message(
            WirelessCommand.newStation, Bytes.attribute(3, UInt32(4)),
            Bytes.attribute(6, [2, 0, 0, 0, 0, 1]), Bytes.attribute(21 | 0x8000, information.flatMap(\.self)))
    }

    @Test("tell the network of an interface that is a client of one")
    func interfaces() {
        typealias Interface = WirelessDecoder.Interface
        let read = { decoded($0, WirelessDecoder.interface) }
        #expect(read(Self.interface("Café 😀")) == Interface(index: 4, isClient: true, ssid: "Café 😀"))
        #expect(read(Self.interface(type: 8, "p2p")) == Interface(index: 4, isClient: true, ssid: "p2p"))
        #expect(read(Self.interface(type: 3, "mine")) == Interface(index: 4, isClient: false, ssid: "mine"))
        #expect(read(Self.interface(nil)) == Interface(index: 4, isClient: true, ssid: nil))
        #expect(read(Self.interface("")) == Interface(index: 4, isClient: true, ssid: nil))
        #expect(read(Self.interface(String(repeating: "x", count: 33)))?.ssid == nil)
        #expect(read(Self.station()) == nil)
    }

    @Test("tell the access point's signal in dBm, and the rate in Mbit/s of either width")
    func stations() {
        typealias Station = WirelessDecoder.Station
        let read = { decoded($0, WirelessDecoder.station) }
        let signal = Bytes.attribute(7, Int8(-61))
        let wide = Bytes.attribute(5, UInt32(24_019))
        let narrow = Bytes.attribute(1, UInt16(540))
        #expect(read(Self.station(signal, Bytes.nest(8, wide))) == Station(signal: -61, rate: 2_402))
        #expect(read(Self.station(Bytes.nest(8, narrow), signal)) == Station(signal: -61, rate: 54))
        #expect(read(Self.station(Bytes.nest(8, narrow, wide))) == Station(signal: nil, rate: 2_402))
        #expect(read(Self.station(Bytes.nest(8, wide, narrow))) == Station(signal: nil, rate: 2_402))
        #expect(read(Self.station(Bytes.nest(8))) == Station())
        #expect(read(Self.interface("x")) == nil)
    }

    @Test("that are cut or damaged never trap")
    func mutations() {
        var random = SplitMix64(seed: 80_211)
        let whole = [
            Self.interface("Guest"),
            Self.station(Bytes.attribute(7, Int8(-61)), Bytes.nest(8, Bytes.attribute(5, UInt32(10)))),
        ]
        for _ in 0..<20_000 {
            let bytes = whole[Int(random.next() % 2)].damaged(&random)
            _ = decoded(bytes, WirelessDecoder.interface)
            _ = decoded(bytes, WirelessDecoder.station)
        }
    }
}

@Suite("The Wi-Fi source")
struct WirelessSourceTests {
    private static let wifi = LinkFact(
        index: 4, name: "wlan0", device: .init(devtype: "wlan", hasRadio: true))
    private static let wired = LinkFact(index: 2, name: "eth0")

    /// A radio that a test plays; only the event thread touches it.
    private final class FakeRadio: @unchecked Sendable {
        var opened = 0
        var isThere = true
        var asked = 0
        var answer: Result<WirelessHint?, SystemError> = .success(WirelessHint(ssid: "Guest"))
        /// What the clock says beyond the time that has passed.
        var later = Duration.zero

        func open() throws(SystemError) -> WirelessSource.Radio {
            opened += 1
            guard isThere else { throw SystemError("find", errno: ENOENT) }
            return WirelessSource.Radio(
                hint: { [self] _ throws(SystemError) in
                    asked += 1
                    return try answer.get()
                }, drainAnnouncements: { true }, descriptor: nil, malformed: { 0 })
        }
    }

    /// One whose driver answers at once.
    private func source(_ radio: FakeRadio, onChange: @escaping () -> Void = {}) -> WirelessSource {
        let source = WirelessSource(on: .shared, by: .here, now: { .now.advanced(by: radio.later) }) {
            () throws(SystemError) in try radio.open()
        }
        source.start(onChange: onChange)
        return source
    }

    @Test("asks about Wi-Fi interfaces alone, and at most once a second until it is told to")
    func asks() {
        let radio = FakeRadio()
        let source = source(radio)
        #expect(source.read([Self.wired]) == [:])
        #expect(radio.opened == 0)
        #expect(source.read([Self.wired, Self.wifi]) == [4: WirelessHint(ssid: "Guest")])
        radio.answer = .success(WirelessHint(ssid: "Home"))
        let again = source.read([Self.wired, Self.wifi])[4]?.ssid
        source.forget()
        #expect(source.read([Self.wifi]) == [4: WirelessHint(ssid: "Home")])
        #expect((radio.opened, radio.asked) == (1, again == "Guest" ? 2 : 3))
    }

    @Test("looks for nl80211 again only when another Wi-Fi interface comes")
    func asksAgain() {
        let radio = FakeRadio()
        radio.isThere = false
        let source = source(radio)
        for _ in 0..<5 { #expect(source.read([Self.wifi]) == [:]) }
        #expect(radio.opened == 1)
        radio.isThere = true
        var other = Self.wifi
        other.index = 5
        #expect(source.read([Self.wifi, other]).count == 2)
        #expect(radio.opened == 2)
    }

    @Test("finds nl80211 again when it has another number, or when the last interface went and one came")
    func returns() {
        let radio = FakeRadio()
        let source = source(radio)
        _ = source.read([Self.wifi])
        radio.answer = .failure(SystemError("ask", errno: ENOENT))
        source.forget()
        #expect(source.read([Self.wifi]) == [:])
        radio.answer = .success(WirelessHint(ssid: "Guest"))
        #expect(source.read([Self.wifi]) == [4: WirelessHint(ssid: "Guest")])
        #expect(radio.opened == 2)
        #expect(source.read([]) == [:])
        #expect(source.read([Self.wifi]).count == 1)
        #expect(radio.opened == 3)
    }

    @Test("tells when a watched signal begins to fade and when it is steady again")
    func signals() {
        let radio = FakeRadio()
        var changes = 0
        let source = source(radio) { changes += 1 }
        radio.answer = .success(WirelessHint(ssid: "Home", signal: -52))
        #expect(source.read([Self.wifi])[4]?.isFading == false)
        // The network itself.
        #expect(changes == 1)
        changes = 0
        func look(_ signal: Int, after seconds: Double) -> Bool? {
            radio.answer = .success(WirelessHint(ssid: "Home", signal: signal))
            radio.later = .seconds(seconds)
            source.lookAtSignals()
            return source.read([Self.wifi])[4]?.isFading
        }
        #expect(look(-57, after: 0.5) == false)
        #expect(changes == 0)
        #expect(look(-63, after: 1) == true)
        #expect(look(-64, after: 1.5) == true)
        #expect(changes == 1)
        #expect(look(-64, after: 4) == false)
        #expect(changes == 2)
        #expect(look(-78, after: 4.5) == true)
        source.stop()
    }

    @Test("passes over an interface whose driver doesn't answer")
    func errors() {
        let radio = FakeRadio()
        radio.answer = .failure(SystemError("ask", errno: EOPNOTSUPP))
        let source = source(radio)
        #expect(source.read([Self.wifi]) == [:])
        #expect(source.read([Self.wifi]) == [:])
        #expect(radio.opened == 1)
    }

    @Test(
        "is silent on a kernel without nl80211",
        .enabled(if: access("/sys/module/cfg80211", F_OK) != 0, "a kernel with Wi-Fi"))
    func realKernel() throws {
        let error = #expect(throws: SystemError.self) { try WirelessSource.Radio.kernel() }
        #expect(error?.errno == ENOENT)
        let source = WirelessSource(on: .shared, by: .here)
        source.start {}
        #expect(source.read([Self.wifi]) == [:])
        #expect(source.isSettled)
    }

    /// A driver that answers when the test lets it.
    private final class SlowRadio: Sendable {
        let gate = DispatchSemaphore(value: 0)
        let asked = Locked(0)

        func open() -> WirelessSource.Radio {
            WirelessSource.Radio(
                hint: { [self] _ in
                    asked.withLock { $0 += 1 }
                    gate.wait()
                    return WirelessHint(ssid: "Guest")
                }, drainAnnouncements: { false }, descriptor: nil, malformed: { 0 })
        }
    }

    @Test("is never held up by a driver: what it knows is told meanwhile, and the answer when it comes")
    func slowDriver() async throws {
        final class World: @unchecked Sendable {
            let radio = SlowRadio()
            let source: WirelessSource
            let changes = Locked(0)
            init() {
                source = WirelessSource(on: .shared, open: { [radio] () throws(SystemError) in radio.open() })
            }
        }
        let world = World()
        @Sendable func onThread<Value: Sendable>(_ body: @escaping @Sendable (World) -> Value) throws -> Value
        {
            try EventThread.shared.perform { () throws(SystemError) in body(world) }
        }
        try onThread { world in
            world.source.start { world.changes.withLock { $0 += 1 } }
            for _ in 0..<100 { #expect(world.source.read([Self.wifi]) == [:]) }
            #expect(!world.source.isSettled)
        }
        // It is not waited for any longer than that, and one question is under way, however often it is needed.
        try await Program.wait("the end of patience") { try onThread { $0.source.isSettled } }
        #expect(try onThread { $0.source.delays } == 1)
        #expect(world.radio.asked.withLock { $0 } == 1)
        let told = world.changes.withLock { $0 }
        world.radio.gate.signal()
        try await Program.wait("the answer") { world.changes.withLock { $0 } > told }
        try onThread { #expect($0.source.read([Self.wifi])[4]?.ssid == "Guest") }
        // The next question hangs for good: what was known stays.
        try onThread { world in
            world.source.forget()
            #expect(world.source.read([Self.wifi])[4]?.ssid == "Guest")
        }
        try await Program.wait("the next question") { world.radio.asked.withLock { $0 } == 2 }
        try await Program.wait("the end of patience") { try onThread { $0.source.isSettled } }
        try onThread { world in
            #expect(world.source.read([Self.wifi])[4]?.ssid == "Guest")
            world.source.stop()
        }
        world.radio.gate.signal()
    }
}
