// Every duration, ratio and count that steering uses, with its unit and its reason: here, and in the files of its parts
// (HandoffTuning, InteractiveTuning, ReserveTuning, TransferTuning). No other file of this folder holds one: to try another
// value change it here, or pass another tuning to `SteeringMachine.init`.
//
// What is a formula of an RFC, and no choice, stands at the formula (RFC 6298's gains in `ProgressDetector`).

/// What steering is tuned by. An object that all machines share, because every step of theirs is handed it, and it is large.
/// Change one before a machine gets it, and not afterwards.
package final class SteeringTuning: @unchecked Sendable {
    /// What a machine has unless it is given another.
    package static let standard = SteeringTuning()

    package init() {}

    // MARK: Answers

    /// How long an answer takes at most on a subflow that no round trip was measured on: RFC 6298's first timeout is a
    /// second, but a suspicion costs less than a retransmission does.
    var unknownAnswerTime = Duration.milliseconds(250)
    /// The least that RFC 6298's `4·rttvar` counts for: the kernels of both ends run late by that much.
    var leastVariation = Duration.milliseconds(5)
    /// The same for a probe on a subflow that no sample was taken of: its path was joined a moment ago.
    var unknownProbeTime = Duration.milliseconds(100)
    /// How late the kernel sends its repeated SYNs (net.ipv4.tcp_syn_retries; RFC 6298 section 5).
    var synRepetitions: [Duration] = [.zero, .seconds(1), .seconds(3), .seconds(7)]
    /// How much later than its round trip a new subflow is fully established at the peer.
    var confirmationMargin = Duration.milliseconds(2)

    /// A receiver acknowledges a lone segment after 40 ms at the least (TCP_DELACK_MIN), less what clocks and the way back
    /// vary by, and of more than so many at once.
    var leastDelayedAcknowledgement = Duration.milliseconds(30)
    var mostKeptBack: UInt32 = 2

    // MARK: Samples

    /// The least time between two samples of one connection, where its owner says nothing else.
    var leastPace = Duration.milliseconds(2)
    /// When data that moves is looked at where no subflow is established.
    var firstLook = Duration.milliseconds(25)
    /// How often a subflow is looked at whose path has failed, where data waits or is to come.
    var failedPathLook = Duration.milliseconds(200)
    /// How often an idle connection is looked at whose owner does not tell when data moves.
    var idleLook = Duration.seconds(1)
    /// How often another program's connection is looked at, at the most: as soon has a person's click to be noticed.
    var leastIdleLook = Duration.milliseconds(10)
    /// It is looked at after a share (1 / this) of the time since its data moved: an idle one costs next to nothing.
    var idleLookShare = 4
    /// How often while round trips change, in a mode that follows them.
    var closeLook = Duration.milliseconds(50)
    /// For how many times the pace a look at what is outstanding is enough, where all is calm.
    var calmPaces = 200
    /// For how long the port of a subflow that was just ordered is asked for without a pause.
    var portLook = Duration.milliseconds(20)
    /// When a subflow that the kernel does not list any more has ended, though nothing told it.
    var unlistedTimeout = Duration.seconds(1)
    /// Data that is on no subflow yet is looked for after a share (1 / this) of the time since data moved.
    var unsentLookShare = 4
    /// And after so long at the latest.
    var longestUnsentLook = Duration.seconds(1)
    /// For how long after data moved a connection is in use.
    var activeTime = Duration.seconds(1)

    // MARK: Suspicion

    /// Data that waits is looked at again after a share (1 / this) of an answer's time …
    var suspectLookShare = 4
    /// … or of the time it has waited, whichever is longer: what has waited for long may wait a little longer.
    var suspectWaitShare = 8
    /// And not sooner than this.
    var leastSuspectLook = Duration.milliseconds(5)
    /// In a mode that follows latencies an answer may take the path's latency and a quarter.
    var latencyAllowance = Ratio(5, 4)
    /// How much longer than usual false alarms may make a suspicion: on a slow path that is patience enough.
    var longestPatience = Duration.seconds(1)
    /// False alarms that cost nothing; each one more doubles a suspicion's time …
    var freeFalseAlarms = 2
    /// … so often at most.
    var mostPatienceDoublings = 3
    /// After so long without one they are forgotten.
    var falseAlarmMemory = Duration.seconds(10)
    /// For how long a path must answer while its subflow gets nothing through until that is replaced.
    var stuckTime = Duration.milliseconds(500)
    /// Where no probe can be sent: a path has failed after so many answer times …
    var unprobedPatience = 3
    /// … and so much more than one: a lone segment is acknowledged 40 ms later (TCP_DELACK_MIN).
    var leastUnprobedPatience = Duration.milliseconds(50)
    /// Or after this, where the kernel does not even say that it has repeated what waits.
    var unrepeatedPatience = Duration.seconds(1)
    /// At an accepting end: a subflow that another has replaced ends after this, and so many answer times.
    var leastReplacedPatience = Duration.seconds(1)

    // MARK: Gaps

    /// For how long after a path was left a gap in the data may come of that.
    var gapMemory = Duration.seconds(10)
    /// A gap is closed within two round trips of that. One that is there for so many answer times, and for so long, stays.
    var gapAnswers = 4
    var leastGapTime = Duration.milliseconds(300)
    /// How often more room is made.
    var mostGapRepairs = 3

    // MARK: Lateness

    /// A wake-up that comes later than it was asked for by this is late: the rounds of a crowded process take less.
    var lateness = Duration.milliseconds(20)
    /// How often that is an excuse until none has come for so long.
    var mostExcuses = 3
    var excuseMemory = Duration.seconds(5)
    /// By how many times the longest of those a wake-up must be late to be an excuse beyond them.
    var strangeLateness = 4

    // MARK: Silence

    /// Samples in a row with new bytes and nothing sent between that make a stream: an answer to what was sent before
    /// the first may be among them.
    var streamRun = 3
    /// By how much more than two answer times they may be apart.
    var streamPause = Duration.milliseconds(250)
    /// In the middle of a stream silence is strange after this, or after the longest pause that the stream had lately and
    /// half of it. A probe costs little, so it need not be certain.
    var silence = Duration.milliseconds(25)
    var pauseMargin = Ratio(3, 2)
    var pauseMemory = Duration.seconds(5)
    var longestPause = Duration.milliseconds(400)
    /// It is certain after a round trip and a quarter: in its first moments, and when it measures the path (BBR every 10 s),
    /// a sender sends a few segments a round trip.
    var pauseAllowance = Ratio(5, 4)
    /// Where no other path could take over, silence and waiting say nothing before this: nothing would follow from it. (An HTTP
    /// connection says 200 ms after an answer that none is awaited: this and `secondSilence` have to be longer than that.)
    var lonePatience = Duration.milliseconds(250)
    /// How much later the second probe is sent than the first, and when the others: a peer with nothing to say costs four.
    var secondSilence = Duration.milliseconds(250)
    var laterSilences: [Duration] = [.seconds(2), .seconds(20)]
    /// Where the user awaits bytes that are no stream, silence is strange after an answer's time and this; a server may think.
    var awaitedSilence = Duration.milliseconds(100)
    /// A peer that thinks is silent, too, and a radio sleeps meanwhile, or a busy server lets SYNs drop: so many probes, so far
    /// apart, go unanswered before such silence is a path's end, and the last is waited for so long.
    var probesOfAwaited = 3
    var awaitedProbeSpacing = Duration.milliseconds(400)
    var awaitedProbePatience = Duration.milliseconds(250)
    /// What the repair of a lost segment may take longer: what came behind it is counted when it is there.
    var repairTime = Duration.milliseconds(400)
    /// A stream that was heard longer ago has ended.
    var streamMemory = Duration.seconds(10)
    /// When a stream that moved to another subflow is looked for there.
    var movedStreamLook = Duration.milliseconds(25)

    // MARK: Probes

    /// Between two probes: a share (1 / this) of an answer's time, and not less than this.
    var probeSpacingShare = 4
    var leastProbeSpacing = Duration.milliseconds(5)
    /// How long beyond an answer's time the last one is waited for, as a share of it (1 / this).
    var probePatienceShare = 4
    /// Probes that must go unanswered where one that was to measure did.
    var leastProbesAfterMeasurement = 2
    /// Where nothing has come in for so long no queue is full: an answer takes the least round trip and a fifth …
    var quietTime = Duration.milliseconds(20)
    var quietAllowance = Ratio(6, 5)
    /// … and this.
    var quietMargin = Duration.milliseconds(5)
    /// Probes that must go unanswered before data goes to a path that is expensive or constrained.
    var probesBeforeExpense = 2
    /// The chance that a living path leaves all probes unanswered is to be below this.
    var falseVerdictChance = 0.000_5
    var mostProbes = 8
    /// For other connections an answer is believed to take no longer than this: a receiver's estimate counts the sender's pauses.
    var longestAnswerForOthers = Duration.milliseconds(300)
    /// So many of them are added because other connections hear the peer: what gets through for them may not for this one.
    var mostProbesForOthers = 2
    /// Between these the loss of a path is believed.
    var leastLoss = 0.01
    var mostLoss = 0.4
    /// An estimate over so few segments may be too low by as much.
    var lossMargin = 1.3
    /// Segments that a path's loss is estimated over, and the share of it that one sample may change.
    var lossMemory = 100.0
    var mostLossWeight = 0.5
    /// How much one probe changes the loss, and what an unanswered one counts for.
    var probeLossWeight = 0.02
    var unansweredLoss = 0.5

    // MARK: Successors

    /// The peer is shown another subflow when so many probes of its silence were answered (and see `TransferTuning.trips`).
    var probesBeforeOffer = 2
    /// For how long that is kept in case its data comes that way, and when to look whether it does, at the earliest.
    var offerLinger = Duration.seconds(1)
    var leastOfferLook = Duration.milliseconds(50)

    // MARK: Joins

    /// When a handshake takes too long: the kernel would repeat its SYN then.
    var joinTimeout = Duration.seconds(1)
    /// Or so many times the latency that is known, or this.
    var joinPatience = 3
    var unknownJoinTime = Duration.milliseconds(250)
    /// A path where several joins in a row took too long is rather slow: each gets twice the time, so often at most.
    var mostSlowJoins = 4
    /// After an order the kernel did not take, doubled each time: routes may come a moment after the address …
    var failedJoinPause = Duration.milliseconds(20)
    /// … and acknowledgements a round trip later.
    var notReadyPause = Duration.milliseconds(50)
    var mostJoinDoublings = 6
    var longestJoinPause = Duration.seconds(1)
    /// What a subflow counts as short-lived that ends sooner, and how long the next waits then, or else.
    var shortLife = Duration.seconds(1)
    var shortLivedPause = Duration.seconds(1)
    var endedPause = Duration.milliseconds(100)
    var mostEndedDoublings = 6
    var longestEndedPause = Duration.seconds(60)
    /// Addresses that a peer may announce: as many as Linux keeps (MPTCP_RM_IDS_MAX).
    var mostAnnounced = 8
    /// Subflows beside the first that a peer has room for (Linux, unless it is told otherwise).
    var room = 2
    /// Until the peer has heard that a place is free.
    var leastRoomPause = Duration.milliseconds(20)

    // MARK: Failed paths

    /// When a path that has just failed is probed first: what looked dead may have been very slow.
    var firstRetry = Duration.milliseconds(250)
    /// Between probes of one while the connection is in use.
    var retryPause = Duration.seconds(1)
    /// Otherwise that doubles, so often at most, up to this.
    var mostRetryDoublings = 6
    var longestRetryPause = Duration.seconds(60)
    /// When no path is left, by how often a path has failed.
    var strandedPause = Duration.milliseconds(20)
    var mostStrandedDoublings = 6
    var longestStrandedPause = Duration.seconds(1)
    /// How long a path that failed must keep answering before it carries, doubled by each failure in a row …
    var validation = Duration.milliseconds(200)
    var mostValidationDoublings = 8
    /// … up to this.
    var longestValidation = Duration.seconds(30)
    /// What a path did well for so long counts as a new beginning.
    var goodMemory = Duration.seconds(60)

    // MARK: Priorities (MP_PRIO)

    /// For how long the kernel may say that it knows no such subflow of one that is new (seen up to 8 ms after a join
    /// beside an upload). One that it still does not find is stubborn.
    var settlingTime = Duration.seconds(1)
    /// When it is asked again.
    var priorityPause = Duration.milliseconds(5)

    // MARK: The end of sending

    /// How long the last word of this end waits at most until another path stands by: a handshake that takes longer is not
    /// waited for.
    var longestPreparation = Duration.seconds(1)

    // MARK: Latencies

    /// How often a path that carries nothing is measured, in a mode that follows latencies, and while they change.
    var measurementPause = Duration.milliseconds(400)
    var closeMeasurementPause = Duration.milliseconds(100)
    /// And not sooner after one that was due.
    var leastMeasurementPause = Duration.milliseconds(5)
    /// Latencies change where those of two windows differ by more than this and so many times the least.
    var latencyWindow = Duration.milliseconds(500)
    var latencyRatio = 1.25
    var leastLatencyChange = Duration.milliseconds(5)

    // MARK: Handover

    /// How long an expensive path stays joined after the last suspicion, or after data went back.
    var coolDown = Duration.seconds(5)
    /// Most suspicions are over sooner than this; a handshake over an expensive path costs money.
    var hesitation = Duration.milliseconds(15)

    // MARK: Parts

    /// Whether a transfer is under way.
    var transfer = TransferTuning()
    /// What is handed over when a path is left.
    var handoff = HandoffTuning()
    /// Which of two paths has the lower latency.
    var interactive = InteractiveTuning()
    /// The subflow that stands in for a path that may be dying.
    var reserve = ReserveTuning()

    // MARK: The connection

    /// How long a connection may be without any path, where its user says nothing else.
    package static let pathLossTimeout = Duration.seconds(60)
    /// After so long without a subflow the kernel ends a connection whose first subflow was reset, or has failed
    /// (net.mptcp.close_timeout, unless it was changed).
    package var closeTimeout = Duration.seconds(60)
}
