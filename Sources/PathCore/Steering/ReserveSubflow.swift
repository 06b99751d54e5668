// What shortens the pause when one of several carrying paths dies in a bulk transfer (aggregate).
//
// What was on the dead path is sent again over the one that lives, by the sending end: us, or the peer. But the kernel's
// scheduler has given that subflow megabytes already, as much as buffers allow, and what is sent again stands behind
// them: 1.3 to 2.9 MB were seen, 100 to 230 ms at 100 Mbit/s. A second subflow over the living path that was idle
// until then has nothing queued. The scheduler takes the one that is done first (mptcp_subflow_get_send,
// net/mptcp/protocol.c), so what is missed goes at once.
//
// A peer has room for two subflows beside the first (Linux, unless it is told otherwise), so there is one in reserve, over
// the least preferred path: it is Wi-Fi that people walk out of. It costs a handshake, and gives way to all else.

/// Decides when there is a subflow in reserve, and when it carries.
struct ReserveSubflow: Sendable {
    enum Step: Sendable, Hashable {
        case none
        /// Make one, over the path of this subflow.
        case make(beside: SubflowID)
        case prioritize(SubflowID, isBackup: Bool)
    }

    /// From when on one may be made.
    private var notBefore = MonotonicTime.zero
    /// Whether the one there is is to carry.
    private var carries = false

    /// - Parameters:
    ///   - carrying: the subflows that carry over paths that nothing is known against, the most preferred first.
    ///   - existing: the one in reserve.
    ///   - mayMake: whether there is room for one, and use.
    mutating func step(
        carrying: [SubflowID], _ existing: Subflow?, mayMake: Bool, at now: MonotonicTime,
        _ tuning: SteeringTuning
    ) -> Step {
        let isSpread = carrying.count >= 2
        if isSpread { carries = false }
        if let existing {
            return existing.isBackup == carries ? .prioritize(existing.id, isBackup: !carries) : .none
        }
        guard isSpread, let last = carrying.last, now >= notBefore, mayMake else { return .none }
        notBefore = now.advanced(by: tuning.reservePause)
        return .make(beside: last)
    }

    /// It carries, from now until another path does, because one is being left.
    mutating func begins() { carries = true }

    /// It was given up: what needs its place, or what it hides, comes first.
    mutating func wasGivenUp(at now: MonotonicTime, _ tuning: SteeringTuning) {
        notBefore = now.advanced(by: tuning.reservePause)
        carries = false
    }
}
