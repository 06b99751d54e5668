import PathCore
import Testing

@Suite("An address")
struct IPAddressTests {
    @Test("is 4 or 16 bytes in network order, and nothing else is an address")
    func networkBytes() {
        #expect(ip("192.0.2.1").networkBytes == [192, 0, 2, 1])
        #expect(
            ip("2001:db8::102").networkBytes
                == [0x20, 0x01, 0x0D, 0xB8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x01, 0x02])
        let read = (0...20).compactMap { IPAddress(networkBytes: [UInt8](repeating: 1, count: $0)) }
        #expect(read == [ip("1.1.1.1"), ip("101:101:101:101:101:101:101:101")])
    }

    @Test(
        "knows what it is for",
        arguments: [
            ("127.0.0.1", "loopback"), ("127.255.255.255", "loopback"), ("::1", "loopback"),
            ("169.254.0.1", "link-local"), ("fe80::", "link-local"), ("febf:ffff::1", "link-local"),
            ("0.0.0.0", "unspecified"), ("::", "unspecified"),
            ("126.255.255.255", ""), ("128.0.0.1", ""), ("::2", ""), ("1::1", ""), ("169.253.255.255", ""),
            ("169.255.0.0", ""), ("fec0::1", ""), ("fe7f::1", ""), ("0.0.0.1", ""), ("ff02::1", ""),
        ])
    func purpose(text: String, expected: String) {
        let address = ip(text)
        let purposes = [
            address.isLoopback ? "loopback" : nil, address.isLinkLocal ? "link-local" : nil,
            address.isUnspecified ? "unspecified" : nil,
        ]
        #expect(purposes.compactMap { $0 }.joined(separator: ", ") == expected)
    }

    @Test("has a zone only if it is a link-local IPv6 address")
    func zone() {
        #expect(ip("fe80::1").inZone(7) == ip("fe80::1%7"))
        #expect(ip("fe80::1%7").inZone(0) == ip("fe80::1"))
        #expect(ip("fe80::1%7") != ip("fe80::1%8"))
        let others = ["2001:db8::1", "::1", "192.0.2.1", "169.254.0.1"].map(ip)
        #expect(others.map { $0.inZone(7) } == others)
        #expect(others.compactMap { IPAddress(networkBytes: $0.networkBytes, zone: 7) } == others)
    }

    @Test("is the IPv4 address inside an IPv4-mapped one, unmapped")
    func unmapped() {
        let mapped = ["::ffff:192.0.2.1", "::ffff:0:0", "192.0.2.1", "::192.0.2.1", "1::ffff:192.0.2.1"]
        #expect(
            mapped.map { ip($0).unmapped }
                == ["192.0.2.1", "0.0.0.0", "192.0.2.1", "::192.0.2.1", "1::ffff:192.0.2.1"].map(ip))
        #expect(ip("::ffff:192.0.2.1") != ip("192.0.2.1"))
    }

    @Test("stands in brackets before a port if it is IPv6")
    func endpoint() {
        let endpoints = ["192.0.2.1", "2001:db8::1", "fe80::1%2"].map { IPEndpoint(ip($0), port: 443) }
        #expect(
            endpoints.map(\.description) == ["192.0.2.1:443", "[2001:db8::1]:443", "[fe80::1%2]:443"])
    }
}
