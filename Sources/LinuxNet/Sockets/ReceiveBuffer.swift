import Glibc

/// Gives a connection's receive buffer more room when what it needs next finds none.
///
/// The kernel takes nothing more from an MPTCP connection's subflows while the buffer is full
/// (__mptcp_move_skbs_from_subflow, net/mptcp/protocol.c), not even the bytes that all in the buffer waits for. That happens
/// with small messages, of which each takes some 700 bytes there, when one of several paths that carry dies.
package enum ReceiveBuffer {
    /// In bytes. The kernel doubles what is asked for, for its own books.
    private static let most: CInt = 32 << 20
    /// What net.core.rmem_max allows everyone by default, doubled.
    private static let allowed: CInt = 2 * 212_992

    /// Makes it four times as large, whatever its size was set to: the connection would never go on. Where there is something
    /// to read nothing is missing: then it is the reader that takes its time.
    package static func widen(_ descriptor: CInt) {
        var readable: CInt = 0
        guard ioctl(descriptor, UInt(FIONREAD), &readable) == 0, readable == 0 else { return }
        guard let current = SocketOption.get(descriptor, SOL_SOCKET, SO_RCVBUF), current > 0, current < most
        else { return }
        let size = min(current, most / 4) * 2
        do throws(SystemError) {
            try SocketOption.set(descriptor, SOL_SOCKET, SO_RCVBUFFORCE, size, "SO_RCVBUFFORCE")
        } catch {
            // Without CAP_NET_ADMIN: not more than that, and not less than there is.
            guard current < allowed else { return }
            try? SocketOption.set(descriptor, SOL_SOCKET, SO_RCVBUF, size, "SO_RCVBUF")
        }
    }
}
