/// What speaks for a path, or against it. `PathMachine` judges it.
enum Evidence: Sendable, Hashable {
    /// A subflow over the path is complete.
    ///
    /// - Parameter isOnly: whether no other path has one that works: then there is nothing to lose by trusting it.
    case joined(isOnly: Bool)
    /// The path's own subflow got something through. `isCarrying`: it is not one that stands by.
    case progress(isCarrying: Bool)
    /// Another subflow over the same path did.
    case progressBeside
    /// What was sent has waited for longer than an answer ever takes.
    case noProgress
    /// A probe was answered, by a handshake or by a refusal.
    case probeAnswered
    /// Every probe that the path's loss makes necessary went unanswered.
    case probesUnanswered(PathTrouble)
    /// No probe can be sent, and what was sent has waited for several times as long as an answer ever takes.
    case longSilence
    /// A handshake took too long.
    case joinTimedOut
    /// The path's subflow gets nothing through, and no other can take its place.
    case stuck
    /// The peer, or something on the way, ended its last subflow. `wasShort`: soon after it was made.
    case subflowEnded(wasShort: Bool)
    /// The kernel's tables say that it is gone.
    case tablesSay(PathTrouble)
    /// Another connection's handshakes with the same peer went unanswered over it.
    case sharedVerdict(PathTrouble)
}

/// What a path's evidence leads to, beside its new state.
enum PathEffect: Sendable, Hashable {
    case tellSuspected(PathTrouble)
    case tellCleared
    case tellFailed(PathTrouble)
    case tellAnswered
    /// It is to be asked by probes whether it lives.
    case probe(PathTrouble)
}
