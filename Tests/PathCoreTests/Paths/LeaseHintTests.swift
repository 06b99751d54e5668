import PathCore
import TestSupport
import Testing

@Suite("A DHCP lease of systemd-networkd")
struct LeaseHintTests {
    static let lines = """
        # This is private data. Do not parse.
        ADDRESS=192.0.2.7
        NETMASK=255.255.255.0
        ROUTER=192.0.2.1
        DNS=192.0.2.1 198.51.100.53
        CLIENTID=ff3f90f17800020000ab11aecd425e31d72980
        VENDOR_SPECIFIC=414e44524f49445f4d455445524544

        """

    static let json = """
        {
            "Address" : [192, 0, 2, 7], "AddressString" : "192.0.2.7",
            "Servers" : {"DNS" : [[192,0,2,1],[198,51,100,53]], "NTP" : []},
            "Domain_Name" : "caf\\u00e9 \\ud83d\\ude00 \\"x\\"", "Rapid" : [true, false, null, -1.5e3],
            "Vendor_Specific" : "414E44524F49445F4D455445524544"
        }
        """

    @Test(
        "says that a telephone shares a metered connection, in either form of its file",
        arguments: [lines, json])
    func metered(text: String) throws {
        let lease = try #require(LeaseHint(networkdLease: text))
        #expect(lease.isAndroidMetered)
        #expect(lease.address == IPAddress("192.0.2.7"))
        #expect(lease.nameServers == [IPAddress("192.0.2.1"), IPAddress("198.51.100.53")])
    }

    @Test(
        "finds the word among other bytes of the option, and not across them",
        arguments: [
            ("0142414e44524f49445f4d455445524544ff", true), ("4414e44524f49445f4d4554455245440", false),
            ("414e44524f49445f4d4554455245", false), ("", false), ("zz", false),
        ])
    func options(hex: String, isMetered: Bool) {
        let lease = LeaseHint(networkdLease: "ADDRESS=192.0.2.7\nVENDOR_SPECIFIC=\(hex)\n")
        #expect(lease == LeaseHint(isAndroidMetered: isMetered, address: IPAddress("192.0.2.7")))
    }

    @Test(
        "is none without an address",
        arguments: [
            "", "DNS=192.0.2.1", "ADDRESS=", "ADDRESS=192.0.2", "#ADDRESS=192.0.2.7", "{}", "{",
            #"{"Address":"192.0.2.7"}"#, #"{"Address":[192,0,2]}"#, #"{"Address":[192,0,2,256]}"#,
            #"{"Address":[192,0,2,7]} x"#, #"{"Address":[192,0,2,7],}"#,
            #"{"x":"# + String(repeating: "[", count: 100_000),
        ])
    func noLease(text: String) {
        #expect(LeaseHint(networkdLease: text) == nil)
    }

    @Test("belongs to the interface that has its address, and to no other with its number")
    func belongs() throws {
        let lease = try #require(LeaseHint(networkdLease: Self.lines))
        #expect(lease.belongs(toInterfaceWith: [IPAddress("192.0.2.7")].compactMap(\.self)))
        #expect(!lease.belongs(toInterfaceWith: [IPAddress("192.0.2.8")].compactMap(\.self)))
        #expect(!lease.belongs(toInterfaceWith: []))
        #expect(LeaseHint().belongs(toInterfaceWith: []))
    }

    @Test("never traps, however its file was damaged")
    func mutations() {
        var random = SplitMix64(seed: 2132)
        for text in [Self.lines, Self.json] {
            for _ in 0..<5_000 {
                var bytes = Array(text.utf8)
                for _ in 0..<(1 + random.next() % 5) {
                    let place = Int(random.next() % UInt64(bytes.count))
                    if random.oneIn(3) {
                        bytes.remove(at: place)
                    } else {
                        bytes[place] = random.oneIn(2) ? UInt8(truncatingIfNeeded: random.next()) : bytes[0]
                    }
                }
                _ = LeaseHint(networkdLease: String(decoding: bytes, as: UTF8.self))
            }
        }
    }
}
