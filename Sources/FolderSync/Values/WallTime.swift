import Glibc

/// The clock on the wall, which may be set at any time: only good for what does no harm when it is wrong.
enum WallTime {
    /// Seconds since 1970.
    static var now: Int64 {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return Int64(time.tv_sec)
    }
}
