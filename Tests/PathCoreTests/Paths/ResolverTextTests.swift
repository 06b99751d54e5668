import PathCore
import Testing

@Suite("A resolv.conf")
struct ResolverTextTests {
    private func addresses(_ text: String) -> [String] {
        let links = [LinkFact(index: 3, name: "wlan0")]
        return ResolverText(parsing: text).addresses(on: links).map(\.description)
    }

    @Test(
        "names name servers, in their order, each once",
        arguments: [
            ("", []),
            ("nameserver 192.0.2.1\n", ["192.0.2.1"]),
            (
                "search example.org\nnameserver\t2001:db8::1  # the router\r\nnameserver 192.0.2.1\noptions edns0",
                ["2001:db8::1", "192.0.2.1"]
            ),
            ("nameserver 192.0.2.1\nnameserver 192.0.2.1\n", ["192.0.2.1"]),
            // The C library passes over these too.
            (" nameserver 192.0.2.1\n#nameserver 192.0.2.1\n;nameserver 192.0.2.1\n", []),
            ("nameservers 192.0.2.1\nnameserver\nnameserver x\nnameserver192.0.2.1", []),
        ])
    func reads(text: String, expected: [String]) {
        #expect(addresses(text) == expected)
    }

    @Test(
        "names a link-local server by its interface, which may not be there",
        arguments: [
            ("nameserver fe80::1%wlan0", ["fe80::1%3"]), ("nameserver fe80::1%7", ["fe80::1%7"]),
            ("nameserver fe80::1%eth9", []), ("nameserver fe80::1", ["fe80::1"]),
            ("nameserver 2001:db8::1%wlan0", ["2001:db8::1"]), ("nameserver 192.0.2.1%wlan0", []),
            ("nameserver fe80::1%", []), ("nameserver %wlan0", []),
        ])
    func zones(text: String, expected: [String]) {
        #expect(addresses(text) == expected)
    }

    @Test("is systemd-resolved's stub where it names nothing else")
    func stub() {
        #expect(ResolverText(parsing: "nameserver 127.0.0.53").isResolvedStub)
        #expect(ResolverText(parsing: "nameserver 127.0.0.54\nnameserver 127.0.0.53").isResolvedStub)
        #expect(!ResolverText(parsing: "nameserver 127.0.0.53\nnameserver 192.0.2.1").isResolvedStub)
        #expect(!ResolverText(parsing: "").isResolvedStub)
    }

    @Test("of a hundred thousand lines takes no more than 32 servers")
    func bounded() {
        let text = (0..<100_000).map { "nameserver 192.0.2.\($0 % 250)\n" }.joined()
        #expect(ResolverText(parsing: text).nameServers.count == 32)
    }
}
