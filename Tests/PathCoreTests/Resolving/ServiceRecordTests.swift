import PathCore
import Testing

@Suite("An HTTPS record's parameters (RFC 9460)")
struct ServiceRecordTests {
    /// A parameter: its number, its length, its value.
    private func parameter(_ key: UInt16, _ value: [UInt8]) -> [UInt8] {
        [UInt8(key >> 8), UInt8(key & 0xFF), UInt8(value.count >> 8), UInt8(value.count & 0xFF)] + value
    }

    private func read(_ parameters: [UInt8]..., priority: UInt16 = 1, target: String = ".") -> ServiceRecord?
    {
        ServiceRecord(priority: priority, target: target, parameters: parameters.flatMap { $0 })
    }

    private func names(_ names: String...) -> [UInt8] {
        names.flatMap { [UInt8($0.utf8.count)] + Array($0.utf8) }
    }

    @Test("say what is spoken, on which port, and at which addresses")
    func all() throws {
        let record = try #require(
            read(
                parameter(1, names("h2", "h3")), parameter(3, [0x20, 0xFB]),
                parameter(4, [192, 0, 2, 1, 192, 0, 2, 2]),
                parameter(6, [0x20, 1, 0x0D, 0xB8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1])))
        #expect(record.applicationProtocols == ["h2", "h3", "http/1.1"])
        #expect(record.port == 8443)
        #expect(record.addressHints.map(\.description) == ["192.0.2.1", "192.0.2.2", "2001:db8::1"])
        #expect(record.isUsable(speaking: ["http/1.1"], port: 8443))
        #expect(!record.isUsable(speaking: ["http/1.1"], port: 443))
    }

    @Test("without any are those of an ordinary host")
    func none() throws {
        #expect(try #require(read()) == ServiceRecord())
    }

    @Test("leave out the default protocol only where they name another")
    func noDefault() throws {
        let record = try #require(read(parameter(1, names("h3")), parameter(2, [])))
        #expect(record.applicationProtocols == ["h3"])
        #expect(!record.isUsable(speaking: ["h2", "http/1.1"], port: 443))
        #expect(read(parameter(2, [])) == nil)
    }

    @Test("that are not known are skipped, unless the record needs them")
    func unknown() throws {
        let skipped = try #require(read(parameter(5, [1, 2, 3]), parameter(65_000, [9])))
        #expect(skipped.isUsable(speaking: ["http/1.1"], port: 443))
        let needed = try #require(read(parameter(0, [0xFD, 0xE8]), parameter(65_000, [9])))
        #expect(needed.isIncompatible)
        #expect(!needed.isUsable(speaking: ["http/1.1"], port: 443))
    }

    @Test("make the record no use of the name's own addresses where it leads to another name, or is an alias")
    func elsewhere() throws {
        #expect(try !#require(read(target: "cdn.example")).isUsable(speaking: ["http/1.1"], port: 443))
        #expect(
            try !#require(read(priority: 0, target: "cdn.example")).isUsable(
                speaking: ["http/1.1"], port: 443))
    }

    @Test(
        "that are malformed make the record none",
        arguments: [
            [0, 1], [0, 1, 0], [0, 1, 0, 9, 1], [0, 1, 0, 0], [0, 1, 0, 1, 0], [0, 1, 0, 2, 5, 0x68],
            [0, 3, 0, 1, 1],
            [0, 4, 0, 0], [0, 4, 0, 3, 1, 2, 3], [0, 6, 0, 4, 1, 2, 3, 4], [0, 0, 0, 1, 0],
            [0, 0, 0, 2, 0, 0], [0, 2, 0, 1, 7],
            // Out of order, and twice.
            [0, 3, 0, 2, 1, 1, 0, 1, 0, 3, 2, 0x68, 0x32], [0, 3, 0, 2, 1, 1, 0, 3, 0, 2, 1, 1],
        ] as [[UInt8]])
    func malformed(bytes: [UInt8]) {
        #expect(read(bytes) == nil)
    }

    @Test("name so many addresses at most")
    func bounded() throws {
        let addresses = (0..<1000).flatMap { [10, 0, UInt8($0 / 256), UInt8($0 % 256)] as [UInt8] }
        #expect(try #require(read(parameter(4, addresses))).addressHints.count <= ServiceRecord.mostHints)
    }

    @Test("of random bytes are read or refused, and never trap")
    func random() {
        var generator = SystemRandomNumberGenerator()
        for _ in 0..<20_000 {
            let bytes = (0..<Int.random(in: 0...40, using: &generator)).map { _ in
                UInt8.random(in: 0...7, using: &generator)
            }
            _ = ServiceRecord(priority: 1, target: ".", parameters: bytes)
        }
    }
}
