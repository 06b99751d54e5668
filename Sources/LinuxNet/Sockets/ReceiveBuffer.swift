import Glibc

/// Gives a connection's receive buffer more room when what it needs next finds none.
///
/// The kernel takes nothing more from an MPTCP connection's subflows while the buffer is full
/// (__mptcp_move_skbs_from_subflow, net/mptcp/protocol.c), not even the bytes that all in the buffer waits for. That happens
/// with small messages, of which each takes some 700 bytes there, when one of several paths that carry dies.
package enum ReceiveBuffer {
    /// In bytes. The kernel doubles what is asked for, for its own books.
    private static let most: CInt = 32 << 20

    /// Makes it four times as large, whatever its size was set to: the connection would never go on.
    package static func widen(_ descriptor: CInt) {
        guard let current = SocketOption.get(descriptor, SOL_SOCKET, SO_RCVBUF), current > 0, current < most
        else { return }
        let size = min(current, most / 4) * 2
        do throws(SystemError) {
            try SocketOption.set(descriptor, SOL_SOCKET, SO_RCVBUFFORCE, size, "SO_RCVBUFFORCE")
        } catch {
            // Without CAP_NET_ADMIN: as much as net.core.rmem_max allows everybody.
            try? SocketOption.set(descriptor, SOL_SOCKET, SO_RCVBUF, size, "SO_RCVBUF")
        }
    }
}
