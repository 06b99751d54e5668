/// What a `ReserveSubflow` is tuned by.
struct ReserveTuning {
    /// Between two reserve subflows: one that was given up was in the way.
    var pause = Duration.seconds(10)
    /// Until a subflow is so old it starts, and its stream has pauses of its own.
    var age = Duration.milliseconds(500)
    /// A path that is failed or lost waits no longer for the reserve than until that was ordered so long ago.
    var longestJoin = Duration.milliseconds(150)
}
