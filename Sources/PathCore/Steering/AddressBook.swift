/// Numbers a connection's local addresses (RFC 8684 section 3.2): 0 is the first subflow's, the others get the
/// next free one and keep it. The kernel refuses another id for a known address, and another address for a
/// known id.
struct AddressBook: Sendable {
    private var ids: [(address: IPAddress, id: UInt8)]
    /// Addresses whose id the kernel knows. It forgets one with any subflow of that address that is destroyed,
    /// even where others are left, and then can't take the address back.
    private var known: Set<IPAddress> = []

    init(first: IPAddress) { ids = [(first, 0)] }

    mutating func made(_ local: SubflowAction.LocalAddress) { known.insert(local.address) }
    mutating func destroyed(_ address: IPAddress) { known.remove(address) }

    /// Whether the kernel would take the address back. The first one's id needs no remembering.
    func canWithdraw(_ local: SubflowAction.LocalAddress) -> Bool {
        local.id == 0 || known.contains(local.address)
    }

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
