/// One subflow of a steered connection, from the order to make it to its end.
struct Subflow: Sendable {
    enum Purpose: Sendable {
        /// It carries data, or stands by to.
        case data
        /// It was made to see whether its path answers.
        case probe
        /// It stands by beside one that carries, over the same path (aggregate).
        case reserve
    }

    let path: String
    let interface: InterfaceIndex
    let address: SubflowAction.LocalAddress
    let remote: IPEndpoint
    /// Told by the kernel, once the subflow is there.
    var port: UInt16?
    var purpose: Purpose
    var isBackup: Bool
    /// The kernel takes no order to change that.
    var keepsPriority = false
    /// From when on the kernel may be asked again to change it, after it could not.
    var prioritizedFrom = MonotonicTime.zero
    var asked: MonotonicTime
    /// Tells subflows apart: their places change.
    let number: Int
    var established: MonotonicTime?
    var watch = SubflowWatch()
    /// How often silence was asked about since bytes came in last, and whether they came steadily before.
    var silenceAsks = 0
    /// How often lately the stream went on behind a probe: it is one with gaps.
    var gaps = 0
    var isStream = false
    /// When the stream was last heard, here or where it came before.
    var streamedAt: MonotonicTime?
    /// For a probe: whether it was answered, and until when it is kept in case data comes that way.
    var lingersUntil: MonotonicTime?
    /// Since when it has been known that the path answers, but this subflow gets nothing through.
    var stuckSince: MonotonicTime?

    /// It was given up before its port was known; it is ended when that is.
    var isUnwanted = false

    var isEstablished: Bool { established != nil }
    var local: IPEndpoint? { port.map { IPEndpoint(address.address, port: $0) } }

    /// The round trip that an answer to the handshake shows. Where the kernel had repeated its SYN nobody knows which one
    /// was answered (RFC 6298 section 3, Karn's algorithm): the likely one is that which comes nearest to what is known of
    /// the path, or else the latest.
    func roundTrip(answered now: MonotonicTime, known: Duration? = nil) -> Duration {
        let took = asked.duration(to: now)
        let known = known ?? .zero
        let repeats: [Duration] = [.zero, .seconds(1), .seconds(3), .seconds(7)]
        func distance(_ time: Duration) -> Duration { time > known ? time - known : known - time }
        return repeats.filter { $0 < took }.map { took - $0 }.min { distance($0) < distance($1) } ?? took
    }

    /// From when on it can carry a message about another one. The peer ignores what comes before its own last
    /// acknowledgement of the handshake was answered: one round trip after ours is complete.
    var signalsFrom: MonotonicTime? {
        guard let established else { return nil }
        return established.advanced(by: roundTrip(answered: established) + .milliseconds(2))
    }

    /// A stream that came over another one is to go on here.
    mutating func expectStream(of time: MonotonicTime, at now: MonotonicTime) {
        (isStream, streamedAt) = (true, time)
        watch.expect(at: now)
    }

    /// When its silence is to be asked about: the first time soon, then ever less often, and in the end not at
    /// all. A peer with nothing to say costs four probes.
    var silenceDue: MonotonicTime? {
        guard isStream, purpose == .data, isEstablished, !isBackup, watch.waitingSince == nil,
            let received = watch.receivedAt, let heard = watch.heardAt
        else { return nil }
        let quiet = Duration.milliseconds(25) * (1 << min(gaps, 4))
        let pauses: [Duration] = [quiet, quiet + .milliseconds(250), .seconds(2), .seconds(20)]
        guard silenceAsks < pauses.count else { return nil }
        // Bytes that come but carry nothing on are sent again in vain: our acknowledgements don't get through. But
        // first a lost segment gets the time to be repaired.
        let pause = pauses[silenceAsks]
        return min(heard.advanced(by: pause), received.advanced(by: pause + .milliseconds(400)))
    }
}

/// What a connection knows of a path: its past, and what is being asked about it.
struct PathState: Sendable {
    enum Standing: Sendable, Equatable {
        case good
        case suspect(PathTrouble)
        case dead(PathTrouble)
        case validating(until: MonotonicTime)
    }

    /// Handshakes that show whether a path answers.
    struct Probing: Sendable {
        enum Cause: Sendable, Equatable {
            case trouble(PathTrouble)
            case measurement
        }

        var cause: Cause
        var needed: Int
        var count = 0
        var first = MonotonicTime.zero
        var latest = MonotonicTime.zero
    }

    var standing = Standing.good {
        didSet { if case .dead(let trouble) = standing { latestTrouble = trouble } }
    }
    private var latestTrouble: PathTrouble?
    var loss = LossEstimate()
    /// Failures in a row, and since when it has been good again.
    var failures = 0
    var goodSince: MonotonicTime?
    /// Suspicions that proved false lately.
    var falseAlarms = 0
    var falseAlarmAt = MonotonicTime.zero
    private(set) var latency: Duration?
    private(set) var latencyAt: MonotonicTime?
    private var wandering = Wandering()
    var probe: Probing?
    /// Until when no subflow is to be made and nobody probes, because the kernel refused or the path is dead.
    var nextAttempt = MonotonicTime.zero
    var attempts = 0
    /// Joins in a row that took too long, each of which was given twice the time of the one before.
    var slowJoins = 0
    /// A dead path was probed, and something answered.
    var isAwake = false
    /// An address the peer is to be told to forget, as soon as there is a way to tell it.
    var withdrawal: (SubflowAction.LocalAddress, after: MonotonicTime)?

    var isDead: Bool { if case .dead = standing { true } else { false } }
    /// Whether nothing is known against it, and nothing asked.
    var isCalm: Bool { standing == .good && probe == nil }
    /// What made it fail, while it is validating.
    var overcome: PathTrouble? { if case .validating = standing { latestTrouble } else { nil } }
    var trouble: PathTrouble? {
        switch standing {
        case .suspect(let trouble), .dead(let trouble): trouble
        case .good, .validating: nil
        }
    }

    /// - Parameter at: when it was measured; nil where it is only known that it takes as long at least.
    mutating func noteLatency(_ latency: Duration, at now: MonotonicTime?) {
        self.latency = latency
        guard let now else { return }
        latencyAt = now
        wandering.note(latency, at: now)
    }

    func wanders(at now: MonotonicTime) -> Bool { wandering.wanders(at: now) }

    /// How much longer than usual a suspicion takes: from the third false alarm on each doubles it, a quiet time
    /// forgets.
    func patience(at now: MonotonicTime) -> Int {
        falseAlarmAt.duration(to: now) > .seconds(10) ? 1 : 1 << min(max(falseAlarms - 2, 0), 3)
    }

    mutating func noteFalseAlarm(at now: MonotonicTime) {
        falseAlarms = falseAlarmAt.duration(to: now) > .seconds(10) ? 1 : falseAlarms + 1
        falseAlarmAt = now
    }

    /// How long it must have kept answering before it carries again.
    var validationTime: Duration {
        min(.milliseconds(200) * (1 << min(max(failures - 1, 0), 8)), .seconds(30))
    }

    /// It failed now. What it did well for a minute counts as a new beginning.
    mutating func noteFailure(at now: MonotonicTime) {
        let wasGood = goodSince.map { $0.duration(to: now) > .seconds(60) } ?? false
        failures = wasGood ? 1 : failures + 1
        goodSince = nil
        probe = nil
        attempts = 0
        isAwake = false
    }
}
