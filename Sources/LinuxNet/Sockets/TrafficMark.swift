import CLinux
import Glibc
import PathCore

extension StreamSocket {
    /// Has the socket's packets bear a code point (RFC 2474). An MPTCP socket gives it to every subflow, those that are joined
    /// later too; but of IP_TOS alone (mptcp_setsockopt_v4_set_tos, net/mptcp/sockopt.c): IPV6_TCLASS is EOPNOTSUPP there.
    ///
    /// An IPv6 socket is given both marks: it may connect to IPv4, or be joined by that.
    ///
    /// - Parameter dscp: 1 to 63.
    /// - Returns: the family whose packets stay unmarked because the kernel refuses it; nil where all are marked.
    package func mark(_ family: IPAddress.Family, dscp: UInt8) -> IPAddress.Family? {
        // The lower two bits are ECN's (RFC 3168 section 5), which TCP sets by itself.
        let field = CInt(dscp) << 2
        var refused: IPAddress.Family?
        do throws(SystemError) {
            try SocketOption.set(descriptor.number, CInt(IPPROTO_IP), IP_TOS, field, "IP_TOS")
        } catch {
            refused = .ipv4
        }
        guard family == .ipv6 else { return refused }
        do throws(SystemError) {
            try SocketOption.set(descriptor.number, CInt(IPPROTO_IPV6), IPV6_TCLASS, field, "IPV6_TCLASS")
        } catch {
            refused = .ipv6
        }
        return refused
    }
}
