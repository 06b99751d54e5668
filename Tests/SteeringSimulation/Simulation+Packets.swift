// Packets on their way, and what becomes of them at the other end.

import PathCore

extension Simulation {
    func send(_ packet: SimulatedPacket, _ number: Int, from end: SimulatedEnd) {
        let path = paths[subflows[number].path]
        let goesUp = end == .client
        guard path.isUsable, path.index == subflows[number].index,
            path.address == subflows[number].address, path.memory == subflows[number].memory,
            goesUp ? path.isOpenUpwards : path.isOpenDownwards,
            path.loss == 0 || random.share() >= path.loss
        else { return }
        guard let wait = waitAtBottleneck(subflows[number].path, goesUp: goesUp, isData: packet.isData)
        else { return }
        var delay = goesUp ? path.upwards : path.downwards
        if path.jitter > 0 { delay += Int64(Double(delay) * path.jitter * random.share()) }
        delay += wait
        if path.reordering > 0, packet.mayBeOvertaken, random.share() < path.reordering {
            delay += Int64(Double(path.overtaking) * random.share())
            return after(delay, .packet(subflow: number, to: end.other, packet))
        }
        // In order, as on most paths.
        let arrival = max(now + delay, subflows[number][end.other].lastArrival + 1)
        subflows[number][end.other].lastArrival = arrival
        queue.add(.packet(subflow: number, to: end.other, packet), at: arrival)
    }

    /// How long a packet waits at a path's bottleneck; nil where it is dropped. Only data takes up its time.
    private func waitAtBottleneck(_ place: Int, goesUp: Bool, isData: Bool) -> Int64? {
        let chunkTime = paths[place].chunkTime
        guard chunkTime > 0 else { return 0 }
        let busy = max(goesUp ? paths[place].busyUpwards : paths[place].busyDownwards, now)
        let wait = busy - now
        guard wait <= paths[place].queue else { return nil }
        guard isData else { return wait }
        if goesUp {
            paths[place].busyUpwards = busy + chunkTime
        } else {
            paths[place].busyDownwards = busy + chunkTime
        }
        return wait + chunkTime
    }

    func arrive(_ packet: SimulatedPacket, _ number: Int, at end: SimulatedEnd) {
        switch packet {
        case .join(let sentAt): answerJoin(number, sentAt)
        case .joinAnswer(let echo): completeJoin(number, echo)
        case .joinEnd: confirmJoin(number)
        case .joinConfirmation:
            if subflows[number].client.state == .established { subflows[number].client.isConfirmed = true }
        case .data(let sequence, let data, let sentAt):
            ingest(sequence, data, sentAt, number, at: end)
            // It tells of the window too, and the kernel looks what there is to send (__mptcp_check_push).
            pump(end)
        case .acknowledgement(let next, let one, let dataNext, let echo):
            guard subflows[number][end].state == .established else { return }
            takeAcknowledgement(next: next, one: one, echo: echo, number, at: end)
            takeDataAcknowledgement(dataNext, at: end)
            pump(end)
        case .removeAddress(let id, let isCounted):
            guard isCounted, subflows[number][end].state == .established else { return }
            for other in subflows.indices where subflows[other].id == id {
                close(other, end, error: nil, reset: nil, tells: .reset(.unspecified))
            }
        case .priority(let isBackup):
            guard subflows[number][end].state == .established else { return }
            subflows[number][end].peerWantsBackup = isBackup
            pump(end)
        case .probe:
            guard subflows[number][end].state == .established else { return }
            acknowledge(-1, now, number, end)
        case .end: close(number, end, error: nil, reset: nil, tells: nil)
        case .reset(let reason):
            let wasNew = subflows[number][end].state == .synSent
            close(number, end, error: wasNew ? 111 : 104, reset: reason, tells: nil)
        }
    }

    // MARK: Probes by plain TCP

