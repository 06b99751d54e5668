// IPv4 destinations on a network that has only IPv6.
//
// Such a network translates: an IPv4 address inside an IPv6 prefix of its own leads to the IPv4 host
// (RFC 6052). Names are no problem there, because its DNS servers put the address in (DNS64). A literal is:
// no DNS server is asked about it. So the prefix is found out as RFC 7050 says, by asking for the IPv6
// addresses of a name that only has the two IPv4 addresses 192.0.0.170 and 192.0.0.171.

/// A network's translation prefix.
package struct NAT64Prefix: Sendable, Hashable {
    /// The first bits; the rest is 0.
    package let address: IPAddress
    /// In bits: 32, 40, 48, 56, 64 or 96.
    package let length: Int

    /// The name that tells the prefix (RFC 7050 section 2.2).
    package static let discoveryName = "ipv4only.arpa"

    /// The addresses of that name (RFC 7050 section 2.2).
    private static let known: Set<UInt32> = [0xC000_00AA, 0xC000_00AB]

    package init?(_ address: IPAddress, length: Int) {
        guard address.family == .ipv6, Self.lengths.contains(length) else { return nil }
        self.length = length
        let bytes = address.networkBytes.enumerated().map { $0.offset * 8 < length ? $0.element : 0 }
        guard let prefix = IPAddress(networkBytes: bytes) else { return nil }
        self.address = prefix
    }

    /// Finds the prefix in the IPv6 answer for `ipv4only.arpa`; nil where nothing translates.
    package init?(discoveredIn answer: [IPAddress]) {
        for address in answer {
            for length in Self.lengths.reversed() {
                guard let prefix = NAT64Prefix(address, length: length),
                    Self.known.contains(where: { prefix.embedding($0) == address })
                else { continue }
                self = prefix
                return
            }
        }
        return nil
    }

    /// The IPv6 address that leads to an IPv4 host; nil for an address that is no IPv4 one, or that no
    /// network translates (its own link's, this machine's).
    package func synthesized(_ ipv4: IPAddress) -> IPAddress? {
        guard ipv4.family == .ipv4, !ipv4.isLoopback, !ipv4.isLinkLocal else { return nil }
        // RFC 6052 section 3.1: the well-known prefix never stands for an address that is not global: a private one, this network's,
        // or what is beyond unicast.
        if self == Self.wellKnown, ipv4.isPrivate || ipv4.low >> 24 == 0 || ipv4.low >> 28 >= 14 {
            return nil
        }
        return embedding(UInt32(truncatingIfNeeded: ipv4.low))
    }

    /// RFC 6052 section 2.2: the IPv4 bytes follow the prefix, but bits 64 to 71 stay zero.
    private func embedding(_ ipv4: UInt32) -> IPAddress? {
        var bytes = address.networkBytes
        var place = length / 8
        for shift in [24, 16, 8, 0] as [UInt32] {
            if place == 8 { place += 1 }
            bytes[place] = UInt8(truncatingIfNeeded: ipv4 >> shift)
            place += 1
        }
        return IPAddress(networkBytes: bytes)
    }

    fileprivate static let wellKnown = NAT64Prefix(IPAddress(ipv6: 0x0064_FF9B_0000_0000, 0), length: 96)

    private static let lengths = [32, 40, 48, 56, 64, 96]
}

extension IPAddress {
    /// The IPv4 address that a translator or a relay on the way makes of this one: behind NAT64's well-known prefix (RFC 6052) and
    /// `64:ff9b:1::/48` (RFC 8215, in the form that ends with the address), and in 6to4's, `2002::/16` (RFC 3056).
    var embeddedIPv4: IPAddress? {
        guard family == .ipv6 else { return nil }
        if NAT64Prefix(self, length: 96) == .wellKnown || high >> 16 == 0x0064_FF9B_0001 {
            return IPAddress(ipv4: UInt32(truncatingIfNeeded: low))
        }
        return high >> 48 == 0x2002 ? IPAddress(ipv4: UInt32(truncatingIfNeeded: high >> 16)) : nil
    }
}
