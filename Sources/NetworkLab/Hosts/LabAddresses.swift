// Who has which address. All are from the ranges for documentation (RFC 5737, RFC 3849), so that nothing here
// can be mistaken for, or reach, a real host.
//
//   client 192.0.2.(16 i + 2) ── link i ── 192.0.2.(16 i + 1) router 203.0.113.1 ── 203.0.113.10 server
//          2001:db8:1:i::2              2001:db8:1:i::1        2001:db8:3::1      2001:db8:3::10
//   and 198.51.100.(i + 1) for what a NAT on link i shows the server.

import PathCore

/// The addresses of a lab's hosts.
public enum LabAddresses {
    /// The server's: 203.0.113.10.
    public static let serverIPv4 = IPAddress(ipv4: 0xCB00_710A)
    /// The server's: 2001:db8:3::10.
    public static let serverIPv6 = IPAddress(ipv6: 0x2001_0DB8_0003_0000, 0x10)
    static let routerIPv4 = IPAddress(ipv4: 0xCB00_7101)
    static let routerIPv6 = IPAddress(ipv6: 0x2001_0DB8_0003_0000, 1)

    static func server(_ family: IPAddress.Family) -> IPAddress { family == .ipv4 ? serverIPv4 : serverIPv6 }
    static func router(_ family: IPAddress.Family) -> IPAddress { family == .ipv4 ? routerIPv4 : routerIPv6 }

    /// A host's address on a link: 1 is the router, 2 the client at first.
    static func onLink(_ link: Int, host: Int, _ family: IPAddress.Family) -> IPAddress {
        family == .ipv4
            ? IPAddress(ipv4: 0xC000_0200 + UInt32(16 * link + host))
            : IPAddress(ipv6: 0x2001_0DB8_0001_0000 + UInt64(link), UInt64(host))
    }

    /// The last host a link has an IPv4 address for.
    static let lastHost = 14

    static func linkPrefix(_ family: IPAddress.Family) -> UInt8 { family == .ipv4 ? 28 : 64 }
    static func serverPrefix(_ family: IPAddress.Family) -> UInt8 { family == .ipv4 ? 24 : 64 }

    /// The 32 bits of a NAT's outer address.
    static func nat(_ link: Int) -> UInt32 { 0xC633_6401 + UInt32(link) }
}
