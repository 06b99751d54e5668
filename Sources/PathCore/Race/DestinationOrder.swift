// Which of a name's addresses is tried first over one path (RFC 6724 section 6).
//
// The system's resolver sorts too, but for the route the kernel would choose by itself. A race asks over
// every path, and each has source addresses of its own: so the order is worked out for each of them. What earlier
// connections found out stands where the RFCs put it: an address that is known to be dead is unusable (rule 1), and the one
// with the lower round trip is preferred between rules 8 and 9 (RFC 8305 section 4).
// Rule 4 (home addresses) does not apply: Linux hosts have no mobile IPv6. Rule 10 is that the sort is stable.

/// Sorts destinations by RFC 6724, given the source addresses of one path.
public struct DestinationOrder: Sendable {
    private let sources: [InterfaceAddress]

    /// - Parameter sources: the path's own addresses.
    public init(sources: [InterfaceAddress]) {
        self.sources = sources
    }

    /// The destinations, the best first. Equal ones keep their order.
    public func sorted(_ destinations: [IPAddress]) -> [IPAddress] {
        sorted(destinations) { _ in .unknown }
    }

    /// The same with what is known of each address.
    package func sorted(
        _ destinations: [IPAddress], standing: (IPAddress) -> AddressHistory.Standing
    ) -> [IPAddress] {
        guard destinations.count > 1 else { return destinations }
        // A name has a few: those are sorted by insertion, which keeps the order of equal ones.
        var sorted: [(address: IPAddress, key: UInt64)] = []
        sorted.reserveCapacity(destinations.count)
        for address in destinations {
            let ranked = (address: address, key: key(of: address, standing(address)))
            let place = (sorted.lastIndex { $0.key <= ranked.key } ?? -1) + 1
            if place == sorted.count { sorted.append(ranked) } else { sorted.insert(ranked, at: place) }
        }
        return sorted.map(\.address)
    }

    /// What it sorts by; the lower comes first.
    private func key(of destination: IPAddress, _ standing: AddressHistory.Standing) -> UInt64 {
        var key = SortKey()
        guard let source = source(for: destination) else {
            key.add(1, below: 2)
            return key.filled
        }
        let policy = AddressPolicy(destination)
        key.add(0, below: 2)  // rule 1: avoid unusable destinations
        key.prefer(standing != .bad)  // rule 1, too: one that is known to be
        key.prefer(source.address.scope == destination.scope)  // rule 2: prefer matching scope
        key.prefer(source.state != .deprecated)  // rule 3: avoid deprecated addresses
        key.prefer(AddressPolicy(source.address).label == policy.label)  // rule 5: prefer matching label
        key.add(100 - policy.precedence, below: 128)  // rule 6: prefer higher precedence
        key.prefer(!policy.isEncapsulated)  // rule 7: prefer native transport
        key.add(destination.scope.rawValue, below: 16)  // rule 8: prefer smaller scope
        // RFC 8305 section 4: prefer lower round trips, then used addresses.
        key.add(standing.rank, below: 16)
        // Rule 9, longest matching prefix, as far as the source's own network (RFC 6724 leaves IPv4 out: there
        // the longer match says nothing about the distance).
        let common = destination.family == .ipv6 ? min(commonBits(source.address, destination), 64) : 0
        key.add(64 - common, below: 128)
        return key.filled
    }

    /// The source the kernel would take (RFC 6724 section 5, rules 2, 3, 6 and 8; the others need what a
    /// path does not tell).
    private func source(for destination: IPAddress) -> InterfaceAddress? {
        var best: (source: InterfaceAddress, key: UInt64)?
        for source in sources
        where source.address.family == destination.family && source.state != .tentative {
            let key = sourceKey(source, destination)
            if best.map({ key < $0.key }) ?? true { best = (source, key) }
        }
        return best?.source
    }

    private func sourceKey(_ source: InterfaceAddress, _ destination: IPAddress) -> UInt64 {
        let (scope, wanted) = (source.address.scope.rawValue, destination.scope.rawValue)
        var key = SortKey()
        key.prefer(source.address == destination)
        // The smallest scope that is wide enough; else the widest there is.
        key.add(scope < wanted ? 63 - scope : scope, below: 64)
        key.prefer(source.state != .deprecated)
        key.prefer(AddressPolicy(source.address).label == AddressPolicy(destination).label)
        key.prefer(source.isTemporary)
        key.add(128 - commonBits(source.address, destination), below: 256)
        return key.filled
    }

    /// The answers to a list of rules as one number: the earlier rule's in the higher bits.
    private struct SortKey {
        private var bits: UInt64 = 0
        private var free = UInt64.bitWidth

        /// The key; what no rule was asked about is 0.
        var filled: UInt64 { bits << free }

        /// - Parameter limit: a power of two above every answer that the rule can give.
        mutating func add(_ answer: Int, below limit: Int) {
            free -= limit.trailingZeroBitCount
            bits = bits << limit.trailingZeroBitCount | UInt64(answer)
        }

        mutating func prefer(_ holds: Bool) { add(holds ? 0 : 1, below: 2) }
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

extension AddressHistory.Standing {
    /// 0 for the shortest round trips, 15 where none is known. Only one that is about half as long counts as shorter:
    /// measurements differ by less.
    fileprivate var rank: Int {
        guard case .good(let rtt) = self else { return 15 }
        guard let rtt else { return 14 }
        let milliseconds = rtt.wholeNanoseconds / 1_000_000
        return min(Int64.bitWidth - milliseconds.leadingZeroBitCount, 14)
    }
}
