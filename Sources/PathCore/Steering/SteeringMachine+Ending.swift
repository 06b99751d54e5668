// Before this end sends no more (a half-close): its kernel makes no subflow after that, so what may be needed must stand by.

extension SteeringMachine {
    /// This end is about to send no more.
    package mutating func prepareToEnd(at now: MonotonicTime) -> [SteeringAction] {
        guard wakes(at: now) else { return [] }
        policy.endsSending()
        if preparation == nil { preparation = (now, now.advanced(by: tuning.longestPreparation)) }
        // The peer may have ended, and take no more subflows: a sample tells.
        agenda.endGlances()
        agenda.schedule(sampleAt: now)
        return pass(at: now)
    }

    /// Says that nothing is waited for any more, or sees to it that this is looked at again in time.
    mutating func checkPreparation(at now: MonotonicTime) {
        guard let (begin, end) = preparation else { return }
        let due = min(preparedToEnd(since: begin, at: now) ?? end, end)
        guard now >= due else { return timers.set(.connection(.preparation), at: due) }
        preparation = nil
        reconciler.add(.preparedToEnd)
    }

    /// This end sends no more, so its kernel makes no subflow.
    package mutating func hasEndedSending() {
        reconciler.hasEnded = true
        agenda.endGlances()
    }

    /// From when on it may send no more, and nothing is lost by that; nil while another path is being joined.
    private func preparedToEnd(since begin: MonotonicTime, at now: MonotonicTime) -> MonotonicTime? {
        guard takesInput, traits.steers, let carrierKey, alternative(to: carrierKey) != nil else {
            return now
        }
        if reconciler.hasEnded { return now }
        // What was written just now, and whether the peer has ended, a sample tells.
        guard let sampledAt, sampledAt >= begin else { return nil }
        // None can be made: the peer has ended, or nothing was ever sent that it could acknowledge.
        if reconciler.peerHasEnded || !reconciler.isReady && outstanding == 0 { return now }
        // What the peer does not hold for established would end with the last word.
        return reconciler.subflows.all.lazy.filter { [paths] in
            $0.path != carrierKey && $0.role == .data && !paths[$0.path].hasFailed
        }.compactMap { [tuning] in $0.signalsFrom(tuning) }.min()
    }
}
