/// When a connection's send buffer may be made large again after the subflow it came about with has ended.
///
/// Not before the peer has acknowledged something more. Into a large buffer the kernel at once writes all that the lost
/// subflow had under way, also what had arrived: it hears of that with the new subflow's first acknowledgement, which it
/// reads after writing (`ack_update_msk`, net/mptcp/options.c). In slow start that takes some round trips.
package struct SendBufferHold: Sendable, Hashable {
    /// What the peer was known to lack first when the subflow ended.
    private var lacked: UInt64?

    package init() {}

    package mutating func firstSubflowEnded(_ sample: ConnectionSample?) {
        lacked = sample?.firstUnacknowledged
    }

    /// - Returns: whether the buffer is to be made large now; that is so once.
    package mutating func isOver(by sample: ConnectionSample?) -> Bool {
        guard let lacked, let sample, sample.firstUnacknowledged != lacked else { return false }
        self.lacked = nil
        return true
    }
}
