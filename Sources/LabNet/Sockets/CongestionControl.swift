import Glibc
import LinuxNet

extension StreamSocket {
    /// Has the connection use a congestion control, by the kernel's name (TCP_CONGESTION).
    ///
    /// - Throws: ENOENT where the kernel has none of that name, EPERM where this machine does not allow it to every process
    ///   and the caller lacks CAP_NET_ADMIN over the socket's namespace.
    package func setCongestionControl(_ name: String) throws(SystemError) {
        try systemCall("use the congestion control \(name)") {
            setsockopt(
                descriptor.number, CInt(IPPROTO_TCP), TCP_CONGESTION, name, socklen_t(name.utf8.count))
        }
    }
}
