// What happens before a lost path is left in the middle of a transfer. At the most it takes moments.
//
// Upload: a subflow's end makes the kernel send again what is unacknowledged, 64 KB at a stretch
// (MPTCP_SEND_BURST_SIZE, net/mptcp/protocol.c), from the last word it had of the peer on. The acknowledgements that
// were under way when the path was lost never come, so the peer has the most of that already; and a path that stood
// by sends it in the steps of a new window, 10 segments, 20, 40. Nothing new arrives until the third, two round trips
// later. To learn first what the peer has takes one: a keepalive probe on the subflow that stands by (RFC 9293
// section 3.8.4) is answered by an acknowledgement of all data that came in.
//
// Download: without a route nothing can be sent over the path, but what is on its way to us still arrives, for a round
// trip: without acknowledgements the peer sends no more. A subflow that is ended in the middle of that loses a segment,
// and the peer, which can't be told what came after it, sends all of it again. So the subflow first brings the rest.

extension SteeringMachine {
    /// A path is lost, and not left yet.
    struct Handoff: Sendable {
        enum Wait: Sendable {
            /// For the peer's word on what it has, over the subflow of this number.
            case word(over: Int)
            /// For the rest of what is on its way, on the subflow of this number.
            case rest(on: Int)
        }

        var wait: Wait
        var began: MonotonicTime
        /// When it is left in any case.
        var due: MonotonicTime
    }

    /// Prepares to leave paths that are lost.
    /// - Returns: whether they are not to be left yet.
    mutating func prepareHandoff(_ lost: [String: MoveReason], at now: MonotonicTime) -> Bool {
        // What is not allowed any more is left at once.
        let isAllowed = !lost.values.contains { if case .refused = $0 { true } else { false } }
        guard isAllowed, let handoff = handoff ?? beginHandoff(lost, at: now), now < handoff.due,
            !isDone(handoff, lost, at: now)
        else {
            handoff = nil
            return false
        }
        schedule(sampleAt: now.advanced(by: max(pace, .milliseconds(2))))
        wakeUps.append(handoff.due)
        self.handoff = handoff
        return true
    }

    private func isDone(_ handoff: Handoff, _ lost: [String: MoveReason], at now: MonotonicTime) -> Bool {
        switch handoff.wait {
        case .word(let number):
            guard let over = subflows.first(where: { $0.number == number }), lost[over.path] == nil,
                let sample = over.watch.latest
            else { return true }
            return sample.sinceAcknowledgement < handoff.began.duration(to: now)
        case .rest(let number):
            guard let left = subflows.first(where: { $0.number == number }),
                case .trouble(.routeGone) = lost[left.path],
                let heard = left.watch.heardAt
            else { return true }
            return heard.duration(to: now) >= Self.dry && handoff.began.duration(to: now) >= Self.dry
        }
    }

    private mutating func beginHandoff(_ lost: [String: MoveReason], at now: MonotonicTime) -> Handoff? {
        guard
            let left = subflows.firstIndex(where: {
                lost[$0.path] != nil && $0.purpose == .data && !$0.isBackup
            }
            ),
            case .trouble(let trouble) = lost[subflows[left].path],
            let other = subflows.firstIndex(where: { subflow in
                lost[subflow.path] == nil && subflow.purpose == .data && subflow.isEstablished
                    && subflow.isBackup
                    && !subflow.keepsPriority && records[subflow.path]?.standing == .good
            })
        else { return nil }
        if subflows[left].watch.isBulk {
            guard trouble == .routeGone, let sample = subflows[left].watch.latest else { return nil }
            let due = (sample.minimumRTT ?? sample.smoothedRTT) * 5 / 4 + Self.dry + .milliseconds(10)
            return Handoff(
                wait: .rest(on: subflows[left].number), began: now,
                due: now.advanced(by: min(due, Self.longest))
            )
        }
        guard let sample = subflows[other].watch.latest, isWorthAsking(subflows[left]),
            min(sample.sinceAcknowledgement, sample.sinceDataReceived) >= Self.leastIdle
        else { return nil }
        actions.append(.probeIdle)
        return Handoff(
            wait: .word(over: subflows[other].number), began: now,
            due: now.advanced(by: min(sample.smoothedRTT * 5 / 4 + .milliseconds(10), Self.longest)))
    }

    /// Whether so much was acknowledged on the way that the first steps of a new window would carry nothing else.
    private func isWorthAsking(_ left: Subflow) -> Bool {
        guard outstanding >= UInt64(Self.firstSteps), let sample = left.watch.latest,
            let rtt = sample.minimumRTT
        else { return false }
        return Double(sample.deliveryRate) * rtt.inSeconds / 2 >= Self.firstSteps
    }

    /// Bytes in 10 and 20 full segments.
    private static let firstSteps = 30 * 1448.0
    /// The kernel probes no subflow that was heard sooner than a second ago (TCP_KEEPIDLE).
    private static let leastIdle = Duration.seconds(1)
    /// When nothing has come for so long, it was the last of a transfer.
    private static let dry = Duration.milliseconds(8)
    /// Nobody who waits for something else is to feel it.
    private static let longest = Duration.milliseconds(300)
}
