import Glibc

/// Keeps a connection's send buffer large when its first subflow ends.
///
/// The kernel reckons an MPTCP socket's send buffer from those of its subflows (__mptcp_sync_sndbuf, net/mptcp/protocol.h),
/// and that of a joined subflow stays at what it was made with. With the first subflow the buffer falls to some 64 kB, one
/// such window a round trip, for as long as the connection lasts. A size that was set is left alone.
package enum SendBuffer {
    /// As large as the kernel makes it by itself (the default of net.ipv4.tcp_wmem's third figure), in bytes.
    package static let size: CInt = 4 << 20
    /// What net.core.wmem_max allows everybody by default. Both are doubled by the kernel, for its own books.
    private static let allowed: CInt = 2 * 212_992

    private static let locksOption: CInt = 72  // SO_BUF_LOCK, include/uapi/asm-generic/socket.h
    private static let sendLock: CInt = 1  // SOCK_SNDBUF_LOCK, include/uapi/linux/socket.h

    /// Makes it large, as far as that is allowed, unless the caller has set a size.
    package static func keep(_ descriptor: CInt) {
        // Before Linux 5.14 there is no way to know whether the caller has set one.
        guard let locks = SocketOption.get(descriptor, SOL_SOCKET, locksOption), locks & sendLock == 0 else {
            return
        }
        do throws(SystemError) {
            try SocketOption.set(descriptor, SOL_SOCKET, SO_SNDBUFFORCE, size / 2, "SO_SNDBUFFORCE")
        } catch {
            // Without CAP_NET_ADMIN: not more than everybody may, and not less than there is.
            guard let current = SocketOption.get(descriptor, SOL_SOCKET, SO_SNDBUF), current < allowed else {
                return
            }
            try? SocketOption.set(descriptor, SOL_SOCKET, SO_SNDBUF, size / 2, "SO_SNDBUF")
        }
    }
}
