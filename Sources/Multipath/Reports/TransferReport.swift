/// What a connection carried, by path.
public struct TransferReport: Sendable, Hashable {
    public var transport: Transport
    public var control: SubflowControlLevel
    /// From the connection's establishment until its end, or until now.
    public var duration: Duration
    /// One entry for each interface that had a subflow, in the order in which they first did.
    public var paths: [PathTransfer]

    public var bytesSent: UInt64 { paths.reduce(0) { $0 + $1.bytesSent } }
    public var bytesReceived: UInt64 { paths.reduce(0) { $0 + $1.bytesReceived } }

    /// One interface's part.
    public struct PathTransfer: Sendable, Hashable {
        /// The interface's name, or the local address where no interface has it any more.
        public var interface: String
        /// How many subflows it had.
        public var subflows: Int
        /// Payload bytes, each once; what MPTCP sends again on another path counts on both.
        public var bytesSent: UInt64
        public var bytesReceived: UInt64
        public var bytesRetransmitted: UInt64
        /// Of the newest subflow: smoothed, and the lowest seen.
        public var smoothedRTT: Duration
        public var minimumRTT: Duration?
    }
}
