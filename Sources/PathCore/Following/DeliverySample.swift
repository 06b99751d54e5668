/// What the kernel knows of a TCP connection's deliveries at one moment (TCP_INFO, include/uapi/linux/tcp.h).
public struct DeliverySample: Sendable, Hashable {
    /// Segments sent and not acknowledged (`tcpi_unacked`).
    public var unacknowledged: UInt32 = 0
    /// Bytes written and not sent yet (`tcpi_notsent_bytes`).
    public var unsent: UInt32 = 0
    /// Bytes the peer has acknowledged (`tcpi_bytes_acked`); only differences mean something.
    public var acknowledged: UInt64 = 0
    /// Segments the peer has, selectively acknowledged ones included (`tcpi_delivered`).
    public var delivered: UInt32 = 0
    /// Bytes received (`tcpi_bytes_received`).
    public var received: UInt64 = 0
    /// Retransmission timeouts in a row (`tcpi_retransmits`).
    public var timeouts: UInt8 = 0
    /// How often the retransmission or probe timer was doubled (`tcpi_backoff`).
    public var backoff: UInt8 = 0
    /// Window probes that got no answer (`tcpi_probes`).
    public var unansweredProbes: UInt8 = 0
    /// Retransmissions that left this machine, ever (`tcpi_total_retrans`).
    public var retransmissions: UInt32 = 0
    /// What the peer would take, in bytes (`tcpi_snd_wnd`); 0 as well where the kernel is too old to say.
    public var sendWindow: UInt32 = 0
    /// RFC 6298's estimate and its mean deviation (`tcpi_rtt`, `tcpi_rttvar`).
    public var smoothedRTT = Duration.zero
    public var rttVariation = Duration.zero
    /// The receiving side's own estimate, fresher than the other during a download (`tcpi_rcv_rtt`).
    public var receiverRTT = Duration.zero

    public init() {}

    /// Whether something is on its way or waits to be.
    public var isOutstanding: Bool { unacknowledged > 0 || unsent > 0 }
}

/// Why a connection's path is no good any more.
public enum PathTrouble: String, Sendable, Hashable, CaseIterable {
    /// The interface does not exist any more.
    case interfaceGone = "interface_gone"
    /// The administrator has set it down.
    case down
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
