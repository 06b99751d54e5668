import LinuxNet

// Looks at the connection's socket: for the machines that ask for it, and for the books.

extension ConnectionFollower {
    func look(mayGlance: Bool) -> SteeringLook {
        // First: what is written after the sample is to be told again.
        let first = written.exchange(0, ordering: .relaxed)
        return state.withLock { state in
            guard state.socket != nil else { return .closed }
            let now = MonotonicTime.now
            let limit = max(
                Self.longestGlance, monitor.runtime.load.pace * Self.glancesBetweenBookings)
            let since = state.glancedSince ?? now
            let glances = first != 0 && mayGlance && since.duration(to: now) < limit
            if glances, state.socket?.isAllAcknowledged() == true {
                state.glancedSince = since
                return .nothingWaits
            }
            guard var sample = takeSample(&state) else {
                endIfGone(&state)
                return .closed
            }
            state.glancedSince = nil
            book(sample, .known, &state)
            keepSendBuffer(&state, sample)
            // Only suspicion has to know it, which there is none of where nothing waits.
            if glances || !mayGlance { state.socket?.notePeersEnd(in: &sample) }
            return .sample(sample, written: first == 0 ? nil : MonotonicTime(nanoseconds: first))
        }
    }

    /// All that each path has carried up to now, and the longest round trip of a subflow, with what waits in queues; nil where
    /// the connection is closed.
    func carriedBytes() -> (paths: [(path: PathID, bytes: UInt64)], roundTrip: Duration)? {
        state.withLock { state in
            guard state.socket != nil else { return nil }
            var roundTrip = Duration.zero
            if let sample = sample(&state, .known) {
                for subflow in sample.subflows where subflow.state == .established {
                    // An end that only receives has measured none of its own since the handshake.
                    roundTrip = max(roundTrip, subflow.smoothedRTT, subflow.receiverRTT)
                }
            }
            return (state.meter.carried, roundTrip)
        }
    }

    /// Whether it was MPTCP at the last look: it may have fallen back since it came about.
    var isMPTCP: Bool { speaksMPTCP.load(ordering: .relaxed) }

    /// Why it fell back after it came about, where that was told.
    var toldFallback: FallbackReason? {
        guard facts.transport.isMPTCP else { return nil }
        return state.withLock { $0.untoldFallback == nil ? $0.meter.transport.fallbackReason : nil }
    }

    func book(_ naming: TransferMeter.Naming) { state.withLock { _ = sample(&$0, naming) } }

    /// What became of a keepalive probe.
    enum IdleProbe {
        /// It is to be ended soon (`endIdleProbe`).
        case sent
        /// The descriptor is being borrowed for it.
        case borrowed
        case impossible
    }

    func probeIdle() -> IdleProbe {
        let (isSent, loan) = state.withLock { state -> (Bool, DescriptorLoan?) in
            // The one before has changed the settings that this one would take for the user's.
            guard state.probe == nil else { return (false, nil) }
            if let number = state.socket?.number { state.probe = KeepaliveProbe(number) }
            return (state.probe != nil, state.socket?.loan ?? nil)
        }
        if isSent { return .sent }
        guard let loan else { return .impossible }
        loan { [weak self] number in self?.probeIdle(borrowing: number) }
        return .borrowed
    }

    private func probeIdle(borrowing number: CInt) {
        state.withLock { if $0.probe == nil { $0.probe = KeepaliveProbe(number) } }
        _ = monitor.runtime.thread.schedule(at: .now.advanced(by: KeepaliveProbe.leaves)) { [weak self] in
            self?.endIdleProbe()
        }
    }

    /// The first subflow has ended: what we send is not to become slower for that, and what the peer sends may.
    func firstSubflowEnded() {
        state.withLock { state in
            state.meter.hasLostFirstSubflow = true
            state.sendBufferHold.firstSubflowEnded(state.socket?.sample()?.connection)
        }
    }

    private func keepSendBuffer(_ state: inout State, _ sample: TransportSample) {
        guard state.sendBufferHold.isOver(by: sample.connection) else { return }
        // Not under the lock.
        monitor.runtime.thread.submit { [weak self] in self?.withDescriptor { SendBuffer.keep($0) } }
    }

