import PathCore

/// The bytes the services send: the same for the same seed, and known at every offset without those before.
public enum SourceData {
    /// The seed where no other is asked for.
    public static let defaultSeed: UInt64 = 1

    /// Fills a buffer with the stream's bytes from an offset on.
    public static func fill(_ buffer: UnsafeMutableRawBufferPointer, from offset: UInt64, seed: UInt64) {
        var place = 0
        while place < buffer.count {
            let position = offset + UInt64(place)
            let word = word(position / 8, seed)
            let skipped = Int(position % 8)
            if skipped == 0, place + 8 <= buffer.count {
                buffer.storeBytes(of: word.littleEndian, toByteOffset: place, as: UInt64.self)
                place += 8
            } else {
                buffer[place] = UInt8(truncatingIfNeeded: word >> UInt64(8 * skipped))
                place += 1
            }
        }
    }

    /// The SHA-256 of the stream's first bytes.
    public static func digest(count: Int, seed: UInt64 = defaultSeed) -> String {
        var hash = SHA256()
        var buffer = [UInt8](repeating: 0, count: 64 * 1024)
        var done = 0
        while done < count {
            let part = min(buffer.count, count - done)
            buffer.withUnsafeMutableBytes { bytes in
                let bytes = UnsafeMutableRawBufferPointer(rebasing: bytes.prefix(part))
                fill(bytes, from: UInt64(done), seed: seed)
                hash.update(UnsafeRawBufferPointer(bytes))
            }
            done += part
        }
        return hash.hexDigest()
    }

    private static func word(_ position: UInt64, _ seed: UInt64) -> UInt64 {
        var random = SeededRandom(seed: seed, stream: position)
        return random.next()
    }
}
