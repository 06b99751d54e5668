// Durations are coded as milliseconds, a number whose key says so: "duration_ms": 21.5. It is a Double, which
// holds every nanosecond of three weeks; of longer durations the last digits are lost.

extension KeyedEncodingContainer {
    /// Writes a duration, to the nanosecond.
    package mutating func encode(milliseconds duration: Duration, forKey key: Key) throws {
        try encode(duration.inMilliseconds, forKey: key)
    }

    /// Writes a duration, or null.
    package mutating func encode(milliseconds duration: Duration?, forKey key: Key) throws {
        try encode(duration?.inMilliseconds, forKey: key)
    }
}

extension KeyedDecodingContainer {
    package func decode(millisecondsForKey key: Key) throws -> Duration {
        guard let duration = Duration(inMilliseconds: try decode(Double.self, forKey: key)) else {
            throw DecodingError.dataCorruptedError(
                forKey: key, in: self, debugDescription: "no duration is as long")
        }
        return duration
    }

    /// Reads a duration; nil where there is none, or null.
    package func decodeIfPresent(millisecondsForKey key: Key) throws -> Duration? {
        guard contains(key), try !decodeNil(forKey: key) else { return nil }
        return try decode(millisecondsForKey: key)
    }
}

extension Duration {
    /// A number of milliseconds, to the nearest nanosecond; nil for one that 64 bits of those can't hold.
    fileprivate init?(inMilliseconds milliseconds: Double) {
        guard let nanoseconds = Int64(exactly: (milliseconds * 1e6).rounded()) else { return nil }
        self = .nanoseconds(nanoseconds)
    }
}
