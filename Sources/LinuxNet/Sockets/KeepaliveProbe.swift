import CLinux
import Glibc

/// Has a socket send a keepalive probe at once, on each subflow that heard nothing for a second and has nothing under
/// way: the peer answers with an acknowledgement of all data it has (RFC 9293 section 3.8.4).
///
/// The kernel offers no such order. What it does offer: where keepalive is on, a shorter idle time than has passed
/// already makes the probe due now (tcp_sock_set_keepidle_locked, net/ipv4/tcp.c; for all subflows of an MPTCP socket
/// since Linux 6.10). The socket's own settings are put back once the probe has left.
package struct KeepaliveProbe: Sendable {
    /// Within so long the kernel's timer has fired: it counts in ticks of 1 to 10 ms.
    package static let leaves = Duration.milliseconds(25)

    private let wasOn: CInt
    private let idle: CInt

    /// - Returns: nil where the kernel doesn't do that.
    package init?(_ descriptor: CInt) {
        guard let wasOn = SocketOption.get(descriptor, SOL_SOCKET, SO_KEEPALIVE),
            let idle = SocketOption.get(descriptor, CInt(IPPROTO_TCP), TCP_KEEPIDLE)
        else { return nil }
        (self.wasOn, self.idle) = (wasOn, idle)
        do throws(SystemError) {
            // In this order: to switch it on sets the timer anew, from the idle time that holds then.
            try SocketOption.set(descriptor, SOL_SOCKET, SO_KEEPALIVE, 1, "SO_KEEPALIVE")
            try SocketOption.set(descriptor, CInt(IPPROTO_TCP), TCP_KEEPIDLE, 1, "TCP_KEEPIDLE")
        } catch {
            restore(descriptor)
            return nil
        }
    }

    package func restore(_ descriptor: CInt) {
        try? SocketOption.set(descriptor, CInt(IPPROTO_TCP), TCP_KEEPIDLE, idle, "TCP_KEEPIDLE")
        try? SocketOption.set(descriptor, SOL_SOCKET, SO_KEEPALIVE, wasOn, "SO_KEEPALIVE")
    }
}
