// Which of a name's addresses is tried first over one path (RFC 6724 section 6).
//
// The system's resolver sorts too, but for the route the kernel would choose by itself. A race asks over
// every path, and each has source addresses of its own: so the order is worked out for each of them.
// Rule 4 (home addresses) does not apply: nobody has mobile IPv6. Rule 10 is that the sort is stable.

/// Sorts destinations by RFC 6724, given the source addresses of one path.
public struct DestinationOrder: Sendable {
    private let sources: [InterfaceAddress]

    /// - Parameter sources: the path's own addresses.
    public init(sources: [InterfaceAddress]) {
        self.sources = sources.filter { $0.state != .tentative }
    }

    /// The destinations, the best first. Equal ones keep their order.
    public func sorted(_ destinations: [IPAddress]) -> [IPAddress] {
        let ranked = destinations.enumerated().map { position, address in
            (address: address, key: key(of: address) + [position])
        }
        return ranked.sorted { $0.key.lexicographicallyPrecedes($1.key) }.map(\.address)
    }

    /// What it sorts by, in the order of the rules; the lower comes first.
    private func key(of destination: IPAddress) -> [Int] {
        guard let source = source(for: destination) else { return [1] }
        let policy = AddressPolicy(destination)
        return [
            0,  // rule 1: avoid unusable destinations
            source.address.scope == destination.scope ? 0 : 1,  // rule 2: prefer matching scope
            source.state == .deprecated ? 1 : 0,  // rule 3: avoid deprecated addresses
            AddressPolicy(source.address).label == policy.label ? 0 : 1,  // rule 5: prefer matching label
            -policy.precedence,  // rule 6: prefer higher precedence
            policy.isEncapsulated ? 1 : 0,  // rule 7: prefer native transport
            destination.scope.rawValue,  // rule 8: prefer smaller scope
            // Rule 9, longest matching prefix, as far as the source's own network (RFC 6724 leaves IPv4 out:
            // there the longer match says nothing about the distance).
            destination.family == .ipv6 ? -min(commonBits(source.address, destination), 64) : 0,
        ]
    }

    /// The source the kernel would take (RFC 6724 section 5, rules 2, 3, 6 and 8; the others need what a
    /// path does not tell).
    private func source(for destination: IPAddress) -> InterfaceAddress? {
        let own = sources.filter { $0.address.family == destination.family }
        return own.min { left, right in
            sourceKey(left, destination).lexicographicallyPrecedes(sourceKey(right, destination))
        }
    }

    private func sourceKey(_ source: InterfaceAddress, _ destination: IPAddress) -> [Int] {
        let (scope, wanted) = (source.address.scope.rawValue, destination.scope.rawValue)
        return [
            source.address == destination ? 0 : 1,
            // The smallest scope that is wide enough; else the widest there is.
            scope < wanted ? 1000 - scope : scope,
            source.state == .deprecated ? 1 : 0,
            AddressPolicy(source.address).label == AddressPolicy(destination).label ? 0 : 1,
            source.isTemporary ? 0 : 1,
            -commonBits(source.address, destination),
        ]
    }

    private func commonBits(_ left: IPAddress, _ right: IPAddress) -> Int {
        let high = (left.high ^ right.high).leadingZeroBitCount
        return high < 64 ? high : 64 + (left.low ^ right.low).leadingZeroBitCount
    }
}

/// A row of the policy table (RFC 6724 section 2.1).
private struct AddressPolicy {
    let precedence: Int
    let label: Int

    init(_ address: IPAddress) {
        let (high, low) = (address.high, address.low)
        switch address.family {
        case .ipv4: (precedence, label) = (35, 4)  // ::ffff:0:0/96
        case .ipv6:
            if high == 0, low == 1 {
                (precedence, label) = (50, 0)  // ::1
            } else if high == 0, low >> 32 == 0xFFFF {
                (precedence, label) = (35, 4)
            } else if high >> 48 == 0x2002 {
                (precedence, label) = (30, 2)  // 6to4
            } else if high >> 32 == 0x2001_0000 {
                (precedence, label) = (5, 5)  // Teredo
            } else if high >> 57 == 0x7E {
                (precedence, label) = (3, 13)  // fc00::/7
            } else if high == 0, low >> 32 == 0 {
                (precedence, label) = (1, 3)  // ::/96
            } else if high >> 54 == 0x3FB {
                (precedence, label) = (1, 11)  // fec0::/10
            } else if high >> 48 == 0x3FFE {
                (precedence, label) = (1, 12)
            } else {
                (precedence, label) = (40, 1)  // ::/0
            }
        }
    }

    /// 6to4 and Teredo put packets into IPv4 packets.
    var isEncapsulated: Bool { label == 2 || label == 5 }
}

extension IPAddress {
    /// RFC 4291's scopes; for IPv4 those of RFC 6724 section 3.2.
    fileprivate enum Scope: Int {
        case linkLocal = 2
        case siteLocal = 5
        case global = 14
    }

    fileprivate var scope: Scope {
        if isLoopback || isLinkLocal { return .linkLocal }
        return family == .ipv6 && high >> 54 == 0x3FB ? .siteLocal : .global
    }
}