    /// - Returns: whether it leaves the client.
    func startProbe(_ key: PathKey, at interface: InterfaceIndex, to remote: IPEndpoint) -> Bool {
        let isServers = remote == options.server || options.otherServers.contains(remote)
        // (Where a subflow leads may be asked, whatever was said since.)
        if !isServers, !mayLead(to: remote), !subflows.contains(where: { $0.remote == remote }) {
            mistake = mistake ?? "a probe to \(remote)"
        }
        guard let path = paths.firstIndex(where: { $0.isUsable && $0.index == interface }) else {
            return false
        }
        // As many over one interface as the library keeps.
        let others = probes.filter { $0.value.path == path }.keys
        if others.count >= 8, let oldest = others.min() { probes[oldest] = nil }
        nextProbe += 1
        probes[nextProbe] = SimulatedProbe(
            path: path, key: key, isAnswered: isServers, startedAt: now)
        sendProbe(nextProbe, attempt: 0)
        return true
    }

    /// The kernel repeats it after 1 and 3 s, until it is answered.
    func sendProbe(_ number: Int, attempt: Int) {
        guard let path = probes[number]?.path else { return }
        if attempt < 2 {
            after(1_000_000_000 << Int64(attempt), .probeAgain(number, attempt: attempt + 1))
        }
        guard paths[path].isUsable, paths[path].isOpenUpwards, random.share() >= paths[path].loss,
            let wait = waitAtBottleneck(path, goesUp: true, isData: false)
        else { return }
        after(paths[path].upwards + wait, .probe(number, arrives: true))
    }

    /// Whatever the server says to it, it says something.
    func probe(_ number: Int, arrives: Bool) {
        guard let probe = probes[number], probe.isAnswered else { return }
        let path = paths[probe.path]
        if arrives {
            guard path.isOpenDownwards, random.share() >= path.loss,
                let wait = waitAtBottleneck(probe.path, goesUp: false, isData: false)
            else { return }
            after(path.downwards + wait, .probe(number, arrives: false))
        } else if path.isUsable {
            probes[number] = nil
            steering[SimulatedEnd.client.rawValue]?.probeAnswered(
                probe.key, after: now - probe.startedAt, self)
        }
    }

    // MARK: Joins

    private func answerJoin(_ number: Int, _ sentAt: Int64) {
        let path = paths[subflows[number].path]
        let remote = subflows[number].remote
        // No host has that address.
        guard remote == options.server || options.otherServers.contains(remote) else { return }
        if path.joins == .refused { return send(.reset(.prohibited), number, from: .server) }
        switch subflows[number].server.state {
        case .absent:
            subflows[number].server.state = .synReceived
            subflows[number].server.peerWantsBackup = subflows[number].beginsAsBackup
            subflows[number].server.begin(at: now)
            send(.joinAnswer(echo: sentAt), number, from: .server)
        case .synReceived, .established: send(.joinAnswer(echo: sentAt), number, from: .server)
        case .synSent, .closed: send(.reset(nil), number, from: .server)
        }
    }

    private func completeJoin(_ number: Int, _ echo: Int64) {
        guard subflows[number].client.state == .synSent else {
            if subflows[number].client.state == .closed { send(.reset(nil), number, from: .client) }
            return
        }
        subflows[number].client.state = .established
        subflows[number].client.begin(at: now)
        subflows[number].client.measure(max(now - echo, 1))
        notify(.client, .established(subflow: number))
        send(.joinEnd, number, from: .client)
        after(subflows[number].client.retransmissionTimeout, .handshake(subflow: number, attempt: 0))
        pump(.client)
    }

    private func confirmJoin(_ number: Int) {
        guard subflows[number].server.state != .closed else {
            return send(.reset(nil), number, from: .server)
        }
        if paths[subflows[number].path].joins != .accepted {
            return close(number, .server, error: nil, reset: nil, tells: .reset(.lackOfResources))
        }
        if subflows[number].server.state == .synReceived {
            subflows[number].server.state = .established
            subflows[number].server.isConfirmed = true
            subflows[number].server.measure(paths[subflows[number].path].roundTrip)
            notify(.server, .established(subflow: number))
        }
        send(.joinConfirmation, number, from: .server)
        pump(.server)
    }

