// What each end's kernel does with data: which subflow takes it, acknowledgements, timers.

import PathCore

extension Simulation {
    /// Writes a chunk, where the buffer has room.
    func write(_ meaning: SimulatedTraffic.Meaning, from end: SimulatedEnd) {
        guard endpoints[end.rawValue].outstanding < options.mostOutstanding else { return }
        endpoints[end.rawValue].writtenAt.append(now)
        endpoints[end.rawValue].meanings.append(meaning)
        pump(end)
        steering[end.rawValue]?.dataWasSent(self)
    }

    /// Sends what there is to send, as far as the subflows take it.
    func pump(_ end: SimulatedEnd) {
        let side = end.rawValue
        while !endpoints[side].again.isEmpty || endpoints[side].nextToSend < endpoints[side].written {
            guard let number = chooseSubflow(end) else { return }
            let data: Int
            if let first = endpoints[side].again.first {
                endpoints[side].again.removeFirst()
                if first < endpoints[side].acknowledged { continue }
                data = first
            } else {
                data = endpoints[side].nextToSend
                endpoints[side].nextToSend += 1
            }
            transmit(data, number, end)
        }
    }

    /// An active one before those that stand by, one that gets through before one that does not, and then the
    /// one with the least on its way; of equals, each in turn.
    private func chooseSubflow(_ end: SimulatedEnd) -> Int? {
        var best: (rank: Int, number: Int)?
        let turn = endpoints[end.rawValue].turn
        for number in subflows.indices {
            let half = subflows[number][end]
            guard half.state == .established, half.inFlight.count < Self.maximumInFlight else { continue }
            if half.timeouts > 0, half.inFlight.count >= 4 { continue }
            let rank =
                (half.standsBy ? 1_000_000 : 0) + (half.timeouts >= 3 ? 100_000 : 0)
                + half.inFlight.count * 10 + (number == turn ? 1 : 0)
            if best.map({ rank < $0.rank }) ?? true { best = (rank, number) }
        }
        // A backup takes data only when no active one is left.
        if let best, best.rank >= 1_000_000,
            subflows.contains(where: {
                $0[end].state == .established && !$0[end].standsBy && $0[end].timeouts < 3
            })
        {
            return nil
        }
        if let best { endpoints[end.rawValue].turn = best.number }
        return best?.number
    }

    private func transmit(_ data: Int, _ number: Int, _ end: SimulatedEnd) {
        let sequence = subflows[number][end].nextSequence
        subflows[number][end].nextSequence += 1
        subflows[number][end].inFlight.append(.init(sequence: sequence, data: data, sentAt: now))
        subflows[number][end].bytesSent += options.chunkSize
        subflows[number][end].dataSentAt = now
        if subflows[number][end].inFlight.count == 1 { startTimer(number, end) }
        startDataTimer(end)
        send(.data(sequence: sequence, data: data, sentAt: now), number, from: end)
    }

    private func startTimer(_ number: Int, _ end: SimulatedEnd) {
        subflows[number][end].setTimer(at: now)
        let due = subflows[number][end].timerDue
        guard due < subflows[number][end].timerEvent else { return }
        subflows[number][end].timerEvent = due
        queue.add(.retransmission(subflow: number, end), at: due)
    }

    func timerFired(_ number: Int, _ end: SimulatedEnd) {
        // An event that was overtaken by an earlier one.
        guard subflows[number][end].timerEvent <= now else { return }
        subflows[number][end].timerEvent = .max
        let due = subflows[number][end].timerDue
        guard due < .max else { return }
        if due > now {
            subflows[number][end].timerEvent = due
            return queue.add(.retransmission(subflow: number, end), at: due)
        }
        if subflows[number][end].isLossProbe {
            subflows[number][end].isProbed = true
            if let last = subflows[number][end].inFlight.lastIndex(where: { !$0.isReceived }) {
                retransmit(last, number, end)
            }
            return startTimer(number, end)
        }
        subflows[number][end].timeouts += 1
        subflows[number][end].lostBefore = now
        if let first = subflows[number][end].inFlight.firstIndex(where: { !$0.isReceived }) {
            retransmit(first, number, end)
        }
        startTimer(number, end)
        // Now it counts as stale, and what stands by may be used (mptcp_pm_subflow_chk_stale).
        let hasOther = subflows.indices.contains { $0 != number && subflows[$0][end].state == .established }
        if subflows[number][end].timeouts == 3, hasOther {
            sendAllAgain(end)
            pump(end)
        }
    }

