/// By what a transfer is told from single requests, and its end from a pause.
struct TransferTuning {
    /// Bytes that come in within a time, above which it is a bulk transfer …
    var step: UInt64 = 32 * 1024
    /// … that time …
    var time = Duration.milliseconds(250)
    /// … and for how many of those it is remembered.
    var memory = 4
    /// Outstanding bytes above which it is one.
    var outstanding: UInt64 = 64 * 1024
    /// How long after the last bytes that came in it has ended: no sender pauses for so long …
    var pause = Duration.seconds(1)
    /// … but where the path is slow: there it has after so many round trips, and this at the latest. (A timer repeats within that
    /// what got lost: so only then the sender is shown another way.)
    var trips = 3
    var longestPause = Duration.seconds(10)
}
