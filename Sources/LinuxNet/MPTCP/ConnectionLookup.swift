// Which socket a connection's token names: a question to sock_diag (net/mptcp/mptcp_diag.c, include/uapi/linux/inet_diag.h),
// which needs no privilege. It is how ownership is told: tokens can be guessed, sockets can't.

import CLinux
import PathCore

/// Asks about connections by their tokens.
package final class ConnectionLookup {
    private let netlink: NetlinkConnection

    package init() throws(SystemError) { netlink = try NetlinkConnection(.sockets) }

    /// - Parameter countsSubflows: whether to count them. The kernel takes the connection's lock for that: the answer may
    ///   come as late as the socket's owner likes.
    /// - Returns: nil where no connection has the token.
    package func find(
        _ token: ConnectionToken, countsSubflows: Bool
    ) throws(SystemError) -> ConnectionFacts? {
        try netlink.ask("look a connection up", SocketDiagnosis.messageType) { request in
            DiagnosisQuestion.connection(token).put(into: request, withInformation: countsSubflows)
        } body: { answer in
            guard case .data(let message) = answer else { return nil }
            return SocketDiagnosis(message).map(ConnectionFacts.init)
        }
    }
}

extension ConnectionFacts {
    fileprivate init(_ found: SocketDiagnosis) {
        self.init(
            cookie: found.cookie, user: found.user, remote: found.remote,
            additionalSubflows: found.information(mp_mptcp_info())?.subflows)
    }
}
