// What shortens the pause when one of several carrying paths dies in a bulk transfer (aggregate).
//
// What was on the dead path is sent again over the one that lives, by the sending end: us, or the peer. But the kernel's
// scheduler has given that subflow megabytes already, as much as buffers allow, and what is sent again stands behind
// them: 1.3 to 2.9 MB were seen, 100 to 230 ms at 100 Mbit/s. A second subflow over the living path that was idle
// until then has nothing queued. The scheduler takes the one that is done first (mptcp_subflow_get_send,
// net/mptcp/protocol.c), so what is missed goes at once.
//
// A peer has room for two subflows beside the first (Linux, unless it is told otherwise), so there can be one, and which path will
// die is not known before. So it is made when one may be dying, over another, and that one is left when the reserve is there, or should
// be. If it lives after all the reserve stays where it is, put aside: its end would have both kernels send their windows again.
// Should the path that it was made over die later, that is left without one.

/// Decides when there is a subflow in reserve, and when it carries.
struct ReserveSubflow: Sendable {
    /// Whether one is of use.
    enum Need: Sendable {
        case none
        /// A path may be left soon.
        case likely
        /// One is being left.
        case certain
    }

    enum Step: Sendable, Hashable {
        case none
        /// Make one, over the path of this subflow.
        case make(beside: SubflowID, isBackup: Bool)
        case prioritize(SubflowID, isBackup: Bool)
    }

    /// From when on one may be made.
    private var notBefore = MonotonicTime.zero
    /// Whether the one there is is to carry.
    private var carries = false

    /// - Parameters:
    ///   - carrying: the subflows that carry over paths that nothing is known against, the most preferred first.
    ///   - existing: the one in reserve.
    ///   - need: whether one is of use; none where there is no room for it.
    ///   - sends: whether it is this end that sends. Otherwise one carries from its beginning: the peer would hear of a change a
    ///     round trip after the handshake. So does one that is certain to be used, of which our own kernel takes no such order before.
    mutating func step(
        carrying: [Subflow], _ existing: Subflow?, need: Need, sends: Bool, at now: MonotonicTime,
        _ tuning: SteeringTuning
    ) -> Step {
        if let existing {
            if carrying.contains(where: { $0.path != existing.path }) { carries = false }
            return existing.isBackup == carries ? .prioritize(existing.id, isBackup: !carries) : .none
        }
        guard let first = carrying.first, now >= notBefore, need != .none else { return .none }
        notBefore = now.advanced(by: tuning.reserve.pause)
        carries = !sends || need == .certain
        return .make(beside: first.id, isBackup: !carries)
    }

    /// It carries, from now until another path does, because one is being left.
    mutating func begins() { carries = true }

    /// It was given up: what needs its place, or what it hides, comes first.
    mutating func wasGivenUp(at now: MonotonicTime, _ tuning: SteeringTuning) {
        notBefore = now.advanced(by: tuning.reserve.pause)
        carries = false
    }
}