    /// The connection's own timer: what does not get through goes again over a subflow that has nothing on its way
    /// (mptcp_subflow_get_retrans), a backup only where all the others have failed twice.
    func dataTimerFired(_ end: SimulatedEnd) {
        let side = end.rawValue
        endpoints[side].isTimerSet = false
        guard endpoints[side].outstanding > 0 else { return }
        defer { startDataTimer(end) }
        guard endpoints[side].acknowledged == endpoints[side].acknowledgedAtTimer else { return }
        let open = subflows.indices.filter { subflows[$0][end].state == .established }
        let hasFailed = open.allSatisfy {
            subflows[$0][end].inFlight.isEmpty || subflows[$0][end].timeouts >= 2
        }
        guard
            let idle = open.first(where: {
                subflows[$0][end].inFlight.isEmpty && (hasFailed || !subflows[$0][end].standsBy)
            })
        else { return }
        let first = endpoints[side].acknowledged
        for data in first..<min(first + 8, endpoints[side].nextToSend) { transmit(data, idle, end) }
    }

    private func startDataTimer(_ end: SimulatedEnd) {
        guard !endpoints[end.rawValue].isTimerSet else { return }
        endpoints[end.rawValue].isTimerSet = true
        endpoints[end.rawValue].acknowledgedAtTimer = endpoints[end.rawValue].acknowledged
        after(250_000_000, .dataRetransmission(end))
    }

    private func retransmit(_ place: Int, _ number: Int, _ end: SimulatedEnd) {
        subflows[number][end].inFlight[place].sentAt = now
        subflows[number][end].retransmissions += 1
        subflows[number][end].dataSentAt = now
        let segment = subflows[number][end].inFlight[place]
        send(.data(sequence: segment.sequence, data: segment.data, sentAt: now), number, from: end)
    }

    /// All that is unacknowledged on the connection, whatever was on that subflow.
    func sendAllAgain(_ end: SimulatedEnd) {
        let side = end.rawValue
        endpoints[side].again = Array(endpoints[side].acknowledged..<endpoints[side].nextToSend)
    }

    // MARK: Arrivals

    func ingest(_ sequence: Int, _ data: Int, _ sentAt: Int64, _ number: Int, at end: SimulatedEnd) {
        guard subflows[number][end].state == .established else {
            // A subflow that is gone here; one that is not there yet stays silent.
            if subflows[number][end].state == .closed { send(.reset(nil), number, from: end) }
            return
        }
        subflows[number][end].acknowledgementAt = now
        subflows[number][end].segmentsReceived += 1
        subflows[number][end].carriesChunk(at: now)
        let path = paths[subflows[number].path]
        subflows[number][end].measureReceiving(
            now - sentAt + (end == .client ? path.upwards : path.downwards))
        if sequence == subflows[number][end].expected {
            subflows[number][end].dataReceivedAt = now
            subflows[number][end].expected += 1
            while let place = subflows[number][end].early.firstIndex(of: subflows[number][end].expected) {
                subflows[number][end].early.remove(at: place)
                subflows[number][end].expected += 1
            }
        } else if sequence > subflows[number][end].expected {
            // The kernel counts each, also one that it has (tcp_data_queue_ofo).
            subflows[number][end].earlySegments += 1
            if !subflows[number][end].early.contains(sequence) {
                subflows[number][end].early.append(sequence)
            }
        }
        accept(data, at: end)
        let isInOrder = subflows[number][end].early.isEmpty && subflows[number][end].owed == nil
        if options.delaysAcknowledgements, isInOrder, sequence == subflows[number][end].expected - 1 {
            subflows[number][end].owed = (sequence, sentAt)
            return after(40_000_000, .delayedAcknowledgement(subflow: number, end))
        }
        acknowledge(sequence, subflows[number][end].owed?.sentAt ?? sentAt, number, end)
    }

