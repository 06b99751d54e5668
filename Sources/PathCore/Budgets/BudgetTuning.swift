/// What budgets are tuned by: each number with its reason.
package struct BudgetTuning: Sendable, Hashable {
    /// The least that is booked at once, in bytes: a booking writes a file.
    package var piece: UInt64 = 64 * 1024
    /// The most that is booked at once: what a killed process has booked is lost for its period.
    package var largestPiece: UInt64 = 4 * 1024 * 1024
    /// Bytes are booked for so long ahead.
    package var ahead = Duration.seconds(1)
    /// What is still on its way when a budget is found spent is what comes in this time: the next look, the way of the order,
    /// a round trip.
    package var tail = Duration.milliseconds(60)
    /// No more is kept for that: 50 Mbit/s for that time.
    package var largestTail: UInt64 = 384 * 1024
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
