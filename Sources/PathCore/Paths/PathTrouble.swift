/// Why a connection's path is no good any more.
public enum PathTrouble: String, Sendable, Hashable, CaseIterable {
    /// The interface does not exist any more.
    case interfaceGone = "interface_gone"
    /// The administrator has set it down.
    case down
    /// The hardware has no link: no cable, no access point, no cell.
    case noCarrier = "no_carrier"
    /// The connection's own address is gone.
    case addressGone = "address_gone"
    /// No route leads to the peer through the interface.
    case routeGone = "route_gone"
    /// What was sent is not acknowledged, and retransmissions are not either.
    case noAcknowledgement = "no_acknowledgement"
    /// Retransmissions don't even leave this machine.
    case cannotSend = "cannot_send"
    /// Bytes were awaited, none came, and the peer's host does not answer on this path.
    case noAnswer = "no_answer"
    /// The peer, or something on the way, ends subflows over it (MPTCP).
    case subflowEnded = "subflow_ended"
    /// None of the paths that this connection may use works (MPTCP).
    case noPath = "no_path"

    /// For people: "no carrier".
    public var words: String { rawValue.split(separator: "_").joined(separator: " ") }
}

extension PathTrouble {
    /// Whether a connection found it out by itself: the kernel's tables say nothing of it.
    public var isSilence: Bool {
        switch self {
        case .noAcknowledgement, .cannotSend, .noAnswer: true
        case .interfaceGone, .down, .noCarrier, .addressGone, .routeGone, .subflowEnded, .noPath: false
        }
    }
}
