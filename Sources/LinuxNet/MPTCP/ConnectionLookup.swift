// Which socket a connection's token names: a question to sock_diag (net/mptcp/mptcp_diag.c, include/uapi/linux/inet_diag.h),
// which needs no privilege. It is how ownership is told: tokens can be guessed, sockets can't.

import CLinux
import Glibc
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
        try netlink.ask("look a connection up", Self.messageType) { request in
            request.putFixedPart(inet_diag_req_v2.self) {
                $0.sdiag_family = UInt8(AF_INET)
                // Its own protocol is beyond eight bits, and stands in an attribute.
                $0.sdiag_protocol = 255
                $0.idiag_ext = countsSubflows ? 1 << (Self.info - 1) : 0
                $0.idiag_states = .max
                $0.id.idiag_cookie = (token.value, 0)
            }
            request.put(UInt16(MP_INET_DIAG_REQ_PROTOCOL), UInt32(MP_IPPROTO_MPTCP))
        } body: { answer in
            guard case .data(let message) = answer else { return nil }
            return ConnectionFacts(message)
        }
    }

    private static let messageType = UInt16(SOCK_DIAG_BY_FAMILY)
    /// INET_DIAG_INFO: struct mptcp_info.
    fileprivate static let info: UInt8 = 2
}

extension ConnectionFacts {
    /// nil for a message that is cut.
    fileprivate init?(_ message: NetlinkMessage) {
        let payload = message.payload
        typealias Place = MemoryLayout<inet_diag_msg>
        guard payload.count >= Place.size, let family = payload.number(UInt8.self),
            let port = payload.number(UInt16.self, at: 6),
            let low = payload.number(UInt32.self, at: 44), let high = payload.number(UInt32.self, at: 48),
            let user = payload.number(UInt32.self, at: 64)
        else { return nil }
        // struct inet_diag_sockid begins at 4: two ports, the addresses, the interface, the cookie.
        let length = family == UInt8(AF_INET) ? 4 : 16
        let bytes = UnsafeRawBufferPointer(rebasing: payload[24..<(24 + length)])
        guard let address = bytes.ipAddress() else { return nil }
        var subflows: UInt8?
        NetlinkAttributes(payload, after: Place.size).visit { type, value in
            if type == UInt16(ConnectionLookup.info) { subflows = value.number() }
        }
        self.init(
            cookie: UInt64(high) << 32 | UInt64(low), user: user,
            remote: IPEndpoint(address.unmapped, port: UInt16(bigEndian: port)), additionalSubflows: subflows)
    }
}
