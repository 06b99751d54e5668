/// What budgets are tuned by: each number with its reason.
package struct BudgetTuning: Sendable, Hashable {
    /// The least that is booked at once, in bytes: a booking writes a file.
    package var piece: UInt64 = 64 * 1024
    /// The most that is booked at once: what a killed process has booked is lost for its period.
    package var largestPiece: UInt64 = 4 * 1024 * 1024
    /// Bytes are booked for so long ahead.
    package var ahead = Duration.seconds(1)
    /// What is still used when a budget is found spent: until the next look, and until the order to leave its paths is given. A
    /// round trip comes on top, because what is on its way then comes in, too.
    package var tail = Duration.milliseconds(20)
    /// A look that comes later than this was not planned: nothing moved before.
    package var longestLateness = Duration.milliseconds(150)
    /// A receiver's estimate of the round trip has the sender's pauses in it, and is believed only so far.
    package var longestRoundTrip = Duration.milliseconds(250)
    /// A share (1 / this) of a budget is the most that is kept for that.
    package var tailShare: UInt64 = 2
    /// Over how long the rate is measured at least.
    package var rateTime = Duration.milliseconds(30)
    /// Of a budget so small a share (1 / this) is as good as nothing: below it it counts as spent.
    package var restShare: UInt64 = 64
    /// How often what connections have carried is looked at, at most, and at least while data moves.
    package var shortestLook = Duration.milliseconds(5)
    package var longestLook = Duration.milliseconds(250)
    /// How often where nothing moves, of connections whose users don't say when they send and receive: at first, and each time
    /// half as often, up to the second. Those that say it are not looked at before they do.
    package var idleLook = Duration.milliseconds(100)
    package var longestIdleLook = Duration.seconds(10)
    /// How fast an unknown connection may be, in bytes a second: 100 Mbit/s.
    package var assumedRate: UInt64 = 12_500_000
    /// The first look after which nothing is left comes after a share (1 / this) of the time that takes.
    package var lookShare: UInt64 = 4
    /// How long a process keeps what it has booked when none of its connections uses it any more.
    package var keeping = Duration.seconds(2)
    /// How often a spent budget's period is looked at: the clock may be set.
    package var clockLook = Duration.seconds(60)

    /// How long a connection waits to know what is spent: the state folder's disk may not answer.
    package var patience = Duration.seconds(1)

    package init() {}

    package static let standard = BudgetTuning()
}
