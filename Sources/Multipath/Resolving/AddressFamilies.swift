// Sets of address families. There are four, and to make one costs as much as to connect a socket.

extension Set<IPAddress.Family> {
    static let both: Set = [.ipv4, .ipv6]
    fileprivate static let ipv4: Set = [.ipv4]
    fileprivate static let ipv6: Set = [.ipv6]
}

extension [IPAddress] {
    /// The families of these addresses.
    var families: Set<IPAddress.Family> {
        switch (contains { $0.family == .ipv4 }, contains { $0.family == .ipv6 }) {
        case (true, true): .both
        case (true, false): .ipv4
        case (false, true): .ipv6
        case (false, false): []
        }
    }
}
