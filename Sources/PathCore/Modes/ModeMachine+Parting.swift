// What is asked before a lost path is left in the middle of an upload.
//
// A subflow's end makes the kernel send again what is unacknowledged, 64 KB at a stretch (MPTCP_SEND_BURST_SIZE,
// net/mptcp/protocol.c), from the last word it had of the peer on. The acknowledgements that were under way when
// the path was lost never come, so the peer has the most of that already; and a path that stood by sends it in the
// steps of a new window, 10 segments, 20, 40. Nothing new arrives until the third, two round trips later. To learn
// first what the peer has takes one: a keepalive probe on the subflow that stands by (RFC 9293 section 3.8.4) is
// answered by an acknowledgement of all data that came in.

extension ModeMachine {
    /// A path is lost, and the peer was asked what it has.
    struct Parting: Sendable {
        /// The subflow over which it was asked, by its number.
        var over: Int
        var asked: MonotonicTime
        /// When the answer isn't waited for any more.
        var due: MonotonicTime
    }

    /// Whether paths that are lost are not to be left yet, because the peer is being asked what it has.
    mutating func awaitsWord(of lost: [String: MoveReason], at now: MonotonicTime) -> Bool {
        if let parting {
            guard now < parting.due, !hasAnswered(parting, lost, at: now) else {
                self.parting = nil
                return false
            }
            schedule(sampleAt: now.advanced(by: pace))
            wakeUps.append(parting.due)
            return true
        }
        guard let over = askable(lost), let sample = over.watch.latest else { return false }
        let due = now.advanced(by: sample.smoothedRTT * 5 / 4 + .milliseconds(10))
        parting = Parting(over: over.number, asked: now, due: due)
        actions.append(.probeIdle)
        // From when on it may be there.
        schedule(sampleAt: now.advanced(by: sample.minimumRTT ?? sample.smoothedRTT))
        wakeUps.append(due)
        return true
    }

    /// Whether something has come over the subflow since, or nothing can.
    private func hasAnswered(_ parting: Parting, _ lost: [String: MoveReason], at now: MonotonicTime) -> Bool {
        guard let over = flows.first(where: { $0.number == parting.over }), lost[over.path] == nil,
            let sample = over.watch.latest
        else { return true }
        return sample.sinceAcknowledgement < parting.asked.duration(to: now)
    }

    /// The subflow that can ask, where that is worth a round trip: so much was acknowledged on the way that the
    /// first three steps of a new window would carry nothing else.
    private func askable(_ lost: [String: MoveReason]) -> Flow? {
        let left = flows.first { flow in
            guard case .trouble = lost[flow.path], flow.purpose == .data, !flow.isBackup,
                let sample = flow.watch.latest, let rtt = sample.minimumRTT
            else { return false }
            return Double(sample.deliveryRate) * rtt.inSeconds / 2 >= Self.threeSteps
        }
        // What comes in isn't kept waiting for what goes out.
        guard let left, outstanding >= UInt64(Self.threeSteps), !left.watch.isBulk else { return nil }
        return flows.first { flow in
            guard lost[flow.path] == nil, flow.purpose == .data, flow.isEstablished, flow.isBackup,
                records[flow.path]?.standing == .good, let sample = flow.watch.latest
            else { return false }
            return min(sample.sinceAcknowledgement, sample.sinceDataReceived) >= Self.leastIdle
        }
    }

    /// Bytes in 10 and 20 full segments.
    private static let threeSteps = 30 * 1448.0
    /// The kernel probes no subflow that was heard sooner than a second ago (TCP_KEEPIDLE).
    private static let leastIdle = Duration.seconds(1)
}
