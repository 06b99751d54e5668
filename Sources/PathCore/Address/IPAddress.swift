/// An IPv4 or IPv6 address, without a port.
public struct IPAddress: Sendable, Hashable {
    /// The address family.
    public enum Family: Sendable, Hashable, Comparable, CaseIterable {
        /// IPv4 (RFC 791).
        case ipv4
        /// IPv6 (RFC 8200).
        case ipv6
    }

    /// The family.
    public let family: Family

    /// For a link-local IPv6 address: the index of the interface it is meant on (RFC 4007); otherwise 0.
    public let zone: UInt32

    /// The address in host order; an IPv4 address uses the lower 32 bits.
    let high: UInt64
    let low: UInt64

    /// An IPv4 address from its 32 bits, most significant byte first.
    public init(ipv4 bits: UInt32) {
        (family, zone, high, low) = (.ipv4, 0, 0, UInt64(bits))
    }

    /// An IPv6 address from its two halves, most significant first. Only a link-local one keeps the zone.
    public init(ipv6 high: UInt64, _ low: UInt64, zone: UInt32 = 0) {
        (family, self.high, self.low) = (.ipv6, high, low)
        self.zone = Self.isLinkLocal(high) ? zone : 0
    }

    /// An address from 4 or 16 bytes in network order; any other count is no address.
    public init?(networkBytes bytes: some Collection<UInt8>, zone: UInt32 = 0) {
        func number(_ part: some Sequence<UInt8>) -> UInt64 { part.reduce(0) { $0 << 8 | UInt64($1) } }
        switch bytes.count {
        case 4: self.init(ipv4: UInt32(number(bytes)))
        case 16: self.init(ipv6: number(bytes.prefix(8)), number(bytes.dropFirst(8)), zone: zone)
        default: return nil
        }
    }

    /// The address as 4 or 16 bytes in network order.
    public var networkBytes: [UInt8] { withNetworkBytes { [UInt8]($0) } }

    /// The same without an array.
    package func withNetworkBytes<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result {
        switch family {
        case .ipv4: withUnsafeBytes(of: UInt32(truncatingIfNeeded: low).bigEndian, body)
        case .ipv6: withUnsafeBytes(of: (high.bigEndian, low.bigEndian), body)
        }
    }

    /// The same address on the interface with this index; only a link-local address keeps it.
    public func inZone(_ zone: UInt32) -> IPAddress {
        family == .ipv6 ? IPAddress(ipv6: high, low, zone: zone) : self
    }

    /// `127.0.0.0/8` or `::1`.
    public var isLoopback: Bool {
        family == .ipv4 ? low >> 24 == 127 : high == 0 && low == 1
    }

    /// `169.254.0.0/16` (RFC 3927) or `fe80::/10` (RFC 4291).
    public var isLinkLocal: Bool {
        family == .ipv4 ? low >> 16 == 0xA9FE : Self.isLinkLocal(high)
    }

    private static func isLinkLocal(_ high: UInt64) -> Bool { high >> 54 == 0x3FA }

    /// `0.0.0.0` or `::`.
    public var isUnspecified: Bool { high == 0 && low == 0 }

    /// An address that only a network's own hosts know: `10.0.0.0/8`, `172.16.0.0/12`, `192.168.0.0/16` (RFC 1918),
    /// `100.64.0.0/10` (RFC 6598), `fc00::/7` (RFC 4193), and those that are link-local.
    public var isPrivate: Bool {
        guard family == .ipv4 else { return high >> 57 == 0x7E || isLinkLocal }
        return low >> 24 == 10 || low >> 20 == 0xAC1 || low >> 16 == 0xC0A8 || low >> 22 == 0x191
            || isLinkLocal
    }

    /// `224.0.0.0/4`, `255.255.255.255` or `ff00::/8`: no one host's.
    public var isMulticast: Bool {
        family == .ipv4 ? low >> 28 == 0xE || low == 0xFFFF_FFFF : high >> 56 == 0xFF
    }

    /// What connect(2) makes of an address: an IPv4-mapped one is IPv4, and an unspecified one this machine.
    public var asDestination: IPAddress {
        let address = unmapped
        guard address.isUnspecified else { return address }
        return address.family == .ipv4 ? IPAddress(ipv4: 0x7F00_0001) : IPAddress(ipv6: 0, 1)
    }

    /// The IPv4 address inside an IPv4-mapped one (`::ffff:0:0/96`), or the address itself.
    public var unmapped: IPAddress {
        family == .ipv6 && high == 0 && low >> 32 == 0xFFFF
            ? IPAddress(ipv4: UInt32(truncatingIfNeeded: low)) : self
    }
}

/// An address and a port.
public struct IPEndpoint: Sendable, Hashable {
    /// The address, with its zone where it is a link-local one.
    public var address: IPAddress
    /// The port, in this machine's byte order.
    public var port: UInt16

    /// An endpoint of these parts.
    public init(_ address: IPAddress, port: UInt16) {
        self.address = address
        self.port = port
    }

    /// The endpoint as an IPv4 one where a dual-stack socket shows it as IPv4-mapped.
    public var unmapped: IPEndpoint { IPEndpoint(address.unmapped, port: port) }
}