    func acknowledge(_ sequence: Int, _ sentAt: Int64, _ number: Int, _ end: SimulatedEnd) {
        subflows[number][end].owed = nil
        send(
            .acknowledgement(
                next: subflows[number][end].expected, one: sequence,
                dataNext: endpoints[end.rawValue].expected, echo: sentAt), number, from: end)
    }

    func payDebt(_ number: Int, _ end: SimulatedEnd) {
        guard subflows[number][end].state == .established, let owed = subflows[number][end].owed,
            now - owed.sentAt >= 40_000_000
        else { return }
        acknowledge(owed.sequence, owed.sentAt, number, end)
    }

    private func hasRoom(_ end: SimulatedEnd) -> Bool {
        guard let room = options.room else { return true }
        return endpoints[end.rawValue].early.count < room * widened[end.rawValue]
    }

    /// There is more room, for what waits on the subflows first.
    func widen(_ end: SimulatedEnd) {
        widened[end.rawValue] *= 4
        let held = endpoints[end.rawValue].held
        endpoints[end.rawValue].held = []
        for data in held { accept(data, at: end) }
    }

    private func accept(_ data: Int, at end: SimulatedEnd) {
        let side = end.rawValue
        guard hasRoom(end) else { return endpoints[side].held.append(data) }
        guard data >= endpoints[side].expected, endpoints[side].early.insert(data).inserted else { return }
        endpoints[side].chunksReceived += 1
        while endpoints[side].early.remove(endpoints[side].expected) != nil {
            let meaning = endpoints[end.other.rawValue].meanings[endpoints[side].expected]
            endpoints[side].expected += 1
            read(meaning, by: end)
        }
    }

    func takeAcknowledgement(next: Int, one: Int, echo: Int64, _ number: Int, at end: SimulatedEnd) {
        subflows[number][end].acknowledgementAt = now
        var isNew = false
        if let place = subflows[number][end].inFlight.firstIndex(where: { $0.sequence == one }),
            !subflows[number][end].inFlight[place].isReceived
        {
            subflows[number][end].inFlight[place].isReceived = true
            subflows[number][end].delivered += 1
            isNew = true
        }
        while let first = subflows[number][end].inFlight.first, first.sequence < next {
            subflows[number][end].inFlight.removeFirst()
            if !first.isReceived { subflows[number][end].delivered += 1 }
            subflows[number][end].acknowledged += options.chunkSize
            subflows[number][end].carriesChunk(at: now)
            isNew = true
        }
        guard isNew else { return }
        subflows[number][end].measure(now - echo)
        subflows[number][end].timeouts = 0
        subflows[number][end].isProbed = false
        if subflows[number][end].inFlight.isEmpty {
            subflows[number][end].timerDue = .max
            return
        }
        startTimer(number, end)
        // After a timeout, two more of what was lost with each acknowledgement.
        let before = subflows[number][end].lostBefore
        let lost = subflows[number][end].inFlight.indices.lazy.filter { [self] place in
            let segment = subflows[number][end].inFlight[place]
            return !segment.isReceived && segment.sentAt < before
        }
        for place in lost.prefix(2) { retransmit(place, number, end) }
        // Lost is what was sent before something that has arrived (RFC 8985), a while before where the path changes the order:
        // all of it goes again at once.
        let overtaking = paths[subflows[number].path].overtaking
        for place in subflows[number][end].inFlight.indices {
            let segment = subflows[number][end].inFlight[place]
            if !segment.isReceived, segment.sentAt + overtaking < echo, segment.sentAt >= before {
                retransmit(place, number, end)
            }
        }
    }

    func takeDataAcknowledgement(_ next: Int, at end: SimulatedEnd) {
        endpoints[end.rawValue].acknowledged = max(endpoints[end.rawValue].acknowledged, next)
        if next > 0 { becomeReady(end) }
    }
}
