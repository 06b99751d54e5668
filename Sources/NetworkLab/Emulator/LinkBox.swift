import PathCore

/// The box at a link's far end: it looks into each packet, changes it or drops it.
struct LinkBox: Sendable {
    private var middlebox = LinkConditions.Middlebox.none
    private var timeout: Duration?
    private var nat: Nat

    init(natAddress: UInt32) { nat = Nat(address: natAddress) }

    /// Whether packets have to be shown to it.
    var isActive: Bool { middlebox != .none || timeout != nil }

    mutating func change(_ conditions: LinkConditions) {
        middlebox = conditions.middlebox
        if conditions.natTimeout == nil { nat.forget() }
        timeout = conditions.natTimeout
    }

    mutating func forget() { nat.forget() }

    /// - Returns: whether the packet, as it is now, may pass.
    mutating func passes(
        _ frame: UnsafeMutableRawBufferPointer, _ side: LinkSide, at now: MonotonicTime
    ) -> Bool {
        guard let packet = PacketBytes(frame) else { return true }
        if side == .down, let timeout, !nat.receive(packet, timeout: timeout, at: now) { return false }
        switch middlebox {
        case .none: break
        case .strip: packet.stripMPTCP()
        case .drop: if packet.isSYN, packet.carriesMPTCP { return false }
        case .blockJoins: if packet.isSYN, packet.joinsMPTCP { return false }
        }
        if side == .up, let timeout, !nat.send(packet, timeout: timeout, at: now) { return false }
        return true
    }
}
