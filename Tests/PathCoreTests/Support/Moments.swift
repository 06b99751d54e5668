import PathCore

/// A time by a clock that began with the test.
func at(_ milliseconds: some BinaryInteger) -> MonotonicTime {
    MonotonicTime(nanoseconds: Int64(milliseconds) * 1_000_000)
}
