/// What heartbeats are tuned by: each duration, ratio and count with its reason.
package struct HeartbeatTuning: Sendable, Hashable {
    /// The first interval on a network of which nothing is known: the shortest memory that is met in the field is that of
    /// carrier-grade translators, 30 to 60 s.
    package var firstInterval = Duration.seconds(30)
    /// No interval is longer: a dead peer is to be known before a person looks.
    package var longestInterval = Duration.seconds(600)
    /// No interval is shorter: below it a radio never sleeps, and a network that forgets so soon is of no use to an idle
    /// connection.
    package var shortestInterval = Duration.seconds(10)
    /// How much longer the next silence is that is tried while none has been too long.
    package var growth = 2
    /// The search ends where the longest silence that was survived is this share of the shortest that was not: what is left to
    /// win is not worth another connection.
    package var enough = 0.8
    /// How much earlier than its interval a heartbeat may be sent, as a share of it, so that it goes together with others.
    package var slack = 0.1
    /// When the kernel says how long ago the last byte came, so much is the inaccuracy of its clock's ticks and of the two
    /// readings' distance, and no new byte.
    package var readingError = Duration.milliseconds(20)
    /// After so many losses in a row within a silence that was survived before, that is not believed any more. One may be the
    /// peer's own end.
    package var lossesBeforeSuspicion = 2
    /// An answer is awaited for so many round trips.
    package var answerTrips = 3
    /// And for so long at least: a retransmission has its time-out, and a radio takes its time to wake.
    package var leastPatience = Duration.seconds(1)
    /// And for so long at most.
    package var mostPatience = Duration.seconds(15)
    /// What a round trip is taken for before one was measured.
    package var unknownRoundTrip = Duration.seconds(1)
    /// A round trip's weight in the average of them (RFC 6298 section 2).
    package var roundTripGain = 8

    package init() {}

    /// What every process uses.
    package static let standard = HeartbeatTuning()

    /// How long an answer is awaited.
    func patience(_ roundTrip: Duration?) -> Duration {
        min(max((roundTrip ?? unknownRoundTrip) * answerTrips, leastPatience), mostPatience)
    }
}
