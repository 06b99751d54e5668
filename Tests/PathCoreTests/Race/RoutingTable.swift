import PathCore

/// Answers as the kernel does to RTM_GETROUTE with RTM_F_FIB_MATCH: the longest prefix, and of equals the
/// first; bound to an interface, only its own routes count.
struct RoutingTable {
    var routes: [(network: String, interface: InterfaceIndex)]
    /// This machine's own addresses.
    var local: Set<IPAddress> = []

    init(_ routes: [(String, InterfaceIndex)], local: Set<IPAddress> = []) {
        self.routes = routes.map { (network: $0.0, interface: $0.1) }
        self.local = local
    }

    func answer(to address: IPAddress, on interface: InterfaceIndex?) -> RouteAnswer {
        if local.contains(address), interface == nil { return .local(1) }
        var best: (interface: InterfaceIndex, length: UInt8)?
        for route in routes where interface == nil || interface == route.interface {
            let network = InterfaceAddress(route.network)
            guard network.contains(address), network.prefixLength > best?.length ?? 0 || best == nil else {
                continue
            }
            best = (route.interface, network.prefixLength)
        }
        return best.map { .via($0.interface, prefixLength: $0.length) }
            ?? .unreachable("Network is unreachable")
    }
}

extension InterfaceAddress {
    fileprivate func contains(_ other: IPAddress) -> Bool {
        func bits(_ address: IPAddress) -> [UInt8] {
            address.networkBytes.flatMap { byte in (0..<8).map { byte >> (7 - $0) & 1 } }
        }
        return address.family == other.family
            && bits(address).prefix(Int(prefixLength)) == bits(other).prefix(Int(prefixLength))
    }
}
