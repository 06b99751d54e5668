extension [UInt8] {
    /// The bytes with one to four of them changed, or cut there once in five times.
    public func damaged(_ random: inout SplitMix64) -> [UInt8] {
        var bytes = self
        for _ in 0..<(1 + random.next() % 4) where !bytes.isEmpty {
            let place = Int(random.next() % UInt64(bytes.count))
            if random.oneIn(5) {
                bytes.removeSubrange(place...)
            } else {
                bytes[place] = UInt8(truncatingIfNeeded: random.next())
            }
        }
        return bytes
    }
}
