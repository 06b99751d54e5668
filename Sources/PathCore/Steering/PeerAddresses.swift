// Where a connection's subflows may lead. The peer says where else it can be reached (ADD_ADDR, RFC 8684 section 3.4.1), and
// the peer may be an enemy: what it announces makes this machine connect there.

/// The peer's addresses: the one that was connected to, others that its name has, and those it announced.
struct PeerAddresses: Sendable {
    private let first: IPEndpoint
    private let named: [IPEndpoint]
    private var announced: [(id: UInt8, endpoint: IPEndpoint)] = []
    /// The peer takes no further subflow at the address that was connected to (the C flag, RFC 8684 section 3.1).
    private var deniesFirst = false
    /// Where subflows may lead, the most preferred first.
    private(set) var endpoints: [IPEndpoint]

    init(_ first: IPEndpoint, others: [IPEndpoint]) {
        self.first = first
        named = others.filter { $0 != first }
        endpoints = [first] + named
    }

    /// - Returns: whether that changes anything.
    mutating func denyFirst() -> Bool {
        guard !deniesFirst else { return false }
        deniesFirst = true
        return update()
    }

    /// The peer announced an address.
    ///
    /// - Parameter isOwn: whether an address is one of this machine's.
    /// - Returns: whether that changes anything.
    mutating func announce(
        _ id: UInt8, _ endpoint: IPEndpoint, isOwn: (IPAddress) -> Bool, _ tuning: SteeringTuning
    ) -> Bool {
        guard mayLead(to: endpoint.address), !isOwn(endpoint.address) else { return false }
        if let place = announced.firstIndex(where: { $0.id == id }) {
            guard announced[place].endpoint != endpoint else { return false }
            announced[place].endpoint = endpoint
        } else {
            guard announced.count < tuning.mostAnnounced else { return false }
            announced.append((id, endpoint))
        }
        return update()
    }

    /// The peer took an address back (RM_ADDR).
    ///
    /// - Returns: whether that changes anything.
    mutating func withdraw(_ id: UInt8) -> Bool {
        guard let place = announced.firstIndex(where: { $0.id == id }) else { return false }
        announced.remove(at: place)
        return update()
    }

    /// A peer on the Internet knows nothing of the networks that this machine is in, and none has business with this machine.
    private func mayLead(to address: IPAddress) -> Bool {
        if address.isUnspecified || address.isMulticast { return false }
        // What a translator makes of it leads into its own network.
        if let inner = address.embeddedIPv4, inner.isLoopback || !mayLead(to: inner) { return false }
        if address.isLoopback { return first.address.isLoopback }
        return !address.isPrivate || first.address.isPrivate || first.address.isLoopback
    }

    private mutating func update() -> Bool {
        var all = deniesFirst ? [] : [first]
        for endpoint in named + announced.map(\.endpoint) where !all.contains(endpoint) {
            if !deniesFirst || endpoint != first { all.append(endpoint) }
        }
        defer { endpoints = all }
        return all != endpoints
    }
}
