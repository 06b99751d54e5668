/// The hash of FIPS 180-4, over bytes as they come.
public struct SHA256: Sendable {
    private var state: (UInt32, UInt32, UInt32, UInt32, UInt32, UInt32, UInt32, UInt32) = (
        0x6A09_E667, 0xBB67_AE85, 0x3C6E_F372, 0xA54F_F53A, 0x510E_527F, 0x9B05_688C, 0x1F83_D9AB,
        0x5BE0_CD19
    )
    private var pending: [UInt8] = []
    private var count: UInt64 = 0

    /// The hash of no bytes yet.
    public init() {}

    /// Takes further bytes in.
    public mutating func update(_ bytes: UnsafeRawBufferPointer) {
        count += UInt64(bytes.count)
        var rest = bytes
        if !pending.isEmpty {
            let taken = min(64 - pending.count, rest.count)
            pending.append(contentsOf: rest.prefix(taken))
            rest = UnsafeRawBufferPointer(rebasing: rest.dropFirst(taken))
            guard pending.count == 64 else { return }
            let block = pending
            block.withUnsafeBytes { compress($0) }
            pending.removeAll(keepingCapacity: true)
        }
        let whole = rest.count & ~63
        compress(UnsafeRawBufferPointer(rebasing: rest.prefix(whole)))
        pending.append(contentsOf: rest.dropFirst(whole))
    }

    /// The hash of all that was given, in hexadecimal.
    public func hexDigest() -> String {
        var copy = self
        let bits = count &* 8
        let zeros = (119 - pending.count % 64) % 64
        var tail: [UInt8] = [0x80] + Array(repeating: 0, count: zeros)
        for shift in stride(from: UInt64(56), through: 0, by: -8) {
            tail.append(UInt8(truncatingIfNeeded: bits >> shift))
        }
        tail.withUnsafeBytes { copy.update($0) }
        let words = [
            copy.state.0, copy.state.1, copy.state.2, copy.state.3, copy.state.4, copy.state.5, copy.state.6,
            copy.state.7,
        ]
        return words.map { word in
            let text = String(word, radix: 16)
            return String(repeating: "0", count: 8 - text.count) + text
        }.joined()
    }

    private mutating func compress(_ blocks: UnsafeRawBufferPointer) {
        withUnsafeTemporaryAllocation(of: UInt32.self, capacity: 64) { w in
            Self.constants.withUnsafeBufferPointer { k in
                var offset = 0
                while offset < blocks.count {
                    var t = 0
                    while t < 16 {
                        w[t] = UInt32(
                            bigEndian: blocks.loadUnaligned(fromByteOffset: offset + 4 * t, as: UInt32.self))
                        t += 1
                    }
                    while t < 64 {
                        let (x, y) = (w[t - 15], w[t - 2])
                        let s0 = (x >> 7 | x << 25) ^ (x >> 18 | x << 14) ^ (x >> 3)
                        let s1 = (y >> 17 | y << 15) ^ (y >> 19 | y << 13) ^ (y >> 10)
                        w[t] = w[t - 16] &+ s0 &+ w[t - 7] &+ s1
                        t += 1
                    }
                    var (a, b, c, d, e, f, g, h) = state
                    t = 0
                    while t < 64 {
                        let s1 = (e >> 6 | e << 26) ^ (e >> 11 | e << 21) ^ (e >> 25 | e << 7)
                        let t1 = h &+ s1 &+ ((e & f) ^ (~e & g)) &+ k[t] &+ w[t]
                        let s0 = (a >> 2 | a << 30) ^ (a >> 13 | a << 19) ^ (a >> 22 | a << 10)
                        let t2 = s0 &+ ((a & b) ^ (a & c) ^ (b & c))
                        (h, g, f, e, d, c, b, a) = (g, f, e, d &+ t1, c, b, a, t1 &+ t2)
                        t += 1
                    }
                    state = (
                        state.0 &+ a, state.1 &+ b, state.2 &+ c, state.3 &+ d, state.4 &+ e, state.5 &+ f,
                        state.6 &+ g, state.7 &+ h
                    )
                    offset += 64
                }
            }
        }
    }

    /// The fractional parts of the cube roots of the first 64 primes (FIPS 180-4 section 4.2.2), computed: it
    /// is shorter than the table, and can't have a typo.
    private static let constants: [UInt32] = {
        var primes: [UInt64] = []
        var candidate: UInt64 = 2
        while primes.count < 64 {
            if !primes.contains(where: { candidate % $0 == 0 }) { primes.append(candidate) }
            candidate += 1
        }
        // The largest x with x³ ≤ prime · 2⁹⁶: the root times 2³², whose lower 32 bits are the fraction.
        return primes.map { prime in
            var (low, high): (UInt64, UInt64) = (0, 8 << 32)
            while high - low > 1 {
                let middle = (low + high) / 2
                if isCube(of: middle, atMost: prime) { low = middle } else { high = middle }
            }
            return UInt32(truncatingIfNeeded: low)
        }
    }()

    private static func isCube(of root: UInt64, atMost prime: UInt64) -> Bool {
        // 106 bits at most, in three words of 64.
        let (squareHigh, squareLow) = root.multipliedFullWidth(by: root)
        let (lowHigh, lowLow) = squareLow.multipliedFullWidth(by: root)
        let (middle, carry) = (squareHigh &* root).addingReportingOverflow(lowHigh)
        _ = lowLow
        return !carry && middle < prime << 32 || (!carry && middle == prime << 32 && lowLow == 0)
    }
}
