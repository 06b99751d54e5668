/// What a `Handoff` and the peer's word before it (`StandbyProbe`) are tuned by.
struct HandoffTuning {
    /// Bytes in the first steps of a new congestion window, 10 and 20 full segments.
    var firstWindows = 30 * 1448.0
    /// The kernel probes no subflow that was heard sooner (TCP_KEEPIDLE).
    var keepaliveIdle = Duration.seconds(1)
    /// When nothing has come for so long, it was the last of a transfer.
    var dryTime = Duration.milliseconds(8)
    /// A round trip and a quarter, and so much more, is waited for.
    var allowance = Ratio(5, 4)
    var margin = Duration.milliseconds(10)
    /// The peer is asked so much later than the last that is on its way arrives by all that is known …
    var askMargin = Duration.milliseconds(4)
    /// … and no later than this.
    var longestAskPause = Duration.milliseconds(60)
    /// And never longer: whatever else waits is not to feel it.
    var longest = Duration.milliseconds(300)
    /// What a peer's worker takes, on a busy machine, to give up a subflow that it was told to.
    var peerTime = Duration.milliseconds(20)
    /// Between samples meanwhile, at the least.
    var look = Duration.milliseconds(2)
}
