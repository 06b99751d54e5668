// What the kernel counts for a connection at one moment (include/uapi/linux/mptcp.h, include/uapi/linux/tcp.h).

/// A connection's state at one moment.
package struct TransportSample: Sendable, Hashable {
    /// What carries the bytes now.
    package enum Kind: Sendable, Hashable {
        /// MPTCP; the token names the connection in the kernel's path manager.
        case mptcp(token: UInt32)
        case tcp
    }

    package var kind: Kind
    /// One for each subflow the kernel still has; one for plain TCP.
    package var subflows: [SubflowSample]
    /// The connection over all of its subflows; nil for plain TCP.
    package var connection: ConnectionSample?

    package init(kind: Kind, subflows: [SubflowSample], connection: ConnectionSample? = nil) {
        self.kind = kind
        self.subflows = subflows
        self.connection = connection
    }
}

/// An MPTCP connection as a whole (`struct mptcp_info`). Its sequence numbers are those of the data (RFC 8684
/// section 3.3), of which only differences mean something. Kernels before Linux 6.5 say no bytes.
package struct ConnectionSample: Sendable, Hashable {
    package var token: ConnectionToken
    /// Subflows beside the first that there are, or are being made (`mptcpi_subflows`). With the userspace
    /// path manager it misses the peer's.
    package var additionalSubflows: UInt8 = 0
    /// All there are, the first included (`mptcpi_subflows_total`, Linux 6.9).
    package var totalSubflows: UInt8 = 0
    /// The next byte that the caller writes (`mptcpi_write_seq`).
    package var writeSequence: UInt64 = 0
    /// The first that the peer has not acknowledged (`mptcpi_snd_una`).
    package var firstUnacknowledged: UInt64 = 0
    /// The next that is expected from the peer (`mptcpi_rcv_nxt`).
    package var nextExpected: UInt64 = 0
    package var bytesReceived: UInt64 = 0
    /// Bytes the peer has acknowledged (`mptcpi_bytes_acked`).
    package var acknowledged: UInt64 = 0
    /// The peer sends no more. It takes no further subflow then: Linux does so in ESTABLISHED alone
    /// (mptcp_can_accept_new_subflow, net/mptcp/subflow.c).
    package var peerHasEnded = false

    package init(token: ConnectionToken) { self.token = token }

    /// What the caller has written and the peer has not acknowledged, sent or not, in bytes.
    package var outstanding: UInt64 { writeSequence &- firstUnacknowledged }
}

/// One subflow, or the one connection of plain TCP (`struct tcp_info`).
package struct SubflowSample: Sendable, Hashable {
    /// The state of its TCP (include/net/tcp_states.h).
    package enum State: UInt8, Sendable, Hashable {
        case unknown = 0
        case established
        case synSent
        case synReceived
        case finWait1
        case finWait2
        case timeWait
        case closed
        case closeWait
        case lastAcknowledgement
        case listening
        case closing

        /// Whether the handshake is complete and the caller's side still open: what can carry data.
        package var carriesData: Bool { self == .established || self == .closeWait }

        /// Whether the peer has ended its side. (`closed` is reached by FINs, if not by a reset.)
        package var hasFIN: Bool {
            switch self {
            case .timeWait, .closed, .closeWait, .lastAcknowledgement, .closing: true
            case .unknown, .established, .synSent, .synReceived, .finWait1, .finWait2, .listening: false
            }
        }
    }

    /// The kernel's number for it; subflows are numbered as they are made.
    package var id: UInt32
    package var local: IPEndpoint?
    package var remote: IPEndpoint?
    /// Payload sent, each byte once: retransmissions are counted apart.
    package var bytesSent: UInt64
    package var bytesRetransmitted: UInt64
    package var bytesReceived: UInt64
    /// Smoothed round-trip time and its mean deviation (RFC 6298).
    package var smoothedRTT: Duration
    package var rttVariation: Duration
    package var minimumRTT: Duration?

    package var state = State.unknown
    /// Segments sent and not acknowledged (`tcpi_unacked`).
    package var unacknowledged: UInt32 = 0
    /// Bytes scheduled on this subflow and not sent yet (`tcpi_notsent_bytes`).
    package var unsent: UInt32 = 0
    /// Bytes the peer has acknowledged (`tcpi_bytes_acked`), the SYN among them; differences mean something.
    package var acknowledged: UInt64 = 0
    /// Segments the peer has, selectively acknowledged ones included (`tcpi_delivered`).
    package var delivered: UInt32 = 0
    /// Segments with data that came in, whatever became of them (`tcpi_data_segs_in`): those behind a lost one and
    /// those sent again in vain, too.
    package var receivedSegments: UInt32 = 0
    /// Those of them that came before what is in front of them (`tcpi_rcv_ooopack`).
    package var earlySegments: UInt32 = 0
    /// Retransmission timeouts in a row (`tcpi_retransmits`).
    package var timeouts: UInt8 = 0
    /// How often the retransmission or probe timer was doubled (`tcpi_backoff`).
    package var backoff: UInt8 = 0
    /// Window probes that got no answer (`tcpi_probes`).
    package var unansweredProbes: UInt8 = 0
    /// Retransmissions that left this machine, ever (`tcpi_total_retrans`).
    package var retransmissions: UInt32 = 0
    /// What the peer would take, in bytes (`tcpi_snd_wnd`); 0 as well where the kernel is too old to say.
    package var sendWindow: UInt32 = 0
    /// The receiving side's own estimate, fresher than the other during a download (`tcpi_rcv_rtt`).
    package var receiverRTT = Duration.zero
    /// How long ago each was, in whole milliseconds (`tcpi_last_data_sent`, `tcpi_last_data_recv`,
    /// `tcpi_last_ack_recv`). Of a subflow that never saw any, since it was made.
    package var sinceDataSent = Duration.zero
    package var sinceDataReceived = Duration.zero
    package var sinceAcknowledgement = Duration.zero
    /// The latest measured rate of delivery, in bytes a second (`tcpi_delivery_rate`).
    package var deliveryRate: UInt64 = 0

    package init(
        id: UInt32, local: IPEndpoint?, remote: IPEndpoint?, bytesSent: UInt64, bytesRetransmitted: UInt64,
        bytesReceived: UInt64, smoothedRTT: Duration, rttVariation: Duration, minimumRTT: Duration?
    ) {
        self.id = id
        self.local = local
        self.remote = remote
        self.bytesSent = bytesSent
        self.bytesRetransmitted = bytesRetransmitted
        self.bytesReceived = bytesReceived
        self.smoothedRTT = smoothedRTT
        self.rttVariation = rttVariation
        self.minimumRTT = minimumRTT
    }

    /// The bytes received, and the peer's FIN, which takes a sequence number too.
    package var receivedSequence: UInt64 { bytesReceived &+ (state.hasFIN ? 1 : 0) }

    /// A subflow that has carried nothing yet.
    package init(id: UInt32) {
        self.init(
            id: id, local: nil, remote: nil, bytesSent: 0, bytesRetransmitted: 0, bytesReceived: 0,
            smoothedRTT: .zero, rttVariation: .zero, minimumRTT: nil)
    }

    /// Whether something is on its way or waits to be.
    package var isOutstanding: Bool { unacknowledged > 0 || unsent > 0 }
}