    private static let nextLoan = Duration.seconds(5)

    func endIdleProbe() {
        let loan = state.withLock { state -> DescriptorLoan? in
            if state.probe != nil, let loan = state.socket?.loan ?? nil { return loan }
            endIdleProbe(&state)
            return nil
        }
        guard let loan else { return }
        loan { [weak self] number in
            self?.state.withLock { state in
                state.probe?.restore(number)
                state.probe = nil
            }
        }
        // What is lent may not be to be had for now, and the settings are the program's.
        _ = monitor.runtime.thread.schedule(at: .now.advanced(by: Self.nextLoan)) { [weak self] in
            guard let self, state.withLock({ $0.probe != nil }) else { return }
            endIdleProbe()
        }
    }

    /// One of the TCP sockets of a connection that is known by name has ended; its last counters are all that is left of it.
    func subflowEnded(_ cookie: UInt64, _ last: SubflowSample) {
        state.withLock { state in
            guard let sample = state.socket?.ended(cookie, last) else { return }
            book(sample, .known, &state)
        }
    }

    /// Whether a connection that is known by name goes on without any subflow; where it does not go on this stops.
    func isWithoutSubflows() -> Bool {
        state.withLock { state in
            guard state.socket != nil else { return false }
            guard let sample = takeSample(&state) else {
                endIfGone(&state)
                return false
            }
            return sample.subflows.allSatisfy { $0.state == .closed }
        }
    }

    /// The kernel has told of the connection's end.
    func connectionEnded() { state.withLock { endIfGone(&$0) } }

    // MARK: Under the lock

    /// Of a socket that another program holds, that program's close is the end.
    private func endIfGone(_ state: inout State) {
        guard state.socket?.loan != nil else { return }
        // The last counters of its subflows are told a moment later.
        _ = monitor.runtime.thread.schedule(at: .now.advanced(by: Self.lastCounters)) { [weak self] in
            self?.stop()
        }
    }

    func endIdleProbe(_ state: inout State) {
        if let number = state.socket?.number { state.probe?.restore(number) }
        state.probe = nil
    }

    /// What the kernel counts; and whose ends are to be told is told.
    private func takeSample(_ state: inout State) -> TransportSample? {
        let sample = state.socket?.sample()
        noteNewCookies(&state)
        return sample
    }

    func forgetCookies(_ state: inout State) {
        guard state.socket?.loan != nil, let cookies = state.socket?.cookies else { return }
        monitor.runtime.thread.submit {
            [owner = ObjectIdentifier(self), lent = monitor.runtime.lentConnections] in
            lent.remove(cookies, of: owner)
        }
    }

    func noteNewCookies(_ state: inout State) {
        guard let new = state.socket?.takeNewCookies(), !new.isEmpty else { return }
        monitor.runtime.thread.submit { [weak self, lent = monitor.runtime.lentConnections] in
            if let self { lent.add(new, of: self) }
        }
    }

    /// - Returns: what was read, and booked.
    @discardableResult
    func sample(_ state: inout State, _ naming: TransferMeter.Naming) -> TransportSample? {
        guard let sample = state.socket?.sample() else { return nil }
        book(sample, naming, &state)
        return sample
    }

    private func book(_ sample: TransportSample, _ naming: TransferMeter.Naming, _ state: inout State) {
        state.meter.ingest(sample, naming: naming) { monitor.latestPath }
        guard isMPTCP, let reason = state.meter.transport.fallbackReason else { return }
        speaksMPTCP.store(false, ordering: .relaxed)
        nextBooking.store(.max, ordering: .relaxed)
        state.untoldFallback = reason
        // Not under the lock.
        monitor.runtime.thread.submit { [weak self] in self?.tellFallback() }
    }

    /// The connection was MPTCP until now.
    private func tellFallback() {
        let (reason, machines) = state.withLock { ($0.untoldFallback.take(), $0.machines) }
        guard let reason else { return }
        if let machines { machines.fellBack(because: reason) } else { tell(.fallback(reason)) }
    }

    func count(_ state: inout State) {
        state.meter.count(
            sent: sent.exchange(0, ordering: .relaxed), received: received.exchange(0, ordering: .relaxed))
    }
}
