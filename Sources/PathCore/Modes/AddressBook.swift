/// Numbers a connection's local addresses (RFC 8684 section 3.2): 0 is the first subflow's, the others get the
/// next free one and keep it. The kernel refuses another id for a known address, and another address for a
/// known id.
struct AddressBook: Sendable {
    private var ids: [(address: IPAddress, id: UInt8)]

    init(first: IPAddress) { ids = [(first, 0)] }

    /// - Parameter isUsed: whether an address has subflows; when all ids are taken, one that has none loses its.
    mutating func id(of address: IPAddress, isUsed: (IPAddress) -> Bool) -> UInt8? {
        if let known = ids.first(where: { $0.address == address }) { return known.id }
        let taken = Set(ids.map(\.id))
        if let free = (1...UInt8.max).first(where: { !taken.contains($0) }) {
            ids.append((address, free))
            return free
        }
        guard let idle = ids.firstIndex(where: { $0.id != 0 && !isUsed($0.address) }) else { return nil }
        let id = ids.remove(at: idle).id
        ids.append((address, id))
        return id
    }
}
