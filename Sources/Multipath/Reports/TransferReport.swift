/// What a connection carried, by path.
public struct TransferReport: Sendable, Hashable {
    /// What carries the connection.
    public var transport: Transport
    /// How far the connection's subflows can be steered, and why no further.
    public var control: ControlLevel
    /// From the connection's establishment until its end, or until now.
    public var duration: Duration
    /// One entry for each path that had a subflow, in the order in which they first did.
    public var paths: [PathTransfer]

    /// How often the data went another way.
    public var moveCount = 0
    /// The last 64 moves, oldest first (`moveCount` counts all).
    public var moves: [Move] = []
    /// A connection may move for days: the first moves are forgotten, but counted.
    package static let mostMoves = 64

    /// Whether the subflow that the connection came about with has ended. From then on a peer whose kernel is Linux sends no
    /// more than some 64 kB a round trip (see "What the kernel does" in the documentation): a transfer that is under way
    /// goes on as it did, but the next request is faster on a new connection.
    public var isBetterOnNewConnection = false

    /// How far the connection's packets bear the mark of their traffic class; nil for `.bestEffort`, which needs none.
    public var marking: TrafficMarking?

    /// The data went from one path to another.
    public struct Move: Sendable, Hashable {
        /// From the connection's establishment until the move.
        public var after: Duration
        /// The path that carried the data before.
        public var from: PathID
        /// The path that carries it from then on.
        public var to: PathID
        /// Why it moved.
        public var reason: MoveReason
    }

    /// Bytes sent over all paths.
    public var bytesSent: UInt64 { paths.total(\.bytesSent) }
    /// Bytes received over all paths.
    public var bytesReceived: UInt64 { paths.total(\.bytesReceived) }

    /// One path's part.
    public struct PathTransfer: Sendable, Hashable {
        /// The path. The local address names it where no interface has that any more.
        public var path: PathID
        /// How many subflows it had.
        public var subflows: Int
        /// Payload bytes, each once; what MPTCP sends again on another path counts on both.
        public var bytesSent: UInt64
        /// Bytes received over this path.
        public var bytesReceived: UInt64
        /// Bytes that were sent again over this path.
        public var bytesRetransmitted: UInt64
        /// The newest subflow's smoothed round trip (tcpi_rtt); zero where none was measured.
        public var smoothedRTT: Duration
        /// The shortest round trip over this path; nil where the kernel measured none.
        public var minimumRTT: Duration?
        /// How long it was the one that carries; 0 of a connection that is not steered, where that is not known.
        public var timeActive = Duration.zero
        /// How many of its subflows did not bear the mark of the connection's traffic class, though one was asked for: the
        /// kernel refused it (`TrafficMarking.unmarkedFamily`).
        public var unmarkedSubflows = 0
    }
}
