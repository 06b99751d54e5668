/// What `InteractivePolicy` is tuned by.
struct InteractiveTuning {
    /// How long another path must have been faster before data moves; each move that is taken back doubles it …
    var contenderPatience = Duration.milliseconds(100)
    /// … so often at most.
    var mostReluctance = 3
    /// A move back within this shows that the one before was for nothing.
    var regret = Duration.seconds(3)
    /// A quiet time of so many of those forgets it.
    var regretMemory = 4
    /// How much faster it must be: so many times, and by so much.
    var latencyMargin = 1.25
    var leastLatencyGain = Duration.milliseconds(5)
    /// What counts for a path that was never measured.
    var unknownLatency = Duration.seconds(1)
    /// A path that stalls is left for one that takes a share (1 / this) of the stall.
    var stallShare = 2
    var leastStallLook = Duration.milliseconds(1)
}
