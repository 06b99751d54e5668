// Resets of subflows (SOCK_DESTROY, net/ipv4/tcp_diag.c, tcp_abort in net/ipv4/tcp.c).
//
// A subflow that the path manager gives up is closed, and a first subflow not even that: the kernel keeps it, and only sends a
// FIN (__mptcp_subflow_disconnect, net/mptcp/protocol.c). The peer then sends what it had queued there, hundreds of
// kilobytes, and all of it is taken. A reset has the peer drop that, and send it over the other subflows.

import CLinux
import Glibc
import PathCore

/// Resets subflows of connections by their token, and no other socket. It takes CAP_NET_ADMIN.
package final class SubflowResets {
    private var netlink: NetlinkConnection?

    /// A subflow by its names in the kernel.
    package struct Subflow {
        fileprivate let question: DiagnosisQuestion
    }

    package init() {}

    /// Looks a subflow up. It is the connection's if both belong to the same file.
    ///
    /// - Parameter interface: what the subflow is bound to.
    /// - Returns: nil where the connection has no such subflow, or no program has it open.
    package func find(
        of connection: ConnectionToken, local: IPEndpoint, remote: IPEndpoint, interface: InterfaceIndex
    ) -> Subflow? {
        var file: UInt32 = 0
        var found: Subflow?
        try? use().ask(
            "look a subflow up", SocketDiagnosis.messageType,
            about: [
                DiagnosisQuestion.connection(connection),
                .socket(local: local, remote: remote, interface: interface, cookie: nil),
            ]
        ) {
            $0.put(into: $1, withInformation: false)
        } body: { question, answer in
            guard case .data(let message) = answer, let socket = SocketDiagnosis(message) else { return }
            if case .connection = question {
                file = socket.inode
            } else if socket.inode == file, file != 0 {
                found = Subflow(
                    question: .socket(
                        local: local, remote: remote, interface: interface, cookie: socket.cookie))
            }
        }
        return found
    }

    /// Resets it, unless it has ended since.
    package func reset(_ subflow: Subflow) {
        try? use().request("reset a subflow", UInt16(SOCK_DESTROY)) {
            subflow.question.put(into: $0, withInformation: false)
        }
    }

    private func use() throws(SystemError) -> NetlinkConnection {
        if let netlink { return netlink }
        let made = try NetlinkConnection(.sockets)
        netlink = made
        return made
    }
}
