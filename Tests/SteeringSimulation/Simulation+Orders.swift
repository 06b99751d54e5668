// What the kernel does with the orders of the end that steers, and what it tells when it is asked.

import PathCore

extension Simulation {
    // ESRCH, EINVAL and EADDRNOTAVAIL of Linux.
    private static let noSuchSubflow: Int32 = 3
    private static let invalid: Int32 = 22
    private static let noSuchAddress: Int32 = 99

    /// Performs an order at one end.
    /// - Returns: what the kernel says against it.
    func perform(_ order: SubflowAction, at end: SimulatedEnd) -> ActionFailure? {
        switch order {
        case .create(let local, let isBackup, let remote):
            return create(local, isBackup, remote, at: end)
        case .withdraw(let local): return withdraw(local, at: end)
        case .destroy(let local, let remote), .reset(let local, let remote, _):
            guard let number = find(local, remote, end) else {
                mistake = mistake ?? "\(order) is about nothing"
                return .failed(Self.noSuchSubflow)
            }
            if end == .client {
                endpoints[end.rawValue].ids.removeAll { $0.address == local.address }
            }
            guard subflows[number][end].state != .closed else { return number == 0 ? nil : .alreadyGone }
            if isAtWork(number) { endedAtWork = PathID(paths[subflows[number].path].name) }
            close(number, end, error: nil, reset: nil, tells: .end)
        case .prioritize(let local, let remote, let isBackup):
            guard let number = find(local, remote, end) else {
                mistake = mistake ?? "\(order) is about nothing"
                return .failed(Self.invalid)
            }
            guard subflows[number][end].state == .established else { return .failed(Self.invalid) }
            subflows[number][end].isBackup = isBackup
            send(.priority(isBackup: isBackup), number, from: end)
            pump(end)
        case .announce(let local):
            // The kernel knows the address from now on, so that it can be withdrawn.
            guard local.id != 0, isFree(local) else { return .failed(Self.invalid) }
            remember(local, end)
        }
        return nil
    }

    /// Whether a subflow of a path that was never anything but well is in the middle of a bulk transfer.
    private func isAtWork(_ number: Int) -> Bool {
        let (subflow, path) = (subflows[number], paths[subflows[number].path])
        // (Where the peer takes no more, the place may be needed for another path.)
        let hasRoom =
            subflows.dropFirst().count { $0.client.state != .closed && $0.client.state != .absent } < 2
        return hasRoom && path.isSound && subflow.memory == path.memory && options.chunkSize > 1000
            && subflow.client.state == .established && subflow.server.state == .established
            && subflow.client.isBusy(at: now)
    }

    /// Keepalive probes on what has been idle for a second.
    func probeIdle(_ end: SimulatedEnd) {
        for number in subflows.indices {
            let half = subflows[number][end]
            guard half.state == .established, half.inFlight.isEmpty,
                now - max(half.dataReceivedAt, half.acknowledgementAt) >= 1_000_000_000
            else { continue }
            send(.probe, number, from: end)
        }
    }

    private func find(_ local: IPEndpoint, _ remote: IPEndpoint, _ end: SimulatedEnd) -> Int? {
        subflows.indices.first {
            endpoints(of: $0, end) == (local, remote) && subflows[$0][end].state != .absent
        }
    }

    private func create(
        _ local: SubflowAction.LocalAddress, _ isBackup: Bool, _ remote: IPEndpoint, at end: SimulatedEnd
    ) -> ActionFailure? {
        guard end == .client, mayLead(to: remote) else {
            mistake = mistake ?? "a join to \(remote) from the \(end)"
            return .failed(Self.invalid)
        }
        guard endpoints[end.rawValue].isReady else { return .notReady }
        guard isFree(local) else {
            mistake = mistake ?? "the id \(local.id) for \(local.address) is wrong"
            return .failed(Self.invalid)
        }
        guard
            let place = paths.firstIndex(where: { $0.exists && $0.hasAddress && $0.address == local.address }
            ),
            paths[place].index == local.interface ?? paths[place].index, paths[place].isUsable
        else {
            // The kernel forgets the address's id with a subflow that can't be made.
            endpoints[end.rawValue].ids.removeAll { $0.address == local.address }
            return .failed(Self.noSuchAddress)
        }
        let path = paths[place]
        remember(local, end)
        var subflow = SimulatedSubflow(
            path: place, index: path.index, address: path.address, port: takePort(), id: local.id,
            remote: remote, remoteID: announced.first { $0.value == remote }?.key ?? 0, memory: path.memory,
            beginsAsBackup: isBackup)
        subflow.client.state = .synSent
        subflow.client.isBackup = isBackup
        subflows.append(subflow)
        let number = subflows.count - 1
        send(.join(sentAt: now), number, from: .client)
        after(1_000_000_000, .handshake(subflow: number, attempt: 0))
        return nil
    }