    func repeatHandshake(_ number: Int, attempt: Int) {
        switch subflows[number].client.state {
        case .synSent:
            // After 1, 3, 7, 15 and 31 s (tcp_syn_retries allows more, but no test waits for it).
            guard attempt < 5 else { return close(number, .client, error: 110, reset: nil, tells: nil) }
            send(.join(sentAt: now), number, from: .client)
            after(1_000_000_000 << Int64(attempt + 1), .handshake(subflow: number, attempt: attempt + 1))
        case .established where !subflows[number].client.isConfirmed && attempt < 8:
            send(.joinEnd, number, from: .client)
            after(
                subflows[number].client.retransmissionTimeout << Int64(attempt + 1),
                .handshake(subflow: number, attempt: attempt + 1))
        case .established, .absent, .synReceived, .closed: break
        }
    }

    // MARK: Ends

    /// Ends a subflow at one end. What was on its way goes again, over another.
    func close(
        _ number: Int, _ end: SimulatedEnd, error: Int32?, reset: ResetReason?, tells packet: SimulatedPacket?
    ) {
        guard subflows[number][end].state != .closed, subflows[number][end].state != .absent else { return }
        if let packet { send(packet, number, from: end) }
        subflows[number][end].state = .closed
        subflows[number][end].inFlight = []
        subflows[number][end].timerDue = .max
        sendAllAgain(end)
        notify(end, .closed(subflow: number, error: error, reset: reset))
        pump(end)
    }

    private func notify(_ end: SimulatedEnd, _ notice: SimulatedNotice) {
        guard steering[end.rawValue] != nil else { return }
        if options.losesEvents > 0, random.next() % options.losesEvents == 0 {
            return after(2_000_000, .notice(end, .lost))
        }
        after(50_000, .notice(end, notice))
    }

    func deliver(_ notice: SimulatedNotice, to end: SimulatedEnd) {
        switch notice {
        // (An id has one address until that is taken back: what is nonsense takes no place.)
        case .announced(let id, let endpoint): if isOnInternet(endpoint.address) { announced[id] = endpoint }
        case .removed(let id):
            announced[id] = nil
            // What leads there ends (mptcp_pm_rm_addr_or_subflow).
            for number in subflows.indices where subflows[number].remoteID == id {
                close(number, end, error: nil, reset: nil, tells: .reset(.unspecified))
            }
        case .established, .closed, .lost: break
        }
        let event: SubflowEvent =
            switch notice {
            case .established(let number):
                .subflowEstablished(Self.token, facts(number, end), error: nil)
            case .closed(let number, let error, let reset):
                .subflowClosed(Self.token, facts(number, end), SubflowEnd(error: error, reset: reset))
            case .announced(let id, let endpoint): .announced(Self.token, remoteID: id, endpoint)
            case .removed(let id): .removed(Self.token, remoteID: id)
            case .lost: .lost
            }
        steering[end.rawValue]?.ingest(event, self)
    }

    private func facts(_ number: Int, _ end: SimulatedEnd) -> SubflowFacts {
        let (local, remote) = endpoints(of: number, end)
        return SubflowFacts(local: local, remote: remote)
    }

    func endpoints(of number: Int, _ end: SimulatedEnd) -> (local: IPEndpoint, remote: IPEndpoint) {
        let client = IPEndpoint(subflows[number].address, port: subflows[number].port)
        let server = subflows[number].remote
        return end == .client ? (client, server) : (server, client)
    }

    /// An end's first data are acknowledged: from now on its kernel takes orders. The client has heard by then what the server
    /// wishes (the C flag).
    func becomeReady(_ end: SimulatedEnd) {
        guard !endpoints[end.rawValue].isReady else { return }
        endpoints[end.rawValue].isReady = true
        guard end == .client, options.deniesFirst else { return }
        steering[end.rawValue]?.ingest(
            .established(Self.token, facts(0, end), isServer: false, deniesJoinToFirst: true), self)
    }
}
