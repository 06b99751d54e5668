import LinuxNet

// Looks at the connection's socket: for the machines that ask for it, and for the books.

extension ConnectionFollower {
    func look(mayGlance: Bool) -> SteeringLook {
        // First: what is written after the sample is to be told again.
        let first = written.exchange(0, ordering: .relaxed)
        return state.withLock { state in
            guard let number = state.descriptor?.number else { return .closed }
            let now = MonotonicTime.now
            let limit = max(
                Self.longestGlance, monitor.runtime.load.pace * Self.glancesBetweenBookings)
            if first != 0, mayGlance, state.sampled.duration(to: now) < limit,
                TransportSample.isAllAcknowledged(number)
            {
                return .nothingWaits
            }
            guard var sample = TransportSample.read(number) else { return .closed }
            state.sampled = now
            state.meter.ingest(sample, naming: .known) { monitor.latestPath }
            // Only suspicion has to know it, and where there was none lately there is none soon.
            if !mayGlance { sample.connection?.peerHasEnded = TransportSample.peerHasEnded(number) }
            return .sample(sample, written: first == 0 ? nil : MonotonicTime(nanoseconds: first))
        }
    }

    /// All that each path has carried up to now; nil where the connection is closed.
    func carriedBytes() -> [(interface: String, bytes: UInt64)]? {
        state.withLock { state in
            guard state.descriptor != nil else { return nil }
            sample(&state, .known)
            return state.meter.carried
        }
    }

    /// Whether it was MPTCP at the last look: it may have fallen back since it came about.
    var isMPTCP: Bool { state.withLock { $0.meter.transport.isMPTCP } }

    func book(_ naming: TransferMeter.Naming) { state.withLock { sample(&$0, naming) } }

    /// - Returns: whether a probe was sent that is to be ended soon.
    func probeIdle() -> Bool {
        state.withLock { state in
            // The one before has changed the settings that this one would take for the user's.
            guard let number = state.descriptor?.number, state.probe == nil else { return false }
            state.probe = KeepaliveProbe(number)
            return state.probe != nil
        }
    }

    /// The first subflow has ended: what we send is not to become slower for that, and what the peer sends may.
    func firstSubflowEnded() {
        state.withLock { state in
            state.meter.hasLostFirstSubflow = true
            if let number = state.descriptor?.number { SendBuffer.keep(number) }
        }
    }

    func endIdleProbe() {
        state.withLock { state in
            if let number = state.descriptor?.number { endIdleProbe(&state, number) }
        }
    }

    // MARK: Under the lock

    func endIdleProbe(_ state: inout State, _ number: CInt) {
        state.probe?.restore(number)
        state.probe = nil
    }

    func sample(_ state: inout State, _ naming: TransferMeter.Naming) {
        guard let number = state.descriptor?.number, let sample = TransportSample.read(number) else { return }
        state.meter.ingest(sample, naming: naming) { monitor.latestPath }
    }

    func count(_ state: inout State) {
        state.meter.count(
            sent: sent.exchange(0, ordering: .relaxed), received: received.exchange(0, ordering: .relaxed))
    }
}
