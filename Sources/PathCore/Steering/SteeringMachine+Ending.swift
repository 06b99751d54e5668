// Before this end sends no more (a half-close): its kernel makes no subflow after that, so what may be needed must stand by.

extension SteeringMachine {
    /// This end is about to send no more.
    package mutating func prepareToEnd(at now: MonotonicTime) -> [SteeringAction] {
        guard takesInput else { return [] }
        policy.endsSending()
        // The peer may have ended, and take no more subflows: a sample tells.
        agenda.glancesUntil = .zero
        agenda.schedule(sampleAt: now)
        return pass(at: now)
    }

    /// This end sends no more, so its kernel makes no subflow.
    package mutating func hasEndedSending() { reconciler.hasEnded = true }

    /// From when on it may send no more, and nothing is lost by that; nil while another path is being joined.
    package func preparedToEnd(at now: MonotonicTime) -> MonotonicTime? {
        guard takesInput, traits.steers, let carrierKey, alternative(to: carrierKey) != nil else {
            return now
        }
        // None can be made: the peer has ended, or nothing was ever sent that it could acknowledge.
        if reconciler.peerHasEnded || !reconciler.isReady && outstanding == 0 { return now }
        // What the peer does not hold for established would end with the last word.
        return reconciler.subflows.all.lazy.filter { [paths] in
            $0.path != carrierKey && $0.role == .data && !paths[$0.path].hasFailed
        }.compactMap { [tuning] in $0.signalsFrom(tuning) }.min()
    }
}
