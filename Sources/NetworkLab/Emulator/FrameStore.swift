/// Memory for the frames that are under way, in slots of one size. It grows and is used again.
struct FrameStore: ~Copyable {
    static let slotSize = 2048
    /// 128 MiB: enough for a gigabit over a second.
    static let capacity: UInt32 = 65_536

    private var slabs: [UnsafeMutableRawPointer] = []
    private var free: [UInt32] = []
    private var lengths: [UInt16] = []
    private static let slabSlots = 256

    init() {}

    deinit { for slab in slabs { slab.deallocate() } }

    /// Keeps a copy of a frame.
    /// - Returns: its slot; nil where all are taken.
    mutating func store(_ frame: UnsafeRawBufferPointer) -> UInt32? {
        guard frame.count <= Self.slotSize else { return nil }
        if free.isEmpty { guard grow() else { return nil } }
        let slot = free.removeLast()
        lengths[Int(slot)] = UInt16(frame.count)
        self[slot].copyMemory(from: frame)
        return slot
    }

    mutating func release(_ slot: UInt32) { free.append(slot) }

    subscript(slot: UInt32) -> UnsafeMutableRawBufferPointer {
        let slab = slabs[Int(slot) / Self.slabSlots]
        return UnsafeMutableRawBufferPointer(
            start: slab + Int(slot) % Self.slabSlots * Self.slotSize, count: Int(lengths[Int(slot)]))
    }

    private mutating func grow() -> Bool {
        let first = UInt32(lengths.count)
        guard first < Self.capacity else { return false }
        slabs.append(.allocate(byteCount: Self.slabSlots * Self.slotSize, alignment: 64))
        lengths.append(contentsOf: repeatElement(0, count: Self.slabSlots))
        free.append(contentsOf: (first..<first + UInt32(Self.slabSlots)).reversed())
        return true
    }
}