    /// Whether the client may be sent to an endpoint: to the first unless that was denied, and to what was announced and not
    /// taken back, which is to be an address on the Internet.
    func mayLead(to remote: IPEndpoint) -> Bool {
        if remote == options.server { return !options.deniesFirst || !isReady }
        return announced.values.contains(remote) && told.interface(with: remote.address) == nil
    }

    /// Whether an address is one that a host on the Internet may have, and not this one.
    func isOnInternet(_ address: IPAddress) -> Bool {
        told.interface(with: address) == nil && !address.isUnspecified && !address.isMulticast
            && !address.isLoopback && !address.isPrivate
    }

    /// Whether the id is the address's, or no address's.
    private func isFree(_ local: SubflowAction.LocalAddress) -> Bool {
        let first = subflows[0].address
        if local.id == 0 || local.address == first { return local.id == 0 && local.address == first }
        return endpoints[SimulatedEnd.client.rawValue].ids.allSatisfy {
            ($0.address == local.address) == ($0.id == local.id)
        }
    }

    private func remember(_ local: SubflowAction.LocalAddress, _ end: SimulatedEnd) {
        guard local.id != 0, !endpoints[end.rawValue].ids.contains(where: { $0.id == local.id }) else {
            return
        }
        endpoints[end.rawValue].ids.append((local.address, local.id))
    }

    /// RM_ADDR, once, over a subflow that is there; the peer ignores it where that one is too young.
    private func withdraw(_ local: SubflowAction.LocalAddress, at end: SimulatedEnd) -> ActionFailure? {
        let side = end.rawValue
        if local.id != 0 {
            guard endpoints[side].ids.contains(where: { $0.id == local.id }) else {
                return .failed(Self.invalid)
            }
            endpoints[side].ids.removeAll { $0.id == local.id }
        }
        let bearer = subflows.indices.first { number in
            subflows[number][end].state == .established && subflows[number].id != local.id
                && subflows[number][end].timeouts == 0
        }
        if let bearer {
            let isCounted = subflows[bearer][end].isConfirmed
            send(.removeAddress(local.id, isCounted: isCounted), bearer, from: end)
        }
        return nil
    }

    // MARK: Samples

    func sample(_ end: SimulatedEnd) -> TransportSample {
        samples += 1
        var connection = ConnectionSample(token: Self.token)
        let endpoint = endpoints[end.rawValue]
        connection.acknowledged = UInt64(endpoint.acknowledged) * options.chunkSize
        connection.writeSequence = UInt64(endpoint.written) * options.chunkSize
        connection.firstUnacknowledged = connection.acknowledged
        connection.bytesReceived = endpoint.chunksReceived * options.chunkSize
        connection.nextExpected = UInt64(endpoint.expected) * options.chunkSize
        var list: [SubflowSample] = []
        for number in subflows.indices {
            let state = subflows[number][end].state
            // The first stays listed after its end.
            guard state != .absent, state != .closed || number == 0 else { continue }
            if end == .server, state == .synReceived { continue }
            list.append(sample(number, end))
        }
        return TransportSample(kind: .mptcp(token: Self.token.value), subflows: list, connection: connection)
    }

    private func sample(_ number: Int, _ end: SimulatedEnd) -> SubflowSample {
        let half = subflows[number][end]
        let (local, remote) = endpoints(of: number, end)
        var sample = SubflowSample(
            id: UInt32(number), local: local, remote: remote, bytesSent: half.bytesSent,
            bytesRetransmitted: UInt64(half.retransmissions) * options.chunkSize,
            bytesReceived: UInt64(half.expected) * options.chunkSize,
            smoothedRTT: .nanoseconds(half.smoothed / 1000 * 1000),
            rttVariation: .nanoseconds(half.variation / 1000 * 1000),
            minimumRTT: half.minimum < .max ? .nanoseconds(half.minimum / 1000 * 1000) : nil)
        sample.state =
            switch half.state {
            case .established: .established
            case .synSent: .synSent
            case .synReceived: .synReceived
            case .absent, .closed: .closed
            }
        sample.unacknowledged = UInt32(half.inFlight.count)
        sample.acknowledged = half.acknowledged
        sample.delivered = half.delivered
        sample.retransmissions = half.retransmissions
        sample.receivedSegments = half.segmentsReceived
        sample.earlySegments = half.earlySegments
        sample.receiverRTT = .nanoseconds(half.receiverTrip / 1000 * 1000)
        sample.timeouts = UInt8(clamping: half.timeouts)
        if half.smoothed > 0 {
            let inFlight = options.chunkSize * UInt64(half.inFlight.count)
            sample.deliveryRate = inFlight * 1_000_000_000 / UInt64(half.smoothed)
        }
        sample.sinceDataSent = age(half.dataSentAt)
        sample.sinceDataReceived = age(half.dataReceivedAt)
        sample.sinceAcknowledgement = age(half.acknowledgementAt)
        return sample
    }

    /// In whole milliseconds, as the kernel counts.
    private func age(_ time: Int64) -> Duration { .milliseconds((now - time) / 1_000_000) }
}
