/// Names a subflow among those of one connection. No other ever gets the same.
struct SubflowID: Sendable, Hashable {
    let number: Int

    /// The one that the connection came about with.
    static let first = SubflowID(number: 1)
}

/// One subflow of a steered connection, from the order to make it to its end.
struct Subflow: Sendable {
    enum Role: Sendable {
        /// It carries data, or stands by to.
        case data
        /// It is to take the place of its path's own, which gets nothing through (see `SteeringMachine+Succession`).
        case successor
        /// It stands by beside one that carries, over the same path, and carries too when another path is left (aggregate).
        case reserve
    }

    enum Phase: Sendable, Hashable {
        /// The kernel has taken the order to make it.
        case requested
        /// Its handshake was complete at this time.
        case open(since: MonotonicTime)
        /// It was given up before its port was known. It is ended when that is.
        case ending
    }

    /// What it is made of.
    struct Route: Sendable {
        let path: PathKey
        let interface: InterfaceIndex
        let address: SubflowAction.LocalAddress
        let remote: IPEndpoint

        func leading(to remote: IPEndpoint) -> Route {
            Route(path: path, interface: interface, address: address, remote: remote)
        }
    }

    let id: SubflowID
    let route: Route
    /// When it was ordered.
    let requested: MonotonicTime
    var role: Role
    var phase = Phase.requested
    /// Told by the kernel, once the subflow is there.
    var port: UInt16?
    var isBackup: Bool
    /// The kernel takes no order to change that.
    var keepsPriority = false
    /// From when on the kernel may be asked again to change it, after it could not.
    var prioritizedFrom = MonotonicTime.zero
    /// Whether what is sent over it arrives, and whether what is expected comes.
    var progress = ProgressDetector()
    var stream = StreamDetector()
    /// Whether much of what is sent over it arrives, and when something did last.
    private(set) var delivery = TransferVolume()
    private(set) var deliveredAt: MonotonicTime?
    /// Of a successor that nothing of ours needs: until when it is kept in case the peer's data comes that way.
    var lingersUntil: MonotonicTime?
    /// Since when it has been known that the path answers, but this subflow gets nothing through.
    var stuckSince: MonotonicTime?
    /// When bytes came in again after its path had failed: the first that others followed soon.
    var returnedAt: MonotonicTime?

    init(
        _ id: SubflowID, _ route: Route, _ role: Role, port: UInt16? = nil, isBackup: Bool,
        at now: MonotonicTime
    ) {
        self.id = id
        self.route = route
        self.role = role
        self.port = port
        self.isBackup = isBackup
        requested = now
    }

    var path: PathKey { route.path }
    var address: SubflowAction.LocalAddress { route.address }
    var remote: IPEndpoint { route.remote }
    var local: IPEndpoint? { port.map { IPEndpoint(address.address, port: $0) } }
    var openSince: MonotonicTime? { if case .open(let since) = phase { since } else { nil } }
    var isOpen: Bool { if case .open = phase { true } else { false } }

    /// Whether it stands by, and nothing is on its way over it.
    var isIdleStandby: Bool {
        role == .data && isOpen && isBackup && progress.waitingSince == nil && !stream.isBulk
            && !delivery.isBulk
    }

    /// The round trip that an answer to the handshake shows.
    func roundTrip(answered now: MonotonicTime, known: Duration? = nil, _ tuning: SteeringTuning) -> Duration
    {
        tuning.roundTrip(of: requested.duration(to: now), known: known)
    }

    /// From when on it can carry a message about another one. The peer ignores what comes before its own last
    /// acknowledgement of the handshake was answered: one round trip after ours is complete.
    func signalsFrom(_ tuning: SteeringTuning) -> MonotonicTime? {
        openSince.map { $0.advanced(by: roundTrip(answered: $0, tuning) + tuning.confirmationMargin) }
    }

    /// Judges a sample of it.
    mutating func ingest(
        _ sample: SubflowSample, written: MonotonicTime?, at now: MonotonicTime, _ tuning: SteeringTuning
    ) -> Progress {
        stream.ingest(sample, after: progress.latest, at: now, tuning)
        if let latest = progress.latest {
            let bytes = sample.acknowledged &- latest.acknowledged
            delivery.add(bytes, at: now, tuning)
            if bytes > 0 { deliveredAt = now.advanced(by: .zero - sample.sinceAcknowledgement) }
        }
        return progress.ingest(sample, written: written, at: now, tuning)
    }

    /// When its silence is to be probed; nil while that means nothing.
    ///
    /// - Parameter awaitedSince: since when the connection's user awaits bytes; nil while it does not.
    func silenceDue(
        awaitedSince: MonotonicTime?, at now: MonotonicTime, _ tuning: SteeringTuning
    ) -> MonotonicTime? {
        guard role == .data, isOpen, !isBackup, progress.waitingSince == nil else { return nil }
        guard let awaitedSince else { return stream.due(at: now, tuning) }
        return stream.dueAwaited(
            answerTime: progress.answerTime(tuning),
            answeredAt: max(progress.newsAt ?? .zero, progress.carriesSince, awaitedSince),
            at: now, tuning)
    }

    /// From when on its silence is more than a pause of its stream's sender.
    func silenceIsCertain(at now: MonotonicTime, _ tuning: SteeringTuning) -> MonotonicTime? {
        guard let received = stream.silence.receivedAt, progress.latest != nil else { return nil }
        return received.advanced(by: longestStreamPause(at: now, tuning))
    }

    /// How long its stream's sender pauses at most. One that starts, or measures the path (BBR), sends some segments a round trip;
    /// how long that is the receiving end sees best, with the queues on the way.
    func longestStreamPause(at now: MonotonicTime, _ tuning: SteeringTuning) -> Duration {
        let trip = min(stream.roundTrip, tuning.longestPause)
        return max(trip * tuning.pauseAllowance + tuning.quietMargin, stream.usualPause(at: now, tuning))
    }

    /// Whether it is a successor that was not needed.
    func isDone(at time: MonotonicTime) -> Bool {
        // (Without its port it can't be ended; the next sample tells that.)
        role == .successor && port != nil && lingersUntil.map { $0 <= time } ?? false
    }
}

extension SteeringTuning {
    /// The round trip that an answer to a handshake shows. Where the kernel had repeated its SYN it is not known which one
    /// was answered (RFC 6298 section 3, Karn's algorithm): the likely one is that which comes nearest to what is known of
    /// the path, or else the latest.
    ///
    /// - Parameter took: the time since the handshake began.
    func roundTrip(of took: Duration, known: Duration?) -> Duration {
        let known = known ?? .zero
        var best: (time: Duration, distance: Duration)?
        for repetition in synRepetitions where repetition < took {
            let time = took - repetition
            let distance = time > known ? time - known : known - time
            if best.map({ distance < $0.distance }) ?? true { best = (time, distance) }
        }
        return best?.time ?? took
    }
}
