import PathCore
import TestSupport
import Testing

@Suite("The text of an address")
struct IPAddressTextTests {
    @Test(
        "is written as RFC 5952 says, whichever way it was read",
        arguments: [
            // Section 4.1: no leading zeros. 4.3: lower case.
            ("2001:0db8::0001", "2001:db8::1"),
            ("2001:DB8::ABCD", "2001:db8::abcd"),
            // Section 4.2.1: as short as possible.
            ("2001:db8:0:0:0:0:2:1", "2001:db8::2:1"),
            ("0:0:0:0:0:0:0:0", "::"),
            ("0:0:0:0:0:0:0:1", "::1"),
            ("1:0:0:0:0:0:0:0", "1::"),
            // Section 4.2.2: one zero group alone is not shortened.
            ("2001:db8::1:1:1:1:1", "2001:db8:0:1:1:1:1:1"),
            ("::2:3:4:5:6:7:8", "0:2:3:4:5:6:7:8"),
            ("1:2:3:4:5:6:7::", "1:2:3:4:5:6:7:0"),
            // Section 4.2.3: the longest run, and of equal ones the first.
            ("2001:0:0:1:0:0:0:1", "2001:0:0:1::1"),
            ("2001:db8:0:0:1:0:0:1", "2001:db8::1:0:0:1"),
            ("0:0:1:0:0:1:0:0", "::1:0:0:1:0:0"),
            // Section 5: the mixed form where the prefix says what the rest is.
            ("::ffff:c000:201", "::ffff:192.0.2.1"),
            ("::FFFF:192.0.2.1", "::ffff:192.0.2.1"),
            ("::192.0.2.1", "::c000:201"),
            ("64:ff9b::192.0.2.1", "64:ff9b::c000:201"),
            ("1:2:3:4:5:6:192.0.2.1", "1:2:3:4:5:6:c000:201"),
            ("0.0.0.0", "0.0.0.0"),
            ("255.255.255.255", "255.255.255.255"),
            ("10.0.200.3", "10.0.200.3"),
        ])
    func isCanonical(read: String, written: String) {
        #expect(IPAddress(read)?.description == written)
    }

    @Test(
        "is refused where inet_pton refuses it",
        arguments: [
            "", " ", ".", ":", ":::", "::::", "1", "1.2.3", "1.2.3.4.5", "1.2.3.", ".1.2.3", "1..2.3",
            "256.0.0.1", "1.2.3.999", "01.2.3.4", "1.2.3.00", "0x1.2.3.4", "1.2.3.-4", "1.2.3.+4", " 1.2.3.4",
            "1.2.3.4 ", "１.2.3.4", "::1 ", " ::1", "[::1]", "::g", "12345::", "1:2:3:4:5:6:7",
            "1:2:3:4:5:6:7:8:9", "1:2:3:4:5:6:7:8::", "::1:2:3:4:5:6:7:8", "1::2:3:4:5:6:7:8", "1::2::3",
            "1:::2", ":1::2", "1::2:", ":1:2:3:4:5:6:7", "1:2:3:4:5:6:7:", "1.2.3.4::", "::1.2.3.4:5",
            "::1.2.3", "::1.2.3.256", "::01.2.3.4", "1:2:3:4:5:6:7:1.2.3.4", "::+1", "::-1", "::0x1",
            "::1/64", "1.2.3.4/24", "1.2.3.4\0", "::1\0", "example.org",
        ])
    func isRefused(text: String) {
        #expect(IPAddress(text) == nil)
    }

    @Test(
        "keeps a numeric zone on a link-local address",
        arguments: [
            ("fe80::1%2", "fe80::1%2"), ("FE80::1%4294967295", "fe80::1%4294967295"),
            ("febf::1%3", "febf::1%3"), ("fe80::1%0", "fe80::1"),
        ])
    func keepsZone(read: String, written: String) {
        #expect(IPAddress(read)?.description == written)
    }

    @Test(
        "is refused with a zone that is no number, or on an address that has none",
        arguments: [
            "fe80::1%", "fe80::1%eth0", "fe80::1%+2", "fe80::1%-2", "fe80::1%2%3", "fe80::1%4294967296",
            "fe80::1% 2", "%2", "::1%1", "2001:db8::1%2", "fec0::1%2", "ff02::1%2", "169.254.0.1%2",
            "::ffff:169.254.0.1%2",
        ])
    func refusesZone(text: String) {
        #expect(IPAddress(text) == nil)
    }

    @Test("reads back as the same address, for 20 000 addresses")
    func roundTrip() {
        var random = SplitMix64(seed: 5952)
        for _ in 0..<20_000 {
            let address = random.address()
            let fromBytes = IPAddress(networkBytes: address.networkBytes, zone: address.zone)
            if IPAddress("\(address)") != address || fromBytes != address {
                Issue.record("\(address), \(address.networkBytes), does not read back")
                return
            }
        }
    }

    @Test("is never misread: 20 000 damaged texts are refused or read as what they then say")
    func damagedTexts() {
        var random = SplitMix64(seed: 4291)
        for _ in 0..<20_000 {
            let text = random.damaged("\(random.address())")
            if let address = IPAddress(text), IPAddress("\(address)") != address {
                Issue.record("'\(text)' was read as \(address), which does not read back")
                return
            }
        }
    }
}

extension SplitMix64 {
    /// Half of the groups are zero, so that runs of zeros of every length and place turn up.
    fileprivate mutating func address() -> IPAddress {
        func group() -> UInt64 { oneIn(2) ? 0 : next() >> (48 + next() % 16) }
        func half() -> UInt64 { (0..<4).reduce(0) { word, _ in word << 16 | group() } }
        switch next() % 8 {
        case 0: return IPAddress(ipv4: UInt32(truncatingIfNeeded: next()))
        case 1: return IPAddress(ipv6: 0, 0xFFFF_0000_0000 | next() >> 32)
        case 2: return IPAddress(ipv6: 0xFE80 << 48 | half() >> 10, half(), zone: UInt32(next() % 3))
        default: return IPAddress(ipv6: half(), half())
        }
    }

    /// The text with one character gone, doubled or replaced.
    fileprivate mutating func damaged(_ text: String) -> String {
        var characters = Array(text)
        let place = Int.random(in: characters.indices, using: &self)
        switch next() % 3 {
        case 0: characters.remove(at: place)
        case 1: characters.insert(characters[place], at: place)
        default: characters[place] = ":.%0fg +".randomElement(using: &self)!
        }
        return String(characters)
    }
}
